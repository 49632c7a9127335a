"""Views that are given something else than their result: refused in a sentence that says what makes one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rules.graphs import llama
from workbench.errors import ArgumentError, WorkbenchError
from workbench.widgets import EpCompare, EpMatrix, FusionReport, GraphDiffView, OpHistogram, PipelineReplay

BAD: tuple[Any, ...] = (None, 3, "text", [], object(), llama())


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: type(bad).__name__)
@pytest.mark.parametrize("view", [GraphDiffView, EpCompare, EpMatrix, FusionReport, PipelineReplay])
def test_what_is_no_result_of_the_view_is_refused(view: type[Any], bad: Any) -> None:
    with pytest.raises(ArgumentError, match="must be a.*; found"):
        view(bad)


@pytest.mark.parametrize("bad", [None, 3, "text", object()], ids=lambda bad: type(bad).__name__)
def test_bars_need_something_that_can_be_counted(bad: Any) -> None:
    with pytest.raises(WorkbenchError):
        OpHistogram(bad)
