"""Applying one planned rule to a graph: every anchor is asked, every answer is kept."""

from __future__ import annotations

import dataclasses
import time

import onnx_ir as ir

from workbench import functions
from workbench.rules.answer import answer, sort
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.census import Census
from workbench.rules.discard import Discard
from workbench.rules.features import uses
from workbench.rules.graph import scope
from workbench.rules.order import Order
from workbench.rules.plan import Plan, Step
from workbench.rules.recorder import Watch
from workbench.rules.report import Miss, RuleReport
from workbench.types import REPLACES_KEY, RULES_KEY, SCOPE_KEY


class RuleRaised(Exception):
    """A rule failed with an error that is no refusal. The graph it worked on may be half changed: throw it away."""

    def __init__(self, rule: Rule, node: str, error: Exception) -> None:
        super().__init__(f"{rule.name} raised {type(error).__name__}: {error}")
        self.rule, self.node, self.error = rule, node, error


def apply(
    model: ir.Model, step: Step, plan: Plan, watch: Watch | None = None, census: Census | None = None
) -> RuleReport:
    """Run a rule over all its candidates, in place.

    Whatever a rewrite leaves without a reader goes with it, so that the next rule sees the graph as it is.
    ``watch`` is told of each rewrite and each refusal. ``census`` is what is known of the graph from the rule before.

    Raises:
        RuleRaised: the rule failed; the model is not to be used any more.
    """
    start, rule, census = time.perf_counter(), step.rule, census or Census(model.graph)
    before = census.counts()
    misses: list[Miss] = []
    partial: list[Miss] = []
    place, asked = "", 0
    try:
        anchors = [node for node in census.nodes(rule.anchors) if _is_candidate(node, step)]
        work = _Work(rule, Discard(model.graph), Order(model.graph), watch)
        if watch is not None:
            watch.asks(model, step, anchors)
        for node in anchors:
            if node.graph is not model.graph:
                continue  # a rewrite before this one took it along
            place, asked = node.name or "", asked + 1
            site = Site(node, model, plan.dtype, step.allows, plan.padding, plan.inline)
            partial += _ask(work, site, misses)
        applied = asked - len(misses)
        _settle(work, bool(misses))
    except Exception as error:
        raise RuleRaised(rule, place, error) from error
    if applied:
        census.changed()
    return RuleReport(
        rule.name, rule.stage, asked, applied, tuple(misses), tuple(partial), before, census.counts(),
        time.perf_counter() - start, rule.pattern,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Work:
    """One rule at work on one graph."""

    rule: Rule
    discard: Discard
    order: Order
    watch: Watch | None


def _settle(work: _Work, missed: bool) -> None:
    """Once for a rule, since each of these reads the whole graph."""
    work.discard.flush()
    if missed:
        _let_go(work.discard.graph)
    if not work.order.kept:
        sort(work.discard.graph, work.rule)


def _ask(work: _Work, site: Site, misses: list[Miss]) -> list[Miss]:
    """Rewrite one candidate, or add to the misses why not; what the rewrite has left outside."""
    node, rule, watch = site.node, work.rule, work.watch
    if watch is not None:
        watch.begin()
    try:
        change = answer(rule, site)
    except Refusal as refusal:
        misses.append(_miss(rule, node, refusal))
        if watch is not None:
            watch.refused(rule, misses[-1], node)
        return []
    left = [Miss(rule.name, node.name or "", scope(node), "fact", reason) for reason in change.left]
    anchor = (node.name or "", scope(node))
    removed = _replace(work, site, change)
    if watch is not None:
        for miss in left:
            watch.refused(rule, miss, None)
        watch.rewrote(rule, anchor, removed, change)
    return left


def _let_go(graph: ir.Graph) -> None:
    """Take back what refused rewrites had made: a node that stands nowhere still counts as a reader of its inputs.

    Raises:
        ValueError: a node reads what was taken back, so a refusal had changed it.
    """
    made = (value for node in graph for value in node.outputs)
    for value in (*graph.inputs, *graph.initializers.values(), *made):
        for use in [use for use in value.uses() if use.node.graph is None]:
            use.node.replace_input_with(use.idx, None)
    for node in graph:
        makers = (value.producer() for value in node.inputs if value is not None)
        if any(maker is not None and maker.graph is not graph for maker in makers):
            raise ValueError(f"it refused a node and had changed {node.name!r}: a refusal leaves all as it was")


def _miss(rule: Rule, node: ir.Node, refusal: Refusal) -> Miss:
    at = refusal.at.name if refusal.at is not None else None
    return Miss(rule.name, node.name or "", scope(node), refusal.kind, str(refusal), at or "")


def _is_candidate(node: ir.Node, step: Step) -> bool:
    """Whether a rule looks at a node; a lowering only at one that uses something that has to go."""
    return step.rule.looks_at(node) and (step.must_go is None or bool(uses(node) & step.must_go))


def _replace(work: _Work, site: Site, change: Rewrite) -> list[ir.Node]:
    """Put the new nodes in the anchor's place; what went."""
    discard, graph, anchor = work.discard, work.discard.graph, site.node
    _check(graph, change)
    work.order.rewritten(anchor, change)
    for value in change.initializers:
        graph.register_initializer(value) if value.const_value is not None else graph.initializers.add(value)
    graph.insert_before(anchor, change.nodes)
    discard.replace(change.replace)
    for before, after in change.replace.items():  # same tensor, same name: runs of both graphs can be compared by it
        if after.producer() in change.nodes:  # what stood in the graph before keeps its own
            after.name, before.name = before.name, f"{before.name}/replaced"
    removed = [node for old in change.replace for node in discard.dead(old.producer())]
    _mark(change, anchor, work.rule, removed)
    for use, overload in change.functions:
        functions.ensure(site.model, use, overload)
    for node in change.nodes:
        if node.domain:
            graph.opset_imports.setdefault(node.domain, 1)
    return removed


def _check(graph: ir.Graph, change: Rewrite) -> None:
    """A rule's mistake is found before the graph has taken it in.

    Raises:
        ValueError: a new node stands in a graph already, or reads what no node of this graph makes.
    """
    new = set(change.nodes)
    for node in change.nodes:
        if node.graph is not None:
            raise ValueError(f"the new node {node.op_type} stands in a graph already")
        for value in node.inputs:
            maker = value.producer() if value is not None else None
            if value is not None and maker is not None and maker not in new and maker.graph is not graph:
                raise ValueError(f"the new node {node.op_type} reads {value.name!r}, which no node of the graph makes")


def _mark(change: Rewrite, anchor: ir.Node, rule: Rule, removed: list[ir.Node]) -> None:
    """Names and provenance of new nodes. Names are numbered: onnxruntime refuses two nodes of one name."""
    history = anchor.metadata_props.get(RULES_KEY, "")
    replaced: dict[str, None] = {}
    for node in removed:
        replaced |= dict.fromkeys((node.metadata_props.get(REPLACES_KEY) or node.name or "").split())
    for index, node in enumerate(change.nodes):
        node.name = f"{anchor.name}/{rule.name.split('/')[-1]}/{index}_{node.op_type}"
        node.metadata_props[SCOPE_KEY] = node.metadata_props.get(SCOPE_KEY) or scope(anchor)
        node.metadata_props[RULES_KEY] = f"{history} {rule.name}".strip()
        node.metadata_props[REPLACES_KEY] = " ".join(replaced)
        for number, value in enumerate(node.outputs):
            if not value.name:
                value.name = f"{node.name}:{number}"
