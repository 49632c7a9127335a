"""EpCompare, EpMatrix and OpHistogram from the kernel's side."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.cases import CASES
from tests.unit.analysis.results import FUSED, GENERIC, report
from workbench.analysis.tables import OpTable
from workbench.compare import Comparison, compare
from workbench.errors import ArgumentError, UnknownNameError, UnsupportedError
from workbench.widgets import ep_cells
from workbench.widgets.ep_compare import KEPT, EpCompare
from workbench.widgets.ep_matrix import EpMatrix
from workbench.widgets.ep_table import OPENS, opens
from workbench.widgets.linked import link
from workbench.widgets.op_histogram import OpHistogram
from workbench.widgets.view import WIDGET_MIME

PROVIDERS = ("cpu", "cuda", "onnx-standard")


@pytest.fixture(scope="module")
def made() -> Comparison:
    return compare(dict(CASES["gqa"].hf), execution_providers=PROVIDERS, load_weights=False)


def shown(view: EpCompare) -> str:
    """The child area as text."""
    return " ".join(getattr(child, "value", None) or type(child).__name__ for child in view.child.children)


# --- EpCompare --------------------------------------------------------------------------------------------------------
def test_each_result_makes_its_view(made: Comparison) -> None:
    assert isinstance(made.widget(), EpCompare)
    assert isinstance(made.matrix().widget(), EpMatrix)
    assert isinstance(made.ops().widget(), OpHistogram)
    assert isinstance(made.ops().histograms["cpu"].widget(), OpHistogram)


@pytest.mark.parametrize("row", OPENS)
@pytest.mark.parametrize("name", ["generic", "cuda"])
def test_every_cell_opens_what_it_promises(made: Comparison, name: str, row: str) -> None:
    view = made.widget(report()).select(name, row)
    assert bool(view.child.children) == bool(opens(name, row))
    assert "could not be made" not in shown(view)


def test_cells_hold_what_the_graph_has(made: Comparison) -> None:
    view = made.widget()
    assert "position_ids" in shown(view.select("cuda", "inputs"))
    assert "present.0.key" in shown(view.select("cuda", "outputs"))
    assert "model.embed_tokens.weight" in shown(view.select("cuda", "size"))
    assert "Nothing was run" in shown(view.select("cuda", "parity"))
    assert "fuse/gqa" in shown(view.select("cuda", "fusions")) or "FusionReport" in shown(view)
    (bars,) = view.select("cuda", "ops").child.children
    assert isinstance(bars, OpHistogram)
    assert (bars.mode, bars.base) == ("difference", "generic")
    assert bars.result.histograms["cuda"] == made.ops().histograms["cuda"]


def test_parity_shows_its_pictures(made: Comparison) -> None:
    assert made.widget(report()).select("cpu", "parity").child.children[0].value.count("data:image/png") == 2


def test_choosing_nothing_closes(made: Comparison) -> None:
    view = made.widget().select("cuda", "inputs")
    assert len(view.child.children) == 1
    assert view.select("", "").child.children == ()
    assert view.select("nobody", "inputs").child.children == ()


def test_views_stay_for_a_while_and_then_close(made: Comparison) -> None:
    view = made.widget()
    (first,) = view.select("cuda", "ops").child.children
    view.select("cpu", "inputs")
    assert view.select("cuda", "ops").child.children == (first,), "going back finds it as it was"
    others = [(name, row) for name in ("cpu", "cuda") for row in ("inputs", "outputs", "size", "diagnostics")]
    for name, row in others[: KEPT - 1]:
        view.select(name, row)
    assert first.comm is not None
    view.select(*others[KEPT - 1])
    assert first.comm is None, "the oldest is closed"
    (last,) = view.child.children
    view.close()
    assert last.comm is None


def test_a_failure_becomes_a_text(made: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("broken <b>")

    monkeypatch.setitem(ep_cells.OPEN, "inputs", fail)
    text = shown(made.widget().select("cuda", "inputs"))
    assert "This view could not be made: Unexpected RuntimeError: broken &lt;b&gt;" in text


def test_another_dtype_in_the_background(made: Comparison) -> None:
    view = made.widget(report())
    assert view.result["cpu"].dtype == "float32"
    view.select("cpu", "inputs")
    view.dtype_box.value = "float16"
    assert view.wait(60)
    assert (view.result["cpu"].dtype, view.problem) == ("float16", "")
    assert view.view._facts["rows"][0]["cells"][1]["text"] == "float16"
    assert "float16" in shown(view), "the open cell follows"
    assert view.result["cpu"].text("parity") == "not run" and "Parity was not run" in view.status.value
    view.dtype_box.value = "as made"
    assert view.wait(60)
    assert view.result["cpu"].dtype == "float32" and view.result["cpu"].verdict == "ok"


def test_building_can_be_cancelled(made: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    view, reached, go_on = made.widget(), threading.Event(), threading.Event()
    real = type(made).in_dtype

    def slow(self: Comparison, dtype: str | None, *, check: Any) -> Comparison:
        reached.set()
        assert go_on.wait(60)
        return real(self, dtype, check=check)

    monkeypatch.setattr(Comparison, "in_dtype", slow)
    view.dtype_box.value = "float16"
    assert reached.wait(60) and not view.cancel_button.disabled
    view.cancel_button.click()
    go_on.set()
    assert view.wait(60)
    assert view.result["cpu"].dtype == "float32"
    assert "Cancelled" in view.status.value and view.cancel_button.disabled


def test_the_last_dtype_chosen_is_the_one_that_is_built(made: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choosing twice in a row blocks nobody: the first one stops, the second one waits for it in its own thread."""
    view, reached, go_on = made.widget(), threading.Event(), threading.Event()
    real, asked = type(made).in_dtype, []

    def slow(self: Comparison, dtype: str | None, *, check: Any) -> Comparison:
        asked.append(dtype)
        reached.set()
        assert go_on.wait(60)
        return real(self, dtype, check=check)

    monkeypatch.setattr(Comparison, "in_dtype", slow)
    view.dtype_box.value = "bfloat16"
    assert reached.wait(60)
    view.dtype_box.value = "float16"  # returns at once: the first one still stands
    assert asked == ["bfloat16"] and not view.cancel_button.disabled
    go_on.set()
    assert view.wait(60)
    assert (asked, view.result["cpu"].dtype, view.cancel_button.disabled) == (["bfloat16", "float16"], "float16", True)


