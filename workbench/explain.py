"""Questions about one run of the pipeline: why a rule did not fire, and what became of a node."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import onnx_ir as ir

from workbench.analysis.near_miss import NearMiss, at_node
from workbench.analysis.places import unknown_place
from workbench.analysis.scopes import scope_of
from workbench.analysis.story import Story, from_metadata, from_recording
from workbench.analysis.why_not import Anchor, Verdict, WhyNot
from workbench.ep import ExecutionProvider, get_ep
from workbench.errors import unknown, wrong_type
from workbench.optimize import Optimized, as_model, compute_dtype, given_rules, optimize, run_plan
from workbench.passes.wellformed import check_values
from workbench.rules.base import Rewrite, Rule
from workbench.rules.graph import scope as scope_in
from workbench.rules.graph import use_of
from workbench.rules.plan import Plan, Step, plan
from workbench.rules.report import Miss, OptimizationReport
from workbench.types import OpId, Role, Stage, dtype_word, parse_dtype


def why_not(
    model: Any,
    rule: str | Rule,
    scope: str | None = None,
    *,
    execution_provider: str,
    dtype: str | None = None,
    role: str = "decoder",
    rules: Sequence[Rule] | None = None,
) -> WhyNot:
    """Say why a rule did not fire, or that it did, on any graph; nothing is changed.

    ``model`` is what ``optimize`` takes; of a package that still has its generic graph, that one is looked at. ``rule``
    is a name (``fuse/gqa``) or a rule of your own; ``scope`` a module (``model.layers.3``) or a node's name, None for
    the whole graph. The plan is the provider's own, and the graph is run through it as far as the rule's stage: each
    candidate is laid beside the rule's pattern at the moment when the rule looks at it.

    Raises:
        UnknownNameError: unknown rule, execution provider, dtype or role; no module or node of that name where the
            rule looked, nor in the graph given.
        UnsupportedError: the provider does not compute in this dtype.
        ModelFileError: a graph that cannot be read.
    """
    known = given_rules(rules)
    if isinstance(rule, Rule) and rule not in known:
        known = given_rules((*known, rule))
    asked = _find(rule, known)
    if not isinstance(scope, str | None):
        raise wrong_type("scope", scope, "the name of a module (model.layers.3) or of a node")
    if role not in list(Role):
        raise unknown("role", role, [str(r) for r in Role])
    ep, graph = get_ep(execution_provider), generic_of(model)
    check_values(graph)
    compute = parse_dtype(dtype) if dtype is not None else compute_dtype(graph) or ep.default_dtype
    steps = plan(ep, compute, Role(role), known)
    blank = WhyNot(asked.name, ep.name, dtype_word(compute), scope or "", "fired", "", asked.needs)
    reason = dict(steps.skipped).get(asked.name)
    if reason is not None:
        facts = tuple(_facts(asked, ep, compute))
        return dataclasses.replace(blank, verdict="not planned", sentence=f"not planned: {reason}", facts=facts)
    watchers: list[_Watcher] = []

    def watch(clone: ir.Model) -> _Watcher:
        watchers.append(_Watcher(asked, scope or ""))
        return watchers[-1]

    made = run_plan(graph, steps, ep, stop_after=asked.stage, watch=watch)
    if scope and not (watchers[-1].met or any(_lies_in(scope, *_called(node)) for node in _nodes(graph))):
        raise unknown_place(scope, {name for node in _nodes(graph) for name in _called(node)}, graph)
    return _answer(blank, asked, watchers[-1], made.report, steps)


def _nodes(graph: ir.Model) -> Iterable[ir.Node]:
    return ir.traversal.RecursiveGraphIterator(graph.graph)


def _called(node: ir.Node) -> tuple[str, str, str]:
    """The names that a node goes by: its own, and that of its module, given or read off its own."""
    return node.name or "", scope_in(node), scope_of(node)


def _lies_in(scope: str, node: str, *scopes: str) -> bool:
    return node == scope or any(one == scope or one.startswith(f"{scope}.") for one in scopes)


def generic_of(model: Any) -> ir.Model:
    """The graph that a pipeline would start from: of a package the generic one, as long as it has it."""
    generic = getattr(model, "generic", None)
    if isinstance(model, Optimized):
        return model.model
    return as_model(next(iter(generic.values())) if generic and len(generic) == 1 else model)


def _find(rule: str | Rule, known: Sequence[Rule]) -> Rule:
    if not isinstance(rule, str | Rule):
        raise wrong_type("rule", rule, "the name of a rule, as 'fuse/gqa', or a Rule")
    name = rule if isinstance(rule, str) else rule.name
    found = next((one for one in known if one.name == name), None)
    if found is None:
        raise unknown("rule", name, [one.name for one in known])
    return found


def _facts(rule: Rule, ep: ExecutionProvider, dtype: ir.DataType) -> Iterable[str]:
    """What the plan asked, with the answers' sources: a fusion needs what it produces, a lowering something to do."""
    lowers = rule.stage is Stage.LOWER
    if lowers:
        yield from (f"{ep.name}: {ep.says(use, dtype)}" for use in sorted(rule.removes) if ep.runs(use, dtype))
    yield from (f"{ep.name}: {ep.says(use, dtype)}" for use in sorted(rule.produces) if not ep.runs(use, dtype))


