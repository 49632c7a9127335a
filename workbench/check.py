"""``check``: any graph against a provider, node by node: the plan's facts, and the kernels that are registered.

Facts say what must not remain and what a kernel cannot carry; a kernel table says which operators, versions and types a
build registers. Together they say what ONNX Runtime would do: run a node, insert casts, inline a body, leave it to the
CPU provider, or refuse the model.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx_ir as ir
from onnx_ir.passes import common

from workbench.analysis.check_report import Action, CheckReport, Finding, Kind, ScopeCount, Severity
from workbench.analysis.scopes import scope_of
from workbench.ep import ExecutionProvider, get_ep
from workbench.ep.kernel_table import KernelTable
from workbench.errors import UnsupportedError, some
from workbench.optimize import as_model, compute_dtype
from workbench.passes.calls import inlinable
from workbench.passes.cleanup import in_order
from workbench.passes.legality import boundary, problem_of
from workbench.passes.loadable import of_one_age, refused
from workbench.passes.wellformed import check_values
from workbench.rules.features import uses
from workbench.rules.graph import use_of
from workbench.runtime.kernels import Schema, best, live, loads_opset, schema, type_word
from workbench.types import OpId, dtype_word, parse_dtype

CPU_PROVIDER = "CPUExecutionProvider"
CONTROL_FLOW = frozenset({OpId("If"), OpId("Loop"), OpId("Scan")})
CONSTANT = OpId("Constant")
NESTED = (ir.SequenceType, ir.OptionalType)
NOTHING: Mapping[ir.DataType, ir.DataType] = {}


def check(model: Any, execution_provider: str, dtype: str | None = None) -> CheckReport:
    """Say of each node of a graph whether a provider runs it, and what ONNX Runtime would do where it does not.

    ``model`` is what ``optimize`` takes, of any origin; nothing is changed, run or fused. ``dtype`` None judges the
    graph in the types that it has; another one judges it as if its weights were of that dtype. Functions without a
    kernel are judged by their bodies, branches of If, Loop and Scan by their nodes.

    Raises:
        UnknownNameError: unknown execution provider or dtype.
        ModelFileError: a graph that cannot be read.
    """
    ep, graph = get_ep(execution_provider), as_model(model)
    check_values(graph)
    own = compute_dtype(graph) or ep.default_dtype
    judged = parse_dtype(dtype) if dtype is not None else own
    swap = {own: judged} if judged != own else NOTHING
    checker = _Checker(ep, judged, swap, best(ep.ort_provider), _cpu())
    clone, older = _inlined(graph, ep)
    return checker.report(clone, _label(model, graph), tuple(_refused(graph)) if ep.ort_provider else (), older)


def _refused(graph: ir.Model) -> Iterator[Finding]:
    """What a session is refused for whatever its nodes are."""
    for where, text in refused(graph):
        yield Finding("error", "graph", "", where, "", "refuses", text)
    version = graph.graph.opset_imports.get("", 1)
    if not loads_opset(version):
        text = f"the graph is of opset {version}, and the installed ONNX Runtime takes none as new"
        yield Finding("error", "opset", "", "", "", "refuses", f"{text}; export with an older one, or upgrade it")


def _cpu() -> KernelTable:
    found = live(CPU_PROVIDER)
    if found is None:
        raise UnsupportedError("onnxruntime registers no CPU kernels here; install the onnxruntime package.")
    return found


def _label(model: Any, graph: ir.Model) -> str:
    if isinstance(model, str | os.PathLike):
        return Path(model).name
    return getattr(model, "name", "") or graph.graph.name or "model"


def _inlined(model: ir.Model, ep: ExecutionProvider) -> tuple[ir.Model, tuple[Finding, ...]]:
    """A clone with bodies in the place of the functions that ONNX Runtime has no schema of, and with types.

    Findings are about functions of another opset, in which operators may be others.
    """
    with in_order(model):
        clone = model.clone()
    older = of_one_age(clone, lambda use, opset: getattr(schema(use, opset), "since", None))
    ours = {key for key, function in clone.functions.items() if schema(OpId(function.name, function.domain), 1) is None}
    ours &= inlinable(clone)
    if ours:
        common.InlinePass(criteria=lambda function: function.identifier() in ours)(clone)
    nodes = ir.traversal.RecursiveGraphIterator(clone.graph)
    if any(value is not None and value.type is None for node in nodes for value in node.inputs):
        with _quietly():
            common.ShapeInferencePass()(clone)
    return clone, tuple(Finding("warning", "opset", "", name, "", "not known", text) for name, text in older)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """The library tells a failure of inference with a traceback; what stays without a type is counted anyway."""
    logger = logging.getLogger("onnx_ir.passes.common.shape_inference")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@dataclasses.dataclass(frozen=True, slots=True)
class _Seen:
    """One node with everything that is asked about it. ``given`` maps type parameters and names to type words."""

    node: ir.Node
    use: OpId
    schema: Schema | None
    given: Mapping[str, str]

    def as_float32(self) -> dict[str, str]:
        """The types after ONNX Runtime's casts around a node that has no kernel in float16."""
        return {name: "float" if word == "float16" else word for name, word in self.given.items()}


