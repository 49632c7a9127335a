"""The pipeline: cleanup, fuse, lower, fold, check, on a clone that shares its tensors with the original."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.ep import ExecutionProvider, get_ep
from workbench.errors import ArgumentError, Diagnostic, FusionError, LegalityError, WorkbenchError, unknown, wrong_type
from workbench.passes.cleanup import cleanup, in_order
from workbench.passes.collector import collector_paused
from workbench.passes.fold import fold
from workbench.passes.legality import legality
from workbench.passes.repeated import merge_repeated
from workbench.passes.wellformed import check_values
from workbench.rules.apply import RuleRaised, apply
from workbench.rules.base import Rule
from workbench.rules.census import Census
from workbench.rules.plan import Plan, plan
from workbench.rules.recorder import Recorder, Watch, quiet
from workbench.rules.recording import Recording
from workbench.rules.report import OptimizationReport, RuleReport
from workbench.types import Padding, Role, Stage, dtype_word, parse_dtype

if TYPE_CHECKING:
    import onnx

    from workbench.analysis.misses import MissTable
    from workbench.package import Package


@dataclasses.dataclass(frozen=True, eq=False)
class Optimized:
    """An execution provider's graph and the report of how it came about; with ``record=True`` every step as well."""

    model: ir.Model
    report: OptimizationReport
    recording: Recording | None = None

    def misses(self) -> MissTable:
        """Every candidate that a rule left alone, with the reason."""
        from workbench.analysis.misses import miss_table

        return miss_table({self.report.execution_provider: self.report})

    def __repr__(self) -> str:
        return f"Optimized({self.report!r})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def to_frame(self) -> Any:
        """The report's frame: a row per planned rule."""
        return self.report.to_frame()


def optimize(
    model: ir.Model | onnx.ModelProto | str | os.PathLike[str] | Package,
    *,
    execution_provider: str,
    dtype: str | None = None,
    role: str = "decoder",
    rules: Sequence[Rule] | None = None,
    strict: bool = False,
    verbose: bool = False,
    record: bool = False,
    stop_after: str | None = None,
) -> Optimized:
    """Turn any ONNX graph into an execution provider's graph. The model given is left as it is.

    ``dtype`` is what the graph computes in (None: found in the graph). Inputs and outputs keep their names, order and
    types. Misses and what the provider cannot run become diagnostics of the report; ``strict`` raises for them.
    ``rules`` is what the plan is made from, in order within a stage: ``(*RULES, MINE)`` of ``workbench.rules`` adds one
    of your own. ``verbose`` prints the report to stderr. ``record`` keeps every rewrite and pass in the result's
    ``recording``. ``stop_after`` ends the pipeline after ``cleanup``, ``fuse``, ``lower`` or ``fold``, for a look at
    the graph in between; before ``fold`` nothing is checked against what the provider runs.

    A rule that raises anything but a refusal leaves nothing behind: the graph is as if it had not been planned, and a
    diagnostic says what it raised.

    Raises:
        UnknownNameError: unknown execution provider, dtype, role or stage.
        UnsupportedError: the provider does not compute in this dtype.
        ArgumentError: ``rules`` holds something else, or two rules of one name; a proto that cannot be read.
        ModelFileError: a path that holds no readable model, or a graph with a cycle or with readers of nothing.
        FusionError, LegalityError: with ``strict``.
    """
    ep = get_ep(execution_provider)
    graph = as_model(model)
    check_values(graph)
    found = parse_dtype(dtype) if dtype is not None else compute_dtype(graph) or ep.default_dtype
    if role not in list(Role):
        raise unknown("role", role, [str(r) for r in Role])
    steps = plan(ep, found, Role(role), given_rules(rules))
    made = run_plan(graph, steps, ep, record=record, stop_after=_stage(stop_after))
    if strict:
        check(made.report)
    if verbose:
        _print(made.report)
    return made


def _stage(word: str | None) -> Stage:
    stages = {stage.name.lower(): stage for stage in Stage}
    if word is not None and word not in stages:
        raise unknown("stage", word, stages)
    return Stage.FOLD if word is None else stages[word]


