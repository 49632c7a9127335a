"""What each rule did for each provider, and for each candidate that was left alone the nearest miss."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from workbench.analysis.fusion_details import FusionDetails, fusion_details
from workbench.analysis.near_miss import NearMiss
from workbench.compare import Comparison
from workbench.errors import wrong_type
from workbench.optimize import Optimized
from workbench.widgets.view import View


class FusionReport(View):
    """Fusions of a comparison, of one optimized graph, or of details made before.

    ``node``, ``rule``, ``scope`` and ``execution_provider`` are set by "show in graph"; ``kind`` filters misses (fact,
    precondition, unmatched, partial; empty for all).
    """

    module: ClassVar[str] = "fusion_report"
    styles: ClassVar[tuple[str, ...]] = ("small_graph", "fusion_report")
    label: ClassVar[str] = "Fusions and misses"

    kind = traitlets.Unicode("").tag(sync=True)

    def __init__(self, result: Comparison | Optimized | FusionDetails, **options: Any) -> None:
        super().__init__(details(result), **options)

    def facts(self, result: FusionDetails) -> Mapping[str, Any]:
        return {
            "execution_providers": list(result.execution_providers),
            "lines": [list(dataclasses.astuple(line)) for line in result.lines],
            "planned": {name: [list(pair) for pair in pairs] for name, pairs in result.fusions.planned.items()},
            "skipped": {name: [list(pair) for pair in pairs] for name, pairs in result.fusions.skipped.items()},
            "folds": [
                {
                    "execution_provider": fold.execution_provider, "rule": fold.rule, "kind": fold.kind,
                    "where": fold.where, "reason": fold.reason, "nodes": list(fold.nodes),
                    "scopes": list(fold.scopes), "near": _near(fold.near),
                }
                for fold in result.folds
            ],
        }  # fmt: skip


def details(source: Any) -> FusionDetails:
    """The details of whatever is shown. Pipelines of a comparison that missed something are recorded once more.

    Raises:
        ArgumentError: neither a comparison, an optimized graph nor details.
    """
    if isinstance(source, FusionDetails):
        return source
    if isinstance(source, Optimized):
        name = source.report.execution_provider
        recordings = {name: source.recording} if source.recording is not None else {}
        return fusion_details({name: source.report}, {name: source.model}, recordings)
    if isinstance(source, Comparison):
        reports = {name: package.report for name, package in source.items()}
        graphs = {name: package.model for name, package in source.items()}
        missed = [name for name, report in reports.items() if any(r.misses or r.partial for r in report.rules)]
        return fusion_details(reports, graphs, {name: source.replay(name) for name in missed})
    raise wrong_type("FusionReport's result", source, "a Comparison, an Optimized or FusionDetails")


def _near(near: NearMiss) -> dict[str, Any]:
    return {
        "op": near.op, "verdict": near.verdict, "at": near.at, "moment": near.moment,
        "pairs": [[pair.state, pair.pattern, pair.graph, pair.sentence, pair.node] for pair in near.alignment.pairs],
        "nodes": [[node.name, node.op, node.scope, node.mark] for node in near.nodes],
        "edges": [[edge.source, edge.target, edge.value] for edge in near.edges],
    }  # fmt: skip