@dataclasses.dataclass(frozen=True)
class _Checker:
    ep: ExecutionProvider
    dtype: ir.DataType
    swap: Mapping[ir.DataType, ir.DataType]
    table: KernelTable | None
    cpu: KernelTable

    def report(
        self, model: ir.Model, label: str, refusals: tuple[Finding, ...], older: tuple[Finding, ...]
    ) -> CheckReport:
        found: list[Finding] = [*refusals, *self._whole(model), *older]
        scopes: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
        bodies = {function.domain for function in model.functions.values()}
        unjudged = 0
        for node in ir.traversal.RecursiveGraphIterator(model.graph):
            seen = self._seen(node, model)
            unjudged += any(value is not None and value.dtype is None for value in node.inputs)
            finding = self._finding(seen, bodies)
            found += [finding] if finding is not None else []
            count = scopes[scope_of(node)]
            count[0] += 1
            count[1] += finding is None or finding.action == "runs it" and finding.severity != "error"
        return CheckReport(
            label, self.ep.name, dtype_word(self.dtype), sum(n for n, _ in scopes.values()),
            sum(n for _, n in scopes.values()), tuple(found),
            tuple(ScopeCount(scope, *counts) for scope, counts in scopes.items()), self._sources(), unjudged,
        )  # fmt: skip

    def _whole(self, model: ir.Model) -> list[Finding]:
        found = [
            Finding("warning", "index dtype", "", "", "", "runs it", f"{d.message} ({d.where}). {d.hint}")
            for d in boundary(model, self.ep)
        ]
        if self.dtype not in self.ep.computes:
            words = ", ".join(sorted(dtype_word(one) for one in self.ep.computes))
            text = f"{self.ep.name} has no MatMul in {dtype_word(self.dtype)}; it computes in {words}"
            found.append(Finding("error", "dtype", "", "", "", "refuses", text))
        return found

    def _sources(self) -> tuple[str, ...]:
        tables = [self.table, self.cpu if self.table is None or self.table.ort_provider != CPU_PROVIDER else None]
        asked = [f"{t.ort_provider}: {t.source} ({t.checked})" for t in tables if t is not None]
        return (f"facts of {self.ep.name}: {len(self.ep.kernels)} operators", *asked)

    def _seen(self, node: ir.Node, model: ir.Model) -> _Seen:
        use = use_of(node)
        found = schema(use, model.graph.opset_imports.get(use.domain, 1))
        return _Seen(node, use, found, self._given(node, found) if found is not None else {})

    def _given(self, node: ir.Node, found: Schema) -> dict[str, str]:
        given: dict[str, str] = {}
        names = dict(found.names)
        for side, parameters in ((node.inputs, found.inputs), (node.outputs, found.outputs)):
            for index, value in enumerate(side):
                if value is None or value.dtype is None or not parameters:
                    continue
                swapped = self.swap.get(value.dtype, value.dtype)
                word = type_word(value.type) if isinstance(value.type, NESTED) else swapped.name.lower()
                given.setdefault(parameters[min(index, len(parameters) - 1)], word)
        return given | {name: given[parameter] for name, parameter in names.items() if parameter in given}

    # --- one node ---------------------------------------------------------------------------------------------
    def _finding(self, seen: _Seen, bodies: set[str]) -> Finding | None:
        problem = problem_of(seen.node, self.ep, bodies, self.swap)
        action, why = self._action(seen)
        if problem is None and action == "runs it":
            return None
        kind, severity, reason = self._of_facts(seen, problem) if problem else self._of_table(seen, action, why)
        if problem and problem[0] == "legality.feature" and action == "runs it":
            action = "not known"
        if action == "refuses":
            severity = "error"
        node = seen.node
        return Finding(severity, kind, str(seen.use), node.name or "", scope_of(node), action, reason)

    def _of_facts(self, seen: _Seen, problem: tuple[str, str]) -> tuple[Kind, Severity, str]:
        code, text = problem
        softer = code in ("legality.no-kernel", "legality.unknown-kernel") and self.ep.falls_back
        fact = self.ep.kernels.get(seen.use)
        where = f" ({fact.confidence} {fact.checked}: {fact.source})" if fact is not None else ""
        kinds: dict[str, Kind] = {
            "legality.domain": "domain", "legality.forbidden": "forbidden", "legality.feature": "feature",
            "legality.unknown-kernel": "kernel", "legality.no-kernel": "type" if self._has_some(seen) else "kernel",
        }  # fmt: skip
        kind = kinds[code]
        if kind == "forbidden" and seen.use in CONTROL_FLOW:
            kind = "control flow"
        if kind == "feature" and {u.feature for u in uses(seen.node)} - {""} == {"three_axes"}:
            kind = "rank"
        return kind, "warning" if softer else "error", text + where

    def _has_some(self, seen: _Seen) -> bool:
        """Whether the operator has a kernel in other types."""
        fact = self.ep.kernels.get(seen.use)
        table = self.table or self.cpu
        return bool(fact.dtypes) if fact is not None else bool(table.kernels.get(seen.use))

    def _of_table(self, seen: _Seen, action: Action, why: str) -> tuple[Kind, Severity, str]:
        if seen.schema is None:
            return "unknown operator", "error", why
        table = self.table or self.cpu
        kind: Kind = "type" if table.of_version(seen.use, seen.schema.since) else "kernel"
        if seen.use in CONTROL_FLOW:
            kind = "control flow"
        return kind, "info" if action in ("inserts casts", "inlines its body") else "warning", why

    def _action(self, seen: _Seen) -> tuple[Action, str]:
        """What ONNX Runtime would do with the node, and why."""
        if seen.schema is None:
            return "refuses", f"ONNX Runtime knows no operator {seen.use}, and the graph has no body for it"
        if not self.ep.ort_provider or seen.use == CONSTANT:
            return "runs it", ""  # whoever runs the standard runs a portable form; a Constant becomes a weight
        if self.table is None:
            return self._without_table(seen)
        if self.table.find(seen.use, seen.schema.since, seen.given):
            return "runs it", ""
        if self.table.ort_provider == CPU_PROVIDER:
            return self._on_cpu(seen, "")
        return self._left_to_cpu(seen, self._lacking(seen, self.table))

    def _without_table(self, seen: _Seen) -> tuple[Action, str]:
        """Providers that register no kernels, or whose registry nobody has read: the facts are all there is."""
        floats = (v.dtype for v in seen.node.inputs if v is not None and v.dtype is not None)
        found = next((d for d in floats if d.is_floating_point()), None)
        dtype = self.swap.get(found, found) if found is not None else self.dtype
        if self.ep.runs(seen.use, dtype):
            return "runs it", ""
        return self._left_to_cpu(seen, self.ep.says(seen.use, dtype))

    def _left_to_cpu(self, seen: _Seen, why: str) -> tuple[Action, str]:
        action, _ = self._on_cpu(seen, why)
        if action == "refuses" and not (seen.schema is not None and seen.schema.has_body):
            return "refuses", f"{why}; nor has the CPU provider one, so the model is refused".removeprefix("; ")
        return ("falls back to cpu with casts" if action == "inserts casts" else "falls back to cpu"), why

    def _on_cpu(self, seen: _Seen, why: str) -> tuple[Action, str]:
        assert seen.schema is not None
        since = seen.schema.since
        if self.cpu.find(seen.use, since, seen.given):
            return "runs it", ""
        why = why or self._lacking(seen, self.cpu)
        half = "float16" in seen.given.values()
        if half and self.cpu.find(seen.use, since, seen.as_float32()):
            return "inserts casts", f"{why}; it is computed in float32 between two casts"
        if seen.schema.has_body and "bfloat16" not in seen.given.values():
            return "inlines its body", f"{why}; the standard has a body for it"
        return "refuses", why

    @staticmethod
    def _lacking(seen: _Seen, table: KernelTable) -> str:
        """Why a table has no kernel for a node: none of that operator, that version, or that type."""
        assert seen.schema is not None
        provider = table.ort_provider.removesuffix("ExecutionProvider")
        if not table.of_version(seen.use, seen.schema.since):
            version = f" of version {seen.schema.since}" if table.kernels.get(seen.use) else ""
            return f"{provider} registers no kernel of {seen.use}{version}"
        wrong = [
            f"{name} = {seen.given[name]} (takes {some(sorted(allowed), 8)})"
            for name in sorted(table.parameters(seen.use)) if name in seen.given
            if seen.given[name] not in (allowed := table.types_of(seen.use, seen.schema.since, name)) and allowed
        ]  # fmt: skip
        return f"{provider} registers no kernel of {seen.use} with {'; '.join(wrong) or 'these types together'}"
