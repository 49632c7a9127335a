"""Pictures: drawn from hand-made results, looked at by their pixels and their words."""

from __future__ import annotations

import dataclasses
import io
import os
import struct
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.text import Text

from tests.unit.analysis.results import FUSED, GENERIC, LAYERS, REPORTS, TOLERANCE, VERSIONS, report, subject
from tests.unit.test_ill_conditioned import report as ill_report
from tests.unit.test_ill_conditioned import row as ill_row
from workbench.analysis.histogram import OpHistogram
from workbench.analysis.misses import miss_table
from workbench.analysis.parity import PREFILL, not_run
from workbench.analysis.parity_report import ParityReport
from workbench.analysis.tables import fusion_table, op_table
from workbench.errors import SaveError
from workbench.types import OpId
from workbench.viz.figure import BLUE, CARD, ORANGE, PURPLE, VERMILLION, Figure
from workbench.viz.ops import MOST_ROWS

OPS = op_table({"generic": GENERIC, "cpu": FUSED, "dml": FUSED})
ILL = (2e-5, 0.0), (2.5e-3, 2.2e-3), (0.0, 0.0), (0.5, 2.2e-3)
"""Errors and floors by position."""
MAKERS: dict[str, Callable[[], Figure]] = {
    "ops": OPS.plot,
    "histogram": GENERIC.plot,
    "difference": (FUSED - GENERIC).plot,
    "fusions": fusion_table(REPORTS).plot,
    "misses": miss_table(REPORTS).plot,
    "position": lambda: report(bad=True).plot("position"),
    "scatter": lambda: report(bad=True).plot("scatter"),
    "ill-conditioned": lambda: ill_report(
        *(dataclasses.replace(ill_row(*one), position=i) for i, one in enumerate(ILL))
    ).plot(),
}


def pixels(figure: Figure) -> np.ndarray:
    """[height, width, 3] of the PNG, 0 to 255."""
    from matplotlib.image import imread

    return (imread(io.BytesIO(figure.to_png()))[..., :3] * 255).round().astype(int)


def share(image: np.ndarray, colour: str) -> float:
    """Share of the pixels that have exactly this colour."""
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return float((image == rgb).all(-1).mean())


def words(figure: Figure) -> str:
    """All text that is drawn."""
    return "\n".join(t.get_text() for t in figure.figure.findobj(Text) if t.get_visible())


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    return {name: make() for name, make in MAKERS.items()}


