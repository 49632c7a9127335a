"""``EpMatrix``: which rule changed what in which part of the model, for each execution provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from workbench.analysis.rule_matrix import Cell, RuleMatrix
from workbench.errors import wrong_type
from workbench.viz.rule_matrix import kind
from workbench.widgets.view import View


class EpMatrix(View):
    """A grid of execution providers and parts of the model, with a lettered mark for each rule that worked there.

    Choosing a cell sets ``execution_provider``, ``scope`` (a dotted module path; that of the first layer for several)
    and ``place`` (the column's name); choosing a rule above sets ``rule`` and hides the other marks.

    Args:
        result: a ``RuleMatrix``, or a ``Comparison``, which makes one.

    Raises:
        ArgumentError: neither of both.
    """

    module = "ep_matrix"
    styles = ("ep_matrix",)
    label = "Rules by part of the model"

    place = traitlets.Unicode("").tag(sync=True)

    def __init__(self, result: Any, **options: Any) -> None:
        if not isinstance(result, RuleMatrix):
            if not callable(getattr(result, "matrix", None)):
                raise wrong_type("result", result, "a RuleMatrix or a Comparison", "comparison.matrix() makes one.")
            result = result.matrix()
        super().__init__(result, **options)

    def facts(self, result: RuleMatrix) -> Mapping[str, Any]:
        """The whole matrix: it is small, layers being folded."""
        order = {rule: i for i, rule in enumerate(result.rules())}
        return {
            "execution_providers": list(result.execution_providers),
            "places": [
                {"name": p.name, "scope": p.scope, "stack": p.stack, "layers": list(p.layers), "where": p.where}
                for p in result.places
            ],
            "cells": [
                [_cell(order, result.cell(name, place.name)) for place in result.places]
                for name in result.execution_providers
            ],
            "rules": [
                {"rule": rule, "title": _title(rule), "letter": letter, "kind": kind(rule)}
                for rule, letter in result.letters().items()
            ],
        }


def _cell(order: Mapping[str, int], cell: Cell) -> dict[str, Any]:
    marks = sorted(cell.marks, key=lambda mark: order[mark.rule])
    said = [{"rule": mark.rule, "sentence": mark.sentence} for mark in marks]
    return {"before": cell.generic_nodes, "after": cell.nodes, "marks": said}


def _title(rule: str) -> str:
    words = {"fold": "gone without a replacement", "inline": "inlined bodies"}
    return words.get(rule) or ", then ".join(rule.split())
