"""Applying one planned rule to a graph: every anchor is asked, every answer is kept."""

from __future__ import annotations

import collections
import time

import onnx_ir as ir

from workbench import functions
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.features import uses
from workbench.rules.graph import scope
from workbench.rules.plan import Plan, Step
from workbench.rules.recorder import Recorder
from workbench.rules.report import Miss, RuleReport
from workbench.types import REPLACES_KEY, RULES_KEY, SCOPE_KEY


def op_counts(model: ir.Model) -> dict[str, int]:
    """Nodes of the main graph by operator (``com.microsoft.GroupQueryAttention``)."""
    counts = collections.Counter((node.domain, node.op_type) for node in model.graph)
    return {f"{domain}.{op_type}" if domain else op_type: count for (domain, op_type), count in counts.items()}


def apply(model: ir.Model, step: Step, plan: Plan, recorder: Recorder | None = None) -> RuleReport:
    """Run a rule over all its candidates, in place.

    Whatever a rewrite leaves without a reader goes with it, so that the next rule sees the graph as it is.
    ``recorder`` is told of each rewrite and each refusal.
    """
    start, before, rule = time.perf_counter(), op_counts(model), step.rule
    misses: list[Miss] = []
    partial: list[Miss] = []
    wanted = {(use.domain, use.op_type) for use in rule.anchors}
    anchors = [n for n in model.graph if (n.domain, n.op_type) in wanted and _is_candidate(n, step)]
    for node in list(anchors):
        if node.graph is not model.graph:
            anchors.remove(node)  # a rewrite before this one took it along
            continue
        if recorder is not None:
            recorder.begin()
        try:
            change = rule.rewrite(Site(node, model, plan.dtype, step.allows, plan.padding, plan.inline))
        except Refusal as refusal:
            misses.append(_miss(rule, node, refusal))
            if recorder is not None:
                recorder.refused(rule, node.name or "")
            continue
        partial += [Miss(rule.name, node.name or "", scope(node), "fact", reason) for reason in change.left]
        anchor = (node.name or "", scope(node))
        removed = _replace(model, node, change, rule)
        if recorder is not None:
            if change.left:
                recorder.refused(rule, anchor[0])
            recorder.rewrote(rule, anchor, removed, change)
    applied = len(anchors) - len(misses)
    if applied:
        model.graph.sort()  # a rewrite may replace a value that was made before its anchor (the sum of a skip norm)
    after = op_counts(model) if applied else before
    seconds = time.perf_counter() - start
    return RuleReport(
        rule.name,
        rule.stage,
        len(anchors),
        applied,
        tuple(misses),
        tuple(partial),
        before,
        after,
        seconds,
        rule.pattern,
    )


def _miss(rule: Rule, node: ir.Node, refusal: Refusal) -> Miss:
    at = refusal.at.name if refusal.at is not None else None
    return Miss(rule.name, node.name or "", scope(node), refusal.kind, str(refusal), at or "")


def _is_candidate(node: ir.Node, step: Step) -> bool:
    """Whether a rule looks at a node; a lowering only at one that uses something that has to go."""
    return step.rule.looks_at(node) and (step.must_go is None or bool(uses(node) & step.must_go))


def _replace(model: ir.Model, anchor: ir.Node, change: Rewrite, rule: Rule) -> list[ir.Node]:
    """Put the new nodes in the anchor's place; what went."""
    graph = model.graph
    for value in change.initializers:
        graph.register_initializer(value) if value.const_value is not None else graph.initializers.add(value)
    graph.insert_before(anchor, change.nodes)
    old, new = list(change.replace), list(change.replace.values())
    ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)
    for before, after in change.replace.items():  # same tensor, same name: runs of both graphs can be compared by it
        after.name, before.name = before.name, f"{before.name}/replaced"
    removed = [node for old_value in old for node in _dead(graph, old_value.producer())]
    _mark(change, anchor, rule, removed)
    for use, overload in change.functions:
        functions.ensure(model, use, overload)
    for node in change.nodes:
        if node.domain:
            graph.opset_imports.setdefault(node.domain, 1)
    return removed


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


def _remove_with_dead_producers(graph: ir.Graph, node: ir.Node) -> list[ir.Node]:
    """Remove a node, then every producer that nobody reads any more; what went, in that order."""
    producers = [value.producer() for value in node.inputs if value is not None]
    graph.remove(node, safe=True)  # without safe=True it would keep its uses, and nothing upstream would ever be dead
    removed = [node]
    for producer in producers:
        removed += _dead(graph, producer)
    return removed


def _dead(graph: ir.Graph, node: ir.Node | None) -> list[ir.Node]:
    if node is None or node.graph is not graph:
        return []
    if any(value.uses() or value.is_graph_output() for value in node.outputs):
        return []
    return _remove_with_dead_producers(graph, node)
