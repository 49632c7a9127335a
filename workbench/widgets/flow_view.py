"""The steps of a workflow as a view: nested, beside the state they use, with findings in place and moments of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import traitlets

from workbench.analysis.markup import plural
from workbench.metadata.diagnostic import show_path
from workbench.metadata.flow import AliasRow, FlowNode, PortRow, WorkflowMap, runs
from workbench.metadata.flow.links import is_state
from workbench.viz.workflow import Moment, SeenValue, moments, node_of, pinned
from workbench.widgets.pack import Column, pack
from workbench.widgets.view import View

MOST_ROWS = 60
"""Rows that are open at first: about two screens."""
_SEEN = dataclasses.fields(SeenValue)
_ALIAS = ("role", "cell", "past", "present", "access", "contract")


class FlowView(View):
    """A :class:`~workbench.metadata.flow.WorkflowMap` in the browser.

    ``node`` is the path of the chosen step, ``folded`` are the paths of folded ones. With moments of a run, ``moment``
    is the one that is shown (the first is 0), and ``breakpoints`` are paths of steps, or ``value:NAME``. ``busy`` is
    whether the run is going on, ``run_said`` what became of that.
    """

    module: ClassVar[str] = "workflow"
    styles: ClassVar[tuple[str, ...]] = ("workflow",)
    label: ClassVar[str] = "Workflow"

    folded = traitlets.List(traitlets.Unicode()).tag(sync=True)
    moment = traitlets.Int(0).tag(sync=True)
    breakpoints = traitlets.List(traitlets.Unicode()).tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)
    run_said = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        shown: WorkflowMap,
        trace: Iterable[Any] = (),
        *,
        opens: Collection[str] = (),
        live: bool = False,
        asked: Callable[[Mapping[str, Any]], None] = lambda message: None,
        **options: Any,
    ) -> None:
        trace = tuple(trace)
        self._map, self._moments, self._paths = shown, moments(shown, trace), keys(shown)
        self._opens, self._live = tuple(opens), live
        options.setdefault("folded", folded_at_first(shown))
        super().__init__(pinned(shown, trace), **options)
        self.on_msg(lambda _, message, buffers: asked(message))

    def show_trace(self, trace: Iterable[Any], *, live: bool, moment: int) -> None:
        """Show a run that has gone on."""
        trace = tuple(trace)
        self._moments, self._live = moments(self._map, trace), live
        self._result = pinned(self._map, trace)
        header, blob = pack(self.columns(self._result))
        with self.hold_sync():
            self._header, self._blob, self._facts = header, blob, dict(self.facts(self._result))
            self.moment = moment

    def stops_at(self, record: Any, stops: Collection[str]) -> bool:
        """Whether a record of a run is at a breakpoint: its step, or a value that it makes."""
        node = self._paths[node_of(self._map, record.place, record.kind)]
        return node in stops or any(f"value:{one.value.name}" in stops for one in record.writes)

    @traitlets.validate("moment")
    def _within(self, proposal: Any) -> int:
        return max(0, min(int(proposal["value"]), len(self._moments) - 1))

    def columns(self, shown: WorkflowMap) -> Mapping[str, Column]:
        """Ports of all nodes by run, aliases by table, values by moment."""
        ports = list(_ports(shown))
        rows = [row for table in shown.aliases for row in table.rows]
        return {
            "port": [row.port for _, row in ports], "value": [row.value for _, row in ports],
            "contract": [row.contract for _, row in ports],
            "maker": np.array([row.maker for _, row in ports], np.int32),
            "kept": np.array([is_state(shown, node, row) for node, row in ports], np.uint8),
            "alias_layer": np.array([row.layer for row in rows], np.int32), **_alias_texts(rows),
            **_moment_columns(self._moments),
        }  # fmt: skip

    def facts(self, shown: WorkflowMap) -> Mapping[str, Any]:
        """Nodes, lanes, alias tables and findings; their rows are in the columns."""
        return {
            "title": repr(shown), "said": _said(shown), "nodes": list(_nodes(shown)), "lanes": list(_lanes(shown)),
            "aliases": list(_tables(shown)), "faults": list(_faults(shown)), "opens": list(self._opens),
            "moments": len(self._moments), "live": self._live,
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        """A page without a kernel cannot open a graph, it says which file there is; and cannot run on."""
        state = super().state()
        return state | {"_facts": state["_facts"] | {"opens": [], "live": False}, "busy": False, "run_said": ""}


def folded_at_first(shown: WorkflowMap) -> list[str]:
    """Frames that are folded so that no more than ``MOST_ROWS`` rows are open, the innermost first."""
    nodes, names = shown.nodes, keys(shown)
    sizes, hidden = [0] * len(nodes), [0] * len(nodes)
    for node in reversed(nodes[1:]):
        sizes[node.parent] += sizes[node.index] + 1
    left, folded = len(nodes), set()
    for frame in sorted((node for node in nodes[1:] if node.is_frame), key=lambda node: -node.depth):
        if left <= MOST_ROWS:
            break
        folded.add(frame.index)
        gone, around = sizes[frame.index] - hidden[frame.index], frame.parent
        left -= gone
        while around >= 0:
            hidden[around] += gone
            around = nodes[around].parent
    return [names[index] for index in sorted(folded)]


def keys(shown: WorkflowMap) -> list[str]:
    """What nodes go by: their paths. A case of one step has the path of that step, so its frame is called a frame."""
    inner = {node.parent: node.path for node in shown.nodes}
    return [f"{node.where} (frame)" if inner.get(node.index) == node.path else node.where for node in shown.nodes]


def _said(shown: WorkflowMap) -> str:
    if not shown.pins:
        return "No rule is broken."
    errors = sum(pin.diagnostic.severity == "error" for pin in shown.pins)
    words = (plural(errors, "error"), plural(len(shown.pins) - errors, "warning"))
    return f"{' and '.join(words)}; n goes to the next."


def _ports(shown: WorkflowMap) -> Iterable[tuple[FlowNode, PortRow]]:
    for node in shown.nodes:
        for side in (node.reads, node.writes):
            for run in runs(side):
                yield from ((node, row) for row in run.rows)


def _nodes(shown: WorkflowMap) -> Iterable[dict[str, Any]]:
    faults: dict[int, list[int]] = {}
    for index, pin in enumerate(shown.pins):
        if pin.lane < 0:
            faults.setdefault(pin.node, []).append(index)
    start = 0
    for node, key in zip(shown.nodes, keys(shown), strict=True):
        sides: list[list[list[Any]]] = []
        for rows in (node.reads, node.writes):
            sides.append([])
            for run in runs(rows):
                sides[-1].append([start, len(run.rows), run.port, run.value, str(run)])
                start += len(run.rows)
        yield _plain(node, key) | {
            "name": shown.names[node.index],
            "reads": sides[0],
            "writes": sides[1],
            "faults": faults.get(node.index, []),
        }


def _plain(node: FlowNode, key: str) -> dict[str, Any]:
    return {
        "index": node.index, "parent": node.parent, "depth": node.depth, "kind": node.kind, "title": node.title,
        "note": node.note, "path": key, "where": node.where, "component": node.component, "artifact": node.artifact,
        "marks": [[mark.lane, mark.starts, mark.reads, mark.makes, mark.carries] for mark in node.marks],
    }  # fmt: skip


def _lanes(shown: WorkflowMap) -> Iterable[dict[str, Any]]:
    for index, lane in enumerate(shown.lanes):
        yield {
            "name": lane.name, "note": lane.note, "count": len(lane.cells), "group": lane.is_group,
            "cells": list(lane.cells[:200]), "path": show_path(lane.path),
            "faults": [i for i, pin in enumerate(shown.pins) if pin.lane == index],
        }  # fmt: skip


def _tables(shown: WorkflowMap) -> Iterable[dict[str, Any]]:
    start = 0
    for table in shown.aliases:
        yield {
            "lane": table.lane, "group": table.group, "component": table.component, "note": table.note,
            "start": start, "count": len(table.rows),
        }  # fmt: skip
        start += len(table.rows)


def _faults(shown: WorkflowMap) -> Iterable[dict[str, Any]]:
    for pin in shown.pins:
        one = pin.diagnostic
        yield {
            "severity": one.severity, "code": one.code, "where": one.where, "message": one.message, "hint": one.hint,
            "line": getattr(one, "line", None),
        }  # fmt: skip


def _alias_texts(rows: list[AliasRow]) -> dict[str, Column]:
    return {f"alias_{field}": [str(getattr(row, field)) for row in rows] for field in _ALIAS}


def _moment_columns(found: tuple[Moment, ...]) -> dict[str, Column]:
    """Behind ``from`` the values of each moment: those that were read first."""
    values = [(made, value) for one in found for made, side in ((0, one.read), (1, one.made)) for value in side]
    starts = np.cumsum([0, *(len(one.read) + len(one.made) for one in found)])
    return {
        "moment_node": np.array([one.node for one in found], np.int32),
        "moment_note": [one.note for one in found], "moment_fault": ["\n".join(one.faults) for one in found],
        "moment_from": starts.astype(np.int32), "moment_made": np.array([made for made, _ in values], np.uint8),
        **{f"moment_{field.name}": [str(getattr(value, field.name)) for _, value in values] for field in _SEEN},
    }  # fmt: skip
