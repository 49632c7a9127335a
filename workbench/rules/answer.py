"""Asking a rule about one node: what it answers is looked at before it is done, since rules are written by anybody."""

from __future__ import annotations

import dataclasses

import onnx_ir as ir

from workbench.errors import WorkbenchError
from workbench.rules.base import Rewrite, Rule, Site


def answer(rule: Rule, site: Site) -> Rewrite:
    """What a rule wants done at a node. With a copy where an output of the graph is to be what is there already.

    Raises:
        Refusal: it leaves the node alone.
        WorkbenchError: its answer is none, or would break the graph.
    """
    change = rule.rewrite(site)
    if wrong := _wrong(change, site.model.graph):
        raise WorkbenchError(f"{_where(rule, site.node)} {wrong} Correct its rewrite function.")
    return _with_copies(change)


def sort(graph: ir.Graph, rule: Rule) -> None:
    """Put the graph in order again.

    Raises:
        WorkbenchError: the rule has made a node that needs its own result.
    """
    try:
        graph.sort()
    except ValueError as error:
        raise WorkbenchError(
            f"Rule {rule.name!r} made a cycle: a new node needs the result of what it stands for. New nodes read the "
            "inputs of what they replace. Correct its rewrite function."
        ) from error


def _where(rule: Rule, node: ir.Node) -> str:
    return f"Rule {rule.name!r} at node {node.name!r} ({node.op_type})"


def _wrong(change: object, graph: ir.Graph) -> str:
    if not isinstance(change, Rewrite):
        return f"answered {type(change).__name__}; a rewrite returns a Rewrite, or raises Refusal."
    for node in change.nodes:
        if node.graph is not None:
            return f"gives {node.name!r} ({node.op_type}) as new, which is in a graph already; give a node of its own."
    for old, new in change.replace.items():
        if old is new:
            return f"puts {new.name!r} in its own place."
        if not _is_made(new, change, graph):
            return f"puts {new.name!r} in the place of {old.name!r}, and nothing makes it."
    return ""


def _is_made(value: ir.Value, change: Rewrite, graph: ir.Graph) -> bool:
    maker = value.producer()
    if maker is None:
        return value.is_graph_input() or value.is_initializer()
    return maker.graph is graph or any(maker is node for node in change.nodes)


def _with_copies(change: Rewrite) -> Rewrite:
    """An output of a graph keeps its name, and so does a value that was there before: between them stands Identity."""
    copies: dict[ir.Value, ir.Node] = {}
    for old, new in change.replace.items():
        if old.is_graph_output() and new.producer() not in change.nodes:
            copies[old] = ir.node("Identity", [new], outputs=[ir.Value(type=old.type, shape=old.shape)])
    if not copies:
        return change
    replace = dict(change.replace) | {old: copy.outputs[0] for old, copy in copies.items()}
    return dataclasses.replace(change, nodes=[*change.nodes, *copies.values()], replace=replace)
