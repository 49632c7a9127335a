"""SVG and PNG: valid, harmless, whole numbers, told apart without colour, the same bytes each time."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tests.unit.viz.graph.diffs import ALL, EVIL, Maker, decoder, nasty
from workbench.analysis.diff import GraphDiff
from workbench.viz.graph.faces import faces
from workbench.viz.graph.look import HIGHEST, picture
from workbench.viz.graph.png import to_figure
from workbench.viz.graph.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ALL)
def test_svg_is_xml_of_harmless_elements(name: str) -> None:
    root = ET.fromstring(to_svg(ALL[name]()))
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {"svg", "title", "rect", "g", "text", "path"}
    for element in root.iter():
        assert not {"class", "style", "href", "id"} & set(element.attrib)
        assert not any(name.startswith("on") for name in element.attrib)


@pytest.mark.parametrize("name", ALL)
def test_svg_has_whole_numbers_only(name: str) -> None:
    for element in ET.fromstring(to_svg(ALL[name]())).iter():
        for attribute in {"x", "y", "width", "height", "d", "transform", "rx", "viewBox"} & set(element.attrib):
            assert "." not in element.attrib[attribute]


def test_svg_stands_on_a_card_of_its_own() -> None:
    root = ET.fromstring(to_svg(decoder(2)))
    card = root[1]
    assert (card.tag, card.get("fill"), card.get("width")) == (f"{SVG}rect", "#FAFAF8", root.get("width"))


def test_legend_and_title_say_the_numbers() -> None:
    root = ET.fromstring(to_svg(decoder(5, odd=3)))
    texts = [t.text for t in root.iter(f"{SVG}text")]
    assert texts[:5] == ["generic → cpu", "− 30 removed", "+ 10 added", "~ 1 changed", "57 same"]
    assert root[0].text == "generic → cpu: 30 removed, 10 added, 1 changed, 57 same"


def test_signs_and_dashes_tell_without_colour() -> None:
    make = Maker()
    gone, new = make.node("Gone", "", status="removed"), make.node("New", "", status="added")
    make.node("Same", "", gone, new)
    boxes = {}
    for group in ET.fromstring(to_svg(make.diff())).iter(f"{SVG}g"):
        title, rect, text = (group.find(f"{SVG}{tag}") for tag in ("title", "rect", "text"))
        if title is not None and rect is not None and text is not None and title.text:
            boxes[title.text.split()[0]] = text.text, rect.get("stroke-dasharray")
    assert boxes == {"Gone": ("−", "5 3"), "New": ("+", None), "Same": ("Same", None)}


def test_names_are_inert_and_short() -> None:
    svg = to_svg(nasty())
    assert "<script" not in svg and "&lt;script&gt;" in svg
    assert "\x1b" not in svg and "\u202e" not in svg
    assert max(map(len, re.findall(r">([^<]*)<", svg))) < 120
    assert len(svg) < 8_000


@pytest.mark.parametrize("layers", [3, 120])
def test_a_page_gets_a_readable_picture(layers: int) -> None:
    shown = picture(decoder(layers))
    assert len(shown.layout.folded.boxes) <= 60
    assert shown.layout.size[1] <= HIGHEST


def test_far_values_are_named_where_one_points() -> None:
    svg = to_svg(ALL["knot"]())
    assert "↑1" in svg and "<title>from a</title>" in svg


def test_an_empty_diff_says_so() -> None:
    assert "Neither graph has a node." in to_svg(ALL["empty"]())


def test_the_same_bytes_each_time() -> None:
    assert to_svg(decoder(3)) == to_svg(decoder(3))
    assert to_figure(decoder(1)).to_png() == to_figure(decoder(1)).to_png()


@pytest.mark.parametrize("name", ["decoder", "nasty", "empty"])
def test_png_is_the_same_picture(name: str) -> None:
    from matplotlib.image import imread

    diff = ALL[name]()
    figure = to_figure(diff)
    assert figure.alt == picture(diff).alt
    image = (imread(io.BytesIO(figure.to_png()))[..., :3] * 255).round().astype(int)
    root = ET.fromstring(to_svg(diff))
    assert abs(image.shape[1] / image.shape[0] - int(root.get("width", 0)) / int(root.get("height", 0))) < 0.06
    if name != "empty":
        for colour in ((0xD5, 0x5E, 0x00), (0x00, 0x72, 0xB2)):
            assert (np.abs(image - colour).max(axis=-1) < 12).sum() > 500


def test_faces_of_a_real_diff() -> None:
    """No HTML: GitHub and nbviewer choose the picture then."""
    made = decoder(1)
    diff = GraphDiff(made.labels, made.a, made.b, made.entries, made.edges, made.groups, (), made.runs, "structure")
    data, metadata = diff._repr_mimebundle_()
    assert list(data) == ["text/plain", "image/svg+xml", "image/png"]
    assert data["text/plain"] == repr(diff) and data["image/svg+xml"].startswith("<svg ")
    assert set(metadata) == {"image/png"}
    assert not hasattr(diff, "_repr_html_"), "IPython would show it before the picture"
    assert faces(diff)[0]["image/svg+xml"] == data["image/svg+xml"]
    assert EVIL not in data["image/svg+xml"]