def given_rules(given: Sequence[Rule] | None) -> tuple[Rule, ...]:
    """The rules that an argument names; None: the built-in ones.

    Raises:
        ArgumentError: something else than rules, a set of them (it has no order), or two of one name.
    """
    if given is None:
        from workbench.rules import RULES  # reads every rule's file

        return RULES
    if isinstance(given, Rule | Set) or not isinstance(given, Iterable):
        raise wrong_type("rules", given, "a list of rules, as (*workbench.rules.RULES, MINE)")
    rules = tuple(given)
    for rule in rules:
        if not isinstance(rule, Rule):
            raise wrong_type("each of rules", rule, "a workbench.rules.Rule")
    counts = collections.Counter(rule.name for rule in rules)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ArgumentError(
            f"rules holds {twice[0]!r} twice, and reports tell rules apart by name. Give yours a name of its own, or "
            "leave the built-in one out."
        )
    return rules


def as_model(model: Any) -> ir.Model:
    """The ``ir.Model`` of whatever holds exactly one: a model, a proto, a path or a package."""
    if isinstance(model, ir.Model):
        return model
    if isinstance(model, str | os.PathLike):
        from workbench.package import load

        return load(Path(model)).model
    if isinstance(model, Mapping) and hasattr(model, "model"):
        return model.model
    if type(model).__name__ == "ModelProto":
        from workbench.package.unreadable import of_proto

        return of_proto("model", model)
    raise WorkbenchError(
        f"Expected an onnx_ir.Model, an onnx.ModelProto, a path or a one-model Package; found {type(model).__name__}."
    )


def compute_dtype(model: ir.Model) -> ir.DataType | None:
    """The float dtype that most weights of a graph have; without weights, that of its inputs."""
    counts: dict[ir.DataType, int] = {}
    values = list(model.graph.initializers.values())
    for value in values or list(model.graph.inputs):
        dtype = value.dtype
        if dtype in (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16):
            size = value.shape.numpy() if value.shape is not None and value.shape.is_static() else (1,)
            total = 1
            for d in size:
                total *= int(d)
            counts[dtype] = counts.get(dtype, 0) + total
    return max(counts, key=lambda d: counts[d]) if counts else None


@collector_paused()
def run_plan(
    model: ir.Model,
    steps: Plan,
    ep: ExecutionProvider,
    *,
    drop_unused_inputs: bool = False,
    record: bool = False,
    stop_after: Stage = Stage.FOLD,
    watch: Callable[[ir.Model], Watch] | None = None,
    captured: bool = False,
) -> Optimized:
    """Run a plan on a clone. ``drop_unused_inputs`` is for graphs of our own making only; ``captured`` for those that
    are recorded once and replayed.

    ``watch`` makes, for the clone that is worked on, somebody else to be told than a recorder. Where a rule raises,
    all is done once more without it: nothing else can give back a graph that was half changed.
    """
    failed: tuple[Diagnostic, ...] = ()
    while True:
        run = _Run(steps, ep, drop_unused_inputs, captured, stop_after, Recorder if record else watch)
        try:
            return run.on(model, failed)
        except RuleRaised as raised:
            failed += (_raised(raised),)
            steps = steps.without(raised.rule, f"it raised {type(raised.error).__name__}, and nothing of it was kept")


def _raised(raised: RuleRaised) -> Diagnostic:
    said = " ".join(str(raised.error).split())[:200]
    text = (
        f"{raised.rule.name} raised {type(raised.error).__name__}: {said}; the graph is as if it had not been planned"
    )
    hint = "A rule that cannot prove its precondition raises a Refusal: correct the rule."
    return Diagnostic("rule.raised", "error", text, raised.node, hint)