class _Watcher:
    """Looks over the shoulder of one rule while it runs: the graph is as the rule sees it."""

    def __init__(self, rule: Rule, scope: str) -> None:
        self.rule, self.scope = rule, scope
        self.anchors: tuple[Anchor, ...] = ()
        self.there: tuple[tuple[str, int], ...] = ()
        self.near: list[NearMiss] = []
        self.partial: list[Miss] = []
        self.fired: list[str] = []
        self.met = False

    def begin(self) -> None:
        """Time is not taken."""

    def passed(self, rule: str, where: Callable[..., Any]) -> None:
        """Passes are not looked at."""

    def asks(self, model: ir.Model, step: Step, anchors: list[ir.Node]) -> None:
        """The rule starts: count what it could start from, and what stands there already."""
        if step.rule.name != self.rule.name:
            return
        main = collections.Counter(use_of(n) for n in model.graph if self._here(*_called(n)))
        self.met = bool(main)
        inner = collections.Counter(use_of(n) for n in ir.traversal.RecursiveGraphIterator(model.graph))
        inner.subtract(use_of(n) for n in model.graph)
        inner.update(use_of(n) for function in model.functions.values() for n in function)
        looked = collections.Counter(use_of(n) for n in anchors if self._here(*_called(n)))
        self.anchors = tuple(_anchor(use, main, looked, inner) for use in self.rule.anchors)
        made = sorted({use.op for use in self.rule.produces if use.domain} - set(self.rule.anchors))
        self.there = tuple((str(use), main[use]) for use in made if main[use])

    def refused(self, rule: Rule, miss: Miss, node: ir.Node | None) -> None:
        """A candidate was left alone: lay it beside the pattern, now."""
        if rule.name != self.rule.name or not self._here(miss.node, miss.scope, scope_of(node) if node else ""):
            return
        if node is None:
            self.partial.append(miss)
        else:
            self.near.append(at_node(miss, node, "when the rule looked", rule.pattern))

    def rewrote(self, rule: Rule, anchor: tuple[str, str], removed: Iterable[ir.Node], change: Rewrite) -> None:
        """A candidate was rewritten."""
        if rule.name == self.rule.name and self._here(*anchor, ""):
            self.fired.append(anchor[0])

    def _here(self, node: str, *scopes: str) -> bool:
        return not self.scope or _lies_in(self.scope, node, *scopes)


Counts = collections.Counter[OpId]


def _anchor(use: OpId, main: Counts, looked: Counts, inner: Counts) -> Anchor:
    others = {other: count for other, count in main.items() if other.op_type == use.op_type and other != use and count}
    namesakes = tuple((str(other), others[other]) for other in sorted(others))
    return Anchor(str(use), main[use], looked[use], inner[use], namesakes)


def _answer(blank: WhyNot, rule: Rule, seen: _Watcher, report: OptimizationReport, steps: Plan) -> WhyNot:
    because = next(step.because for step in steps.steps if step.rule.name == rule.name)
    found = dataclasses.replace(
        blank, facts=(f"planned: {because}",), anchors=seen.anchors, near=tuple(seen.near), fired=tuple(seen.fired),
        partial=tuple(seen.partial), there=seen.there,
    )  # fmt: skip
    raised = dict(report.skipped).get(rule.name)
    if raised is not None:
        said = next(d.message for d in report.diagnostics if d.code == "rule.raised" and rule.name in d.message)
        return dataclasses.replace(found, verdict="raised", sentence=said, near=(), fired=(), partial=())
    verdict, sentence = _verdict(found)
    return dataclasses.replace(found, verdict=verdict, sentence=sentence)


def _verdict(found: WhyNot) -> tuple[Verdict, str]:
    total = len(found.near) + len(found.fired)
    if not total:
        return "no candidates", _no_candidates(found)
    partly = f", {len(found.partial)} of them in part" if found.partial else ""
    if not found.near:
        return "fired", f"it fired at {len(found.fired)} of {total} candidates{partly}"
    kinds = collections.Counter((near.kind, near.reason) for near in found.near)
    (kind, reason), count = kinds.most_common(1)[0]
    more = f" (and {len(kinds) - 1} more reasons)" if len(kinds) > 1 else ""
    sentence = f"it left {len(found.near)} of {total} candidates alone{partly}: {count} x {kind}: {reason}{more}"
    return ("partly missed" if found.fired else "missed"), sentence


def _no_candidates(found: WhyNot) -> str:
    where = f" in {found.scope!r}" if found.scope else ""
    there = [anchor for anchor in found.anchors if anchor.nodes]
    wanted = " or ".join(anchor.op for anchor in found.anchors)
    if not there:
        already = "".join(f"; {op} is there already, {count} times" for op, count in found.there)
        return f"no candidates: it starts from {wanted}, and the graph has none{where}{already}"
    counted = ", ".join(f"{anchor.nodes} x {anchor.op}" for anchor in there)
    return f"no candidates: the graph has {counted}{where}, and none is what the rule looks at; it needs {found.needs}"


def explain(
    model: Any,
    where: str,
    *,
    execution_provider: str | None = None,
    dtype: str | None = None,
    role: str = "decoder",
    rules: Sequence[Rule] | None = None,
) -> Story:
    """Tell the story of a node, or of all nodes of a module: cleanup, fusion, lowering, folding, saving, loading.

    With ``execution_provider`` the pipeline is run and recorded once more (of a package with its generic graph, on
    that one), and ``where`` may name a node at any moment of it. Without, the answer is read from what the graph says
    of itself: nodes that a rule made carry the rule and what they replaced, also in a file that was saved and loaded.
    An ``Optimized`` with a recording is told from that.

    Raises:
        UnknownNameError: no node, value or module of that name at any moment; unknown provider, dtype or role.
    """
    if not isinstance(where, str) or not where:
        raise wrong_type("where", where, "the name of a node, of a value, or of a module (model.layers.3)")
    if execution_provider is not None:
        made = optimize(
            generic_of(model), execution_provider=execution_provider, dtype=dtype, role=role, rules=rules, record=True
        )
        return from_recording(made.model, made.report, made.recording, where)
    if isinstance(model, Optimized):
        if model.recording is not None:
            return from_recording(model.model, model.report, model.recording, where)
        return from_metadata(model.model, where, reports=(model.report,))
    package = _loaded(model)
    reports = tuple(getattr(package, "reports", {}).values())
    return from_metadata(as_model(package), where, reports=reports, provider=getattr(package, "execution_provider", ""))


def _loaded(model: Any) -> Any:
    """A path's package, so that its reports can be read too; anything else as it is."""
    if not isinstance(model, str) and not hasattr(model, "__fspath__"):
        return model
    from workbench.package import load

    return load(model)


__all__ = ["explain", "generic_of", "why_not"]
