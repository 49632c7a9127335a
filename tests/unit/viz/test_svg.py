"""Our own SVG pictures: valid, deterministic, without anything that a viewer strips away or fetches."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from tests.unit.analysis.results import EVIL, FUSED, GENERIC
from workbench.analysis.histogram import OpHistogram
from workbench.analysis.rule_matrix import Cell, Mark, Place, RuleMatrix
from workbench.analysis.tables import OpTable
from workbench.types import OpId
from workbench.viz.op_bars import MOST_ROWS, difference_svg, differences_svg, table_svg
from workbench.viz.rule_matrix import KINDS, kind, matrix_svg
from workbench.viz.svg import Svg, printable, say, shorten

SVG = "{http://www.w3.org/2000/svg}"
ATTRIBUTES = {
    "width", "height", "viewBox", "role", "font-family", "font-size", "font-weight", "fill", "fill-opacity", "stroke",
    "stroke-dasharray", "text-anchor", "x", "y", "x1", "x2", "y1", "y2", "rx",
}  # fmt: skip
OPS = OpTable({"generic": GENERIC, f"cuda {EVIL}": FUSED})
MARKS = (Mark("fuse/gqa fuse/pack_qkv", 2, 9), Mark("lower/x", 1, 1), Mark("inline", 5, 1), Mark("fold", 0, 3))
MATRIX = RuleMatrix(
    ("cpu", EVIL),
    (Place("embed"), Place("layers.0-29", "model.layers.0", "model.layers", tuple(range(30)))),
    tuple(Cell(name, place, 24, 11, MARKS if place != "embed" else ()) for name in ("cpu", EVIL)
          for place in ("embed", "layers.0-29")),
)  # fmt: skip
PICTURES: dict[str, Callable[[], str]] = {
    "counts": lambda: table_svg(OPS),
    "one graph": lambda: table_svg(OpTable({"": GENERIC})),
    "no graph": lambda: table_svg(OpTable({})),
    "differences": lambda: differences_svg(OPS, "generic"),
    "one difference": lambda: difference_svg(FUSED - GENERIC),
    "no difference": lambda: difference_svg(FUSED - FUSED),
    "matrix": lambda: matrix_svg(MATRIX),
    "empty matrix": lambda: matrix_svg(RuleMatrix((), (), ())),
}


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture(name: str) -> None:
    svg = PICTURES[name]()
    assert svg == PICTURES[name](), "the same bytes every time"
    root = ElementTree.fromstring(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "rect", "line", "text"}
    assert {key for element in root.iter() for key in element.attrib} <= ATTRIBUTES
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "") and "url(" not in svg
    assert "<script" not in svg
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text


@pytest.mark.parametrize("name", PICTURES)
def test_coordinates_are_whole_and_inside(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name]())
    width, height = int(root.attrib["width"]), int(root.attrib["height"])
    for element in root.iter():
        places = [
            element.attrib[k] for k in ("x", "y", "x1", "x2", "y1", "y2", "width", "height") if k in element.attrib
        ]
        assert all(re.fullmatch(r"\d+", place) for place in places), element.attrib
        assert int(element.attrib.get("x", 0)) + int(element.attrib.get("width", 0)) <= width
        assert int(element.attrib.get("y", 0)) + int(element.attrib.get("height", 0)) <= height


def test_a_card_of_its_own_lies_behind() -> None:
    first = list(ElementTree.fromstring(PICTURES["matrix"]()))[2]
    assert first.tag == f"{SVG}rect" and first.attrib["fill"] == "#FAFAF8"


def test_numbers_are_written() -> None:
    shown = texts(table_svg(OPS))
    assert {"211", "151 (−60)", "30 (+30)", "0 (−30)"} <= set(shown)
    assert {f"{GENERIC.total:,} nodes", f"{FUSED.total:,} nodes"} <= set(shown)
    changes = texts(differences_svg(OPS, "generic"))
    assert {"−60", "+30", "−58", "−30"} <= set(changes)
    assert f"−{GENERIC.total - FUSED.total} nodes" in changes


def test_removed_bars_are_dashed_as_well() -> None:
    root = ElementTree.fromstring(table_svg(OPS))
    dashed = [e for e in root.iter(f"{SVG}rect") if "stroke-dasharray" in e.attrib]
    assert dashed and {e.attrib["fill"] for e in dashed} == {"#d55e00"}


def test_many_operators_share_the_last_row() -> None:
    many = OpHistogram({OpId(f"Op{i:03}"): 200 - i for i in range(100)})
    shown = texts(table_svg(OpTable({"g": many})))
    assert f"{100 - MOST_ROWS + 1} other operators" in shown
    rest = sum(200 - i for i in range(MOST_ROWS - 1, 100))
    assert f"{rest:,}" in shown


def test_the_matrix_has_letter_and_colour() -> None:
    svg = matrix_svg(MATRIX)
    letters = MATRIX.letters()
    shown = counted(texts(svg))
    for letter in letters.values():
        assert shown[letter] == 3, "one for each provider, one in the legend"
    for rule in letters:
        assert KINDS[kind(rule)][0] in svg
    assert "24 → 11" in shown and "fuse/gqa, then fuse/pack_qkv" in shown


def counted(found: list[str]) -> dict[str, int]:
    return {text: found.count(text) for text in found}


@pytest.mark.parametrize("name", KINDS)
def test_marks_can_be_read(name: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted(map(luminance, KINDS[name]), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_texts_of_any_kind_are_inert() -> None:
    svg = Svg(f"a {EVIL}", "\x00\ud800 & <b>")
    svg.text(1, 2, EVIL + "\x07")
    document = str(svg)
    root = ElementTree.fromstring(document)
    assert root.find(f"{SVG}desc").text == "�� & <b>"
    assert texts(document) == [EVIL + "�"]
    document.encode("utf-8")


def test_small_helpers() -> None:
    assert shorten("abcdefghij", 5) == "ab…ij" and shorten("abc", 5) == "abc"
    assert printable("a\nb") == "a�b"
    assert "Nothing" in say("Nothing")