@dataclasses.dataclass(frozen=True, eq=False)
class _Run:
    """One attempt at a plan."""

    steps: Plan
    ep: ExecutionProvider
    drop_unused_inputs: bool
    captured: bool
    stop_after: Stage
    watch: Callable[[ir.Model], Watch] | None

    def on(self, model: ir.Model, failed: tuple[Diagnostic, ...]) -> Optimized:
        """The stages one after the other, on a clone."""
        seconds: dict[str, float] = {}
        with _timed(seconds, "clone"), in_order(model) as diagnostics:
            clone = model.clone()
        before = len(clone.graph)
        watch = self.watch(clone) if self.watch is not None else None
        tell = watch.passed if watch is not None else quiet
        with _timed(seconds, "cleanup"):
            diagnostics += cleanup(clone, tell=tell, sorted_already=True)
        with _timed(seconds, "rules"):
            rules = _apply_all(clone, self.steps, watch, self.stop_after)
        dropped: tuple[str, ...] = ()
        if self.stop_after is Stage.FOLD:
            if watch is not None:
                watch.begin()
            with _timed(seconds, "fold"):
                fold(clone, inline=self.steps.inline, tell=tell)
            dropped = _drop_unused_inputs(clone) if self.drop_unused_inputs else ()
            with _timed(seconds, "legality"):
                diagnostics += legality(clone, self.ep, captured=self.captured)
        report = OptimizationReport(
            execution_provider=self.ep.name,
            dtype=dtype_word(self.steps.dtype),
            role=str(self.steps.role),
            planned=tuple((str(step), step.because) for step in self.steps.steps),
            skipped=self.steps.skipped,
            rules=rules,
            diagnostics=failed + diagnostics + _unmatched(rules),
            dropped_inputs=dropped,
            nodes_before=before,
            nodes_after=len(clone.graph),
            stopped_after=self.stop_after.name.lower() if self.stop_after is not Stage.FOLD else "",
            seconds=seconds,
        )
        recording = watch.recording(self.ep.name, report.dtype) if isinstance(watch, Recorder) else None
        return Optimized(clone, report, recording)


def _apply_all(model: ir.Model, steps: Plan, watch: Watch | None, stop_after: Stage) -> tuple[RuleReport, ...]:
    """Fuse, merge what each fusion made for itself (the lengths of rows), then lower."""
    if stop_after < Stage.FUSE:
        return ()
    fuse = [step for step in steps.steps if step.rule.stage is Stage.FUSE]
    lower = [step for step in steps.steps if step.rule.stage is not Stage.FUSE]
    census = Census(model.graph)
    done = [apply(model, step, steps, watch, census) for step in fuse]
    if fuse and lower:
        if watch is not None:
            watch.begin()
        merge_repeated(model)
        census.changed()
        if watch is not None:
            watch.passed("fuse/repeated", _apply_all)
    if stop_after >= Stage.LOWER:
        done += [apply(model, step, steps, watch, census) for step in lower]
    return tuple(done)


@contextlib.contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


def _unmatched(rules: tuple[RuleReport, ...]) -> tuple[Diagnostic, ...]:
    """A planned rule that recognised none of its candidates: on a foreign graph a finding, on ours a bug."""
    found = []
    for rule in rules:
        if rule.candidates and not rule.applied and rule.missed("unmatched"):
            miss = next(m for m in rule.misses if m.kind == "unmatched")
            text = f"{rule.rule} recognised none of its {rule.candidates} candidates: {miss.reason}"
            found.append(Diagnostic("fusion.unmatched", "warning", text, miss.node))
    return tuple(found)


def check(report: OptimizationReport) -> None:
    """Raise what the report only says.

    Raises:
        FusionError: a planned rule has candidates, applied to none, and at least one was not recognised; or it raised.
        LegalityError: something remains that the provider must not be given.
    """
    for finding in report.diagnostics:
        if finding.code in ("fusion.unmatched", "rule.raised"):
            raise FusionError(f"{report.execution_provider} {report.dtype}: {finding}")
        if finding.code.startswith("legality.") and finding.severity == "error":
            raise LegalityError(f"{report.execution_provider} {report.dtype}: {finding}")


def _drop_unused_inputs(model: ir.Model) -> tuple[str, ...]:
    unused = [value for value in model.graph.inputs if not value.uses() and not value.is_graph_output()]
    for value in unused:
        model.graph.inputs.remove(value)
    return tuple(value.name or "" for value in unused)


def _print(report: OptimizationReport) -> None:
    import sys

    print(report.to_frame().to_string(index=False), file=sys.stderr)
    for line in (*report.misses, *report.diagnostics):
        print(line, file=sys.stderr)


__all__ = ["Optimized", "Padding", "check", "optimize", "run_plan"]