def test_what_cannot_be_built_is_said(made: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedError("no kernels <i>")

    monkeypatch.setattr(Comparison, "in_dtype", refuse)
    view = made.widget()
    view.dtype_box.value = "bfloat16"
    assert view.wait(60)
    assert view.problem == "no kernels <i>" and "no kernels &lt;i&gt;" in view.status.value
    assert view.result["cpu"].dtype == "float32"


def test_no_choice_of_dtype_where_nothing_can_be_built(made: Comparison) -> None:
    alone = EpCompare(Comparison(made.packages, made.generic, made.name))
    assert alone._controls not in alone.children and made.widget()._controls is not None


def test_faces_without_a_kernel(made: Comparison) -> None:
    view = made.widget()
    bundle = view._repr_mimebundle_()
    assert {"text/plain", "text/html", WIDGET_MIME} == set(bundle)
    assert bundle["text/plain"] == repr(made.summary()) == repr(view)


def test_a_page_without_a_kernel_promises_nothing_behind_a_cell(made: Comparison) -> None:
    def promised(facts: Any) -> set[str]:
        return {cell["opens"] for line in facts["rows"] for cell in line["cells"]}

    table = made.widget().view
    assert "the operators" in promised(table._facts) and promised(table.state()["_facts"]) == {""}
    assert table.state()["_facts"]["rows"][0]["cells"][0]["text"] == table._facts["rows"][0]["cells"][0]["text"]


# --- EpMatrix ---------------------------------------------------------------------------------------------------------
def test_the_matrix_as_facts(made: Comparison) -> None:
    view = EpMatrix(made)
    facts = view._facts
    assert facts["execution_providers"] == list(PROVIDERS)
    names = [place["name"] for place in facts["places"]]
    run = facts["cells"][1][names.index("layers.1-2")]
    cell = view.result.cell("cuda", "layers.1-2")
    assert (run["before"], run["after"], len(run["marks"])) == (cell.generic_nodes, cell.nodes, len(cell.marks))
    assert {rule["rule"] for rule in facts["rules"]} == set(view.result.rules())
    data, _ = view._repr_mimebundle_()
    assert {"text/plain", "image/svg+xml", WIDGET_MIME} == set(data)


# --- OpHistogram ------------------------------------------------------------------------------------------------------
def test_whatever_can_be_counted(made: Comparison) -> None:
    model = made["cpu"].model
    total = made.ops().histograms["cpu"].total
    for given in (model, made["cpu"], made.ops().histograms["cpu"]):
        view = OpHistogram(given)
        assert (view._facts["names"], view._facts["totals"]) == ([""], [total])
    for many in (made, made.ops()):
        assert OpHistogram(many)._facts["names"] == ["generic", *PROVIDERS]
    assert OpHistogram({"a": model, "b": made.generic})._facts["names"] == ["a", "b"]
    assert OpHistogram({})._facts["names"] == []


def test_counts_for_the_browser_are_those_of_the_table(made: Comparison) -> None:
    import numpy as np

    view = OpHistogram(made)
    kind, start, length = view._header["count"]
    counts = np.frombuffer(view._blob, np.int32, length, start).reshape(-1, len(PROVIDERS) + 1)
    assert kind == "i4"
    assert counts.tolist() == made.ops().pivot().to_numpy().tolist()
    assert counts.sum(axis=0).tolist() == view._facts["totals"]


def test_wrong_words_are_refused() -> None:
    table = OpTable({"a": GENERIC, "b": FUSED})
    with pytest.raises(UnknownNameError, match="graph"):
        OpHistogram(table, base="c")
    with pytest.raises(UnknownNameError, match="mode"):
        OpHistogram(table, mode="pie")
    with pytest.raises(UnsupportedError):
        OpHistogram(3)


@pytest.mark.parametrize("mode", ["counts", "difference"])
def test_the_picture_without_a_kernel(mode: str) -> None:
    data, _ = OpHistogram(OpTable({"a": GENERIC, "b": FUSED}), mode=mode)._repr_mimebundle_()
    assert ("+30</text>" in data["image/svg+xml"]) == (mode == "difference")
    assert "text/html" not in data and "MatMul 211" in data["text/plain"]


# --- together ---------------------------------------------------------------------------------------------------------
def test_linked_views_choose_together(made: Comparison) -> None:
    table, matrix, bars = made.widget(), made.matrix().widget(), OpHistogram(made)
    bars.op = "MatMul"
    links = link(bars, matrix, table)
    assert matrix.op == table.view.op == "MatMul"
    matrix.execution_provider = "cuda"
    assert bars.execution_provider == table.view.execution_provider == "cuda"
    for one in links:
        one.unlink()
    matrix.execution_provider = "cpu"
    assert bars.execution_provider == "cuda"


def test_only_views_can_be_linked(made: Comparison) -> None:
    with pytest.raises(ArgumentError, match="each of views"):
        link(made.widget(), made)


def test_lazy_names() -> None:
    import workbench.widgets as widgets

    assert widgets.EpCompare is EpCompare and widgets.link is link
    assert set(widgets.__all__) <= set(dir(widgets))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = widgets.Nothing
