"""The HTML report: one file, nothing to fetch, everything escaped, everything in it."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.unit.analysis.results import EVIL, FakeComparison, report
from workbench.errors import SaveError
from workbench.viz.page import page as document
from workbench.viz.report import head, sections
from workbench.widgets.comparison_report import save_html, to_html

VOID = {"meta", "img", "br", "hr", "input", "link"}


class Checker(HTMLParser):
    """Collects tags, links and text, and insists that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset", "data")]
        assert not [name for name, _ in attrs if name.startswith("on")], "an event handler"

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    return checker


def still(parity: object = None) -> str:
    """The tables and pictures alone."""
    comparison = FakeComparison()
    return document(*head(comparison, parity), sections(comparison, parity))


@pytest.fixture(scope="module")
def page() -> str:
    return still(report(bad=True))


@pytest.fixture(scope="module")
def live() -> str:
    return to_html(FakeComparison(), parity=report(bad=True))


def test_graphs_to_walk_through_need_nothing_from_outside_either(live: str) -> None:
    found = parsed(live)
    assert "link" not in found.tags and found.tags.count("iframe") == 0
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in found.links)
    assert not re.search(r"https?://|url\(|@import", live.replace('"http://www.w3.org/2000/svg"', ""))
    assert EVIL not in live
    starts = re.findall(r"epWorkbench\.start\('(view-\d+)', '(\w+)'\)", live)
    assert [kind for _, kind in starts] == ["ep_matrix", *["graph_diff"] * len(FakeComparison())]
    assert live.count("const epWorkbenchView =") == 2, "the code of a kind of view is there once"
    assert live.index("Rules by layer") < live.index("<h2>Fusions</h2>")


def test_is_well_formed_and_needs_nothing_from_outside(page: str) -> None:
    found = parsed(page)
    assert "script" not in found.tags and "link" not in found.tags
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in found.links)
    assert not re.search(r"https?://|url\(|@import", page)
    assert found.tags.count("img") == 5


def test_links_go_somewhere(page: str) -> None:
    for link in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{link}"' in page


def test_text_from_graphs_and_names_is_escaped(page: str) -> None:
    assert EVIL not in page
    assert "&lt;script&gt;" in page


def test_both_colour_schemes(page: str) -> None:
    assert "prefers-color-scheme: dark" in page and "color-scheme: light dark" in page


@pytest.mark.parametrize(
    "said",
    [
        "Parity of 6 execution providers against generic float32 on ort-cpu: differs; not run: cuda.",
        "dml has no packed QKV",  # skipped, with the reason
        "dml has the kernel",  # planned, with the reason
        "past_key_values.0-1.key",  # caches of all layers in a row
        "[batch, 3, past, 64]",
        "model.layers.0-2.self_attn (3)",  # misses folded
        "no CUDA kernels on this machine",
        "ORT_DISABLE_ALL",
        "1.32.0",
        "seed",
        "2 x floor",
        "graph-on-cpu",
        "Hello",
        "a cast",  # diagnostics
    ],
)
def test_says(page: str, said: str) -> None:
    assert said in "".join(parsed(page).text)


def test_pictures_have_their_words(page: str) -> None:
    for alt in re.findall(r'<img alt="([^"]*)"', page):
        assert len(alt) > 20


def test_without_parity_nothing_is_claimed() -> None:
    text = "".join(parsed(still()).text)
    assert "Parity was not run" in text and " ok" not in text


def test_same_comparison_same_file(tmp_path: Path, live: str) -> None:
    path = save_html(FakeComparison(), tmp_path / "report.html", parity=report(bad=True))
    assert path.read_text(encoding="utf-8") == live
    assert os.listdir(tmp_path) == ["report.html"]
    assert path.stat().st_size < 1_500_000


def test_a_folder_that_is_missing_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match=r"Cannot write '.*report\.html'"):
        save_html(FakeComparison(), tmp_path / "no" / "report.html")