@pytest.mark.parametrize("name", MAKERS)
class TestEvery:
    def test_has_a_card_and_something_on_it(self, drawn: dict[str, Figure], name: str) -> None:
        image = pixels(drawn[name])
        assert image.shape[1] < 2000
        assert 0.4 < share(image, CARD) < 0.99
        assert share(image, BLUE) + share(image, VERMILLION) + share(image, ORANGE) > 0.0005

    def test_nothing_is_cut_off(self, drawn: dict[str, Figure], name: str) -> None:
        """The outermost pixels are all card: no label runs over the edge."""
        image = pixels(drawn[name])
        edge = np.concatenate(
            [
                image[:2].reshape(-1, 3),
                image[-2:].reshape(-1, 3),
                image[:, :2].reshape(-1, 3),
                image[:, -2:].reshape(-1, 3),
            ]
        )
        assert share(edge, CARD) == 1.0

    def test_no_words_lie_on_each_other(
        self, drawn: dict[str, Figure], name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        boxes = [(text.get_text(), text.get_window_extent()) for text in _drawn_texts(drawn[name], monkeypatch)]
        assert boxes
        for i, (text, box) in enumerate(boxes):
            for other, rest in boxes[:i]:
                dx = min(box.x1, rest.x1) - max(box.x0, rest.x0)
                dy = min(box.y1, rest.y1) - max(box.y0, rest.y0)
                assert dx < 2 or dy < 2, f"{text!r} lies on {other!r}"

    def test_same_data_same_bytes(self, drawn: dict[str, Figure], name: str) -> None:
        assert MAKERS[name]().to_png() == drawn[name].to_png()

    def test_mimebundle(self, drawn: dict[str, Figure], name: str) -> None:
        data, metadata = drawn[name]._repr_mimebundle_()
        assert set(data) == {"image/png", "text/plain"}
        assert data["text/plain"] == repr(drawn[name]) == drawn[name].alt
        assert "0x" not in data["text/plain"]
        assert metadata["image/png"]["width"] > 300


def _drawn_texts(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    """The texts that matplotlib really draws: ticks outside the limits exist, but are not."""
    found: dict[int, Text] = {}
    draw = Text.draw

    def record(self: Text, renderer: object) -> None:
        if self.get_visible() and self.get_text().strip():
            found[id(self)] = self
        draw(self, renderer)

    monkeypatch.setattr(Text, "draw", record)
    figure.to_png()
    return list(found.values())


class TestWords:
    def test_ops_show_every_count_and_the_zeros(self) -> None:
        text = words(OPS.plot()).splitlines()
        assert text.count("0") >= 3 * 2  # Attention and CausalMask twice each, GroupQueryAttention and Sub once
        assert {"GroupQueryAttention", "generic", "302 nodes", str(LAYERS), "211", "151"} <= set(text)

    def test_operators_of_the_same_name_are_told_apart(self) -> None:
        twins = OpHistogram({OpId("RotaryEmbedding"): 1, OpId("RotaryEmbedding", "com.microsoft"): 2, OpId("Add"): 3})
        labels = [label.get_text() for label in twins.plot().axes[0].get_yticklabels()]
        assert labels == ["Add", "RotaryEmbedding (com.microsoft)", "RotaryEmbedding"]

    def test_many_operators_share_a_last_row(self) -> None:
        many = OpHistogram({OpId(f"Op{i:02}"): 100 - i for i in range(60)})
        figure = op_table({"generic": many}).plot()
        assert len(figure.axes[0].get_yticklabels()) == MOST_ROWS
        rest = 60 - (MOST_ROWS - 1)
        assert f"{rest} others" in words(figure)
        assert f"{sum(100 - i for i in range(MOST_ROWS - 1, 60)):,}" in words(figure)

    def test_microsoft_bars_are_hatched_too(self) -> None:
        figure = OPS.plot()
        hatches = {bar.get_facecolor()[:3]: bar.get_hatch() for axes in figure.axes for bar in axes.patches}
        orange = matplotlib.colors.to_rgb(ORANGE)
        assert hatches[orange] == "////"
        assert not hatches[matplotlib.colors.to_rgb(BLUE)]

    def test_fusions_say_applied_of_candidates_and_not_planned(self) -> None:
        figure = fusion_table(REPORTS).plot()
        text = words(figure)
        assert "26/30" in text and "30/30" in text
        assert text.count("not planned") == 3 * 3 - 3
        looks = {(bar.get_facecolor()[:3], bar.get_hatch()) for axes in figure.axes for bar in axes.patches}
        assert len({hatch for _, hatch in looks}) == len(looks) == 3
        assert matplotlib.colors.to_rgb(PURPLE) in {colour for colour, _ in looks}

    def test_scatter_says_what_ran_where(self) -> None:
        text = words(report(bad=True).plot("scatter"))
        assert "dml float16\ngraph-on-cpu\nmax|d| 1e-2 <= 3e-2 ok" in text
        assert "1 NaN or Inf not drawn" in text
        assert "exactly equal" in text

    def test_position_shows_floor_tolerance_and_what_differs(self) -> None:
        text = words(report(bad=True).plot("position"))
        for part in (
            "tolerance",
            "floor",
            "differs",
            "NaN or Inf",
            "exactly equal",
            "prefill",
            "right-padded",
            "decode",
            "batch row 1",
        ):
            assert part in text, part

    def test_dollar_signs_of_a_name_are_not_mathematics(self) -> None:
        figure = op_table({"generic": OpHistogram({OpId("a$x^2$b"): 1})}).plot()
        assert "a$x^2$b" in words(figure)
        assert figure.to_png()

    @pytest.mark.parametrize(
        ("make", "said"),
        [
            (OpHistogram({}).plot, "the graph has no nodes"),
            ((FUSED - FUSED).plot, "No operator changes"),
            (fusion_table({}).plot, "No rules were planned"),
            (miss_table({}).plot, "every candidate was rewritten"),
        ],
    )
    def test_nothing_to_draw_is_said(self, make: Callable[[], Figure], said: str) -> None:
        figure = make()
        assert said in words(figure) and said in repr(figure)

    @pytest.mark.parametrize(("kind", "said"), [("position", "Nothing ran: no kernels"), ("scatter", "nothing ran")])
    def test_nothing_that_ran_is_said(self, kind: str, said: str) -> None:
        row = not_run(subject(), PREFILL, "no kernels", TOLERANCE)
        assert said in words(ParityReport((row,), "generic", 0, VERSIONS, {}).plot(kind))


class TestFiles:
    def test_save_writes_a_png_of_the_size_promised(self, tmp_path: Path) -> None:
        path = GENERIC.plot().save(tmp_path / "ops.png")
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        width, _ = struct.unpack(">II", data[16:24])
        assert width == pytest.approx(GENERIC.plot().figure.get_size_inches()[0] * 150, abs=2)
        assert os.listdir(tmp_path) == ["ops.png"]

    def test_a_missing_folder_is_one_clear_error(self, tmp_path: Path) -> None:
        with pytest.raises(SaveError, match=r"Cannot write '.*ops\.png': No such file.*Choose a folder"):
            GENERIC.plot().save(tmp_path / "missing" / "ops.png")

    def test_a_failed_write_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        target = tmp_path / "ops.png"
        target.write_bytes(b"old")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(SaveError, match="No space left on device"):
            GENERIC.plot().save(target)
        assert target.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["ops.png"]


def test_neither_pyplot_nor_a_users_settings_are_touched() -> None:
    import subprocess
    import sys

    code = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy()\n"
        "from workbench.analysis.histogram import OpHistogram; from workbench.types import OpId\n"
        "OpHistogram({OpId('A'): 1}).plot().to_png()\n"
        "assert matplotlib.rcParams.copy() == before; print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr
