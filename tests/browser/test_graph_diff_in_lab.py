"""The graph diff in a real JupyterLab, light and dark, and alone on a page: looked at by its pixels, clicked, driven by
keys.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import keep, violations
from tests.browser.lab import Lab
from tests.unit.viz.graph import goldens
from tests.unit.viz.graph.diffs import decoder, nasty
from workbench.widgets.esm import STATIC

pytestmark = pytest.mark.browser

CELL = """
from tests.unit.viz.graph.diffs import {make}
from workbench.widgets.graph_diff import GraphDiffView
view = GraphDiffView({call})
view
"""
PALETTE = {"removed": (0xD5, 0x5E, 0x00), "added": (0x00, 0x72, 0xB2), "changed": (0xCC, 0x79, 0xA7)}
HISTOGRAM = """(canvas) => {
  const d = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const found = {};
  for (let i = 0; i < d.length; i += 4) {
    const key = [d[i], d[i + 1], d[i + 2]].join();
    found[key] = (found[key] || 0) + 1;
  }
  return found;
}"""


def pixels(page: Any) -> dict[str, int]:
    """How many pixels of the picture have each colour of the palette, and how many colours there are."""
    found: dict[str, int] = page.locator(".wb-canvas").first.evaluate(HISTOGRAM)
    named = {name: found.get(",".join(map(str, colour)), 0) for name, colour in PALETTE.items()}
    return named | {"colours": len(found)}


def status(page: Any) -> str:
    page.wait_for_timeout(300)  # the camera comes to rest
    text: str = page.locator(".wb-graph .wb-status").inner_text()
    return text


def press(page: Any, *keys: str) -> str:
    page.locator(".wb-canvas").focus()
    for key in keys:
        page.keyboard.press(key)
    return status(page)


def test_the_view(lab: Lab, theme: str) -> None:
    page = lab.run("graph", CELL.format(make="decoder", call="decoder(6, odd=0)"), "view.node = view.node")
    page.locator(".wb-graph").wait_for(timeout=30_000)
    page.wait_for_timeout(500)
    keep(page, f"graph-{theme}-0-first")
    seen = pixels(page)
    assert seen["removed"] > 300 and seen["added"] > 300 and seen["colours"] > 20, seen
    assert violations(page, ".wb-graph") == []
    lab.check()


def test_keys_go_through_the_differences(lab: Lab, theme: str) -> None:
    page = lab.page
    assert press(page, "n").startswith("Difference 1 of 7: ~ RMSNormalization, changed")
    assert "epsilon" in page.locator(".wb-details").inner_text()
    assert pixels(page)["changed"] > 300
    keep(page, f"graph-{theme}-1-changed")
    assert press(page, "n").startswith("Difference 2 of 7: + GroupQueryAttention, added")
    details = page.locator(".wb-details")
    assert "fuse/gqa fuse/pack_qkv made these from 6 nodes" in details.inner_text()
    keep(page, f"graph-{theme}-2-story")
    details.get_by_role("button", name="− Attention").click()
    assert status(page).startswith("− Attention, removed")
    assert press(page, "p").startswith("Difference 1 of 7")
    lab.check()


def test_arrows_walk_along_edges(lab: Lab) -> None:
    page = lab.page
    press(page, "n")
    assert "MatMul" in press(page, "ArrowDown") and "o_proj" in status(page)
    assert "GroupQueryAttention" in press(page, "ArrowUp") or "Attention" in status(page)
    press(page, "n")
    beside = press(page, "ArrowLeft")
    assert beside and "GroupQueryAttention" not in beside


def test_fold_and_unfold(lab: Lab) -> None:
    page = lab.page
    press(page, "Escape", "n")
    assert press(page, "Backspace").startswith("Folded ")
    folded = status(page)
    assert press(page, "Enter") == folded.replace("Folded", "Unfolded")
    page.get_by_role("button", name="Unfold everything").click()
    assert status(page) == f"{len(decoder(6).entries)} boxes"
    page.get_by_role("button", name="Fold as at first").click()
    assert int(status(page).split()[0]) < 60


def test_a_click_opens_a_box_and_a_drag_moves(lab: Lab) -> None:
    page = lab.page
    page.get_by_role("button", name="Fold as at first").click()
    press(page, "Escape", "0")
    canvas = page.locator(".wb-canvas")
    spots = canvas.bounding_box()
    opened = ""
    for x in range(20, int(spots["width"]) - 150, 36):  # where the hand shows, a box or a frame's name is
        for y in range(10, int(spots["height"]) - 10, 12):
            canvas.hover(position={"x": x, "y": y})
            if page.locator(".wb-tip:visible").count() and "layers 2-5 like 1" in page.locator(".wb-tip").inner_text():
                canvas.click(position={"x": x, "y": y})
                opened = status(page)
                break
        if opened:
            break
    assert opened.startswith("Unfolded layers 2-5 like 1, 4 layers"), opened
    before = pixels(page)
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 90, steps=4)
    page.mouse.up()
    assert pixels(page) != before
    lab.check()


def test_search_filters_and_says_when_nothing_is_found(lab: Lab, theme: str) -> None:
    page = lab.page
    search = page.get_by_role("searchbox")
    press(page, "/")
    page.keyboard.type("rotaryembedding")
    assert status(page) == "12 nodes match"
    page.keyboard.press("Enter")
    assert status(page).startswith("1 of 12: − RotaryEmbedding")
    keep(page, f"graph-{theme}-3-search")
    search.fill("no such node")
    assert status(page).startswith("No node matches")
    assert page.get_by_text("nothing found").is_visible()
    keep(page, f"graph-{theme}-4-nothing")
    search.fill("")
    page.get_by_label("Filter by rule").select_option("fuse/gqa")
    assert status(page) == "48 nodes match"
    page.get_by_label("Filter by rule").select_option("")
    page.get_by_role("button", name="Show only what is added").click()
    assert status(page) == "12 nodes match"
    page.get_by_role("button", name="Show only what is added").click()
    lab.check()


def test_two_panes(lab: Lab, theme: str) -> None:
    page = lab.page
    page.get_by_role("button", name="Fold as at first").click()
    page.get_by_role("button", name="Both graphs side by side").click()
    while "GroupQueryAttention" not in press(page, "n"):
        pass
    page.wait_for_timeout(400)
    keep(page, f"graph-{theme}-5-panes")
    halves = page.locator(".wb-canvas").evaluate(
        "(c) => [0, 1].map((i) => { const w = c.width >> 1;"
        " const d = c.getContext('2d').getImageData(i * w, 0, w, c.height).data; const n = [0, 0];"
        " for (let k = 0; k < d.length; k += 4) {"
        "  if (d[k] === 0xd5 && d[k + 1] === 0x5e && !d[k + 2]) n[0]++;"
        "  if (!d[k] && d[k + 1] === 0x72 && d[k + 2] === 0xb2) n[1]++; } return n; })"
    )
    (left_removed, left_added), (right_removed, right_added) = halves
    assert left_removed > 100 and left_added == 0, halves
    assert right_added > 100 and right_removed == 0, halves
    page.get_by_role("button", name="Both graphs in one picture").click()
    assert violations(page, ".wb-graph") == []
    lab.check()


def test_python_selects_and_hears(lab: Lab, theme: str) -> None:
    """What is set in the kernel is shown, what is clicked is known there."""
    name = next(i.name for i in decoder(6).a if i.op_type == "Attention" and "layers.4" in i.scope)
    page = lab.run("linked", CELL.format(make="decoder", call="decoder(6)"), f"view.node = {name!r}")
    page.locator(".wb-graph").wait_for(timeout=30_000)
    page.wait_for_timeout(800)
    assert "Attention" in page.locator(".wb-details h3").first.inner_text()
    keep(page, f"graph-{theme}-6-linked")
    assert pixels(page)["removed"] > 300
    press(page, "n")
    page.locator(".jp-CodeCell").nth(1).click()
    page.locator(".jp-CodeCell").nth(1).locator(".cm-content").fill("print('heard', view.node, view.scope)")
    page.keyboard.press("Control+Enter")
    page.get_by_text("heard model.layers.0.self_attn/GroupQueryAttention").wait_for(timeout=15_000)
    lab.check()


def test_names_of_a_graph_stay_text(lab: Lab, theme: str) -> None:
    dialogs: list[str] = []

    def answer(dialog: Any) -> None:
        if dialog.type != "beforeunload":  # Lab's own, about the notebook before
            dialogs.append(dialog.message)
        dialog.accept()

    lab.page.on("dialog", answer)
    page = lab.run("nasty", CELL.format(make="nasty", call="nasty()"))
    page.locator(".wb-graph").wait_for(timeout=30_000)
    press(page, "n")
    page.locator(".wb-graph summary").click()
    keep(page, f"graph-{theme}-7-nasty")
    assert "<script>alert('x')</script>" in page.locator(".wb-details").inner_text()
    assert page.locator(".wb-graph script").count() == 0
    assert page.locator(".wb-graph table tbody tr").count() == 1
    assert max(map(len, page.locator(".wb-details").inner_text().splitlines())) < 500
    assert violations(page, ".wb-graph") == [] and dialogs == []
    lab.check()


def test_nothing_to_show_is_said(lab: Lab, theme: str) -> None:
    page = lab.run("empty", CELL.format(make="empty", call="empty()"))
    page.locator(".wb-graph").wait_for(timeout=30_000)
    assert status(page) == "Neither graph has a node."
    assert press(page, "n") == "There is no difference."
    keep(page, f"graph-{theme}-8-empty")
    assert page.get_by_text("No differences").is_visible()
    lab.check()


def test_a_view_that_was_hidden_paints_when_it_is_shown(lab: Lab) -> None:
    cell = CELL.format(make="decoder", call="decoder(2)").replace("\nview\n", "\n")
    page = lab.run("hidden", cell + "import ipywidgets\nipywidgets.Tab([ipywidgets.Label('first'), view])\n")
    page.get_by_role("tab").nth(1).wait_for(timeout=30_000)
    page.locator(".widget-tab .lm-TabBar-tab").nth(1).click()
    page.locator(".wb-canvas").wait_for(timeout=30_000)
    page.wait_for_timeout(500)
    assert pixels(page)["removed"] > 300
    lab.check()


def test_a_theme_switch_is_followed(lab: Lab) -> None:
    page = lab.page
    corner = "(c) => [...c.getContext('2d').getImageData(3, 3, 1, 1).data].slice(0, 3).reduce((a, b) => a + b)"
    before = page.locator(".wb-canvas").evaluate(corner)
    dark = before < 384
    page.evaluate(
        "(dark) => { document.body.style.setProperty('--jp-layout-color1', dark ? '#fff' : '#111');"
        " document.body.dataset.jpThemeLight = dark; }", dark,
    )  # fmt: skip
    page.wait_for_timeout(600)
    assert (page.locator(".wb-canvas").evaluate(corner) < 384) is not dark


# --- without JupyterLab -----------------------------------------------------------------------------------
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_alone(browser: Any, tmp_path: Path, scheme: str) -> None:
    from workbench.widgets.graph_diff import GraphDiffView
    from workbench.widgets.report import Report

    path = Report("Two", GraphDiffView(decoder(6, odd=0)), ("Nasty", GraphDiffView(nasty()))).save_html(
        tmp_path / "p.html"
    )
    page = browser.new_context(viewport={"width": 1300, "height": 900}, color_scheme=scheme, offline=True).new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda m: said.append(m.text))
    page.on("pageerror", lambda e: said.append(str(e)))
    page.on("request", lambda r: asked.append(r.url))
    page.goto(path.as_uri())
    page.locator(".wb-graph").nth(1).wait_for()
    page.wait_for_timeout(500)
    keep(page, f"graph-page-{scheme}")
    assert pixels(page)["added"] > 300
    page.locator(".wb-canvas").first.focus()
    page.keyboard.press("n")
    assert page.locator(".wb-graph .wb-status").first.inner_text().startswith("Difference 1 of 7")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == [] and said == []


def test_the_twins_agree_in_chromium(browser: Any) -> None:
    """The same files that Python's own test reads."""
    page = browser.new_page()
    files = {name: (STATIC / f"{name}.js").read_text() for name in ("fold", "rows", "place", "layout", "pack")}
    page.route("http://twins.test/*", lambda route: _serve(route, files))
    page.goto("http://twins.test/")
    for name in goldens.cases():
        golden = json.loads((goldens.FOLDER / f"{name}.json").read_text())
        found = page.evaluate(
            """async ({ columns, expanded }) => {
              const { sceneOf } = await import("/fold.js");
              const { layout } = await import("/layout.js");
              for (const [name, numbers] of Object.entries(columns)) columns[name] = Int32Array.from(numbers);
              const made = layout(sceneOf(columns), new Set(expanded));
              const seen = [...made.x.keys()].filter((i) => made.w[i] >= 0);
              const boxes = seen.map((i) => [i, made.x[i], made.y[i], made.w[i], made.h[i]]);
              return { boxes, pieces: [...made.pieces], far: made.far.map(Number), edges: made.folded.edges };
            }""",
            {"columns": golden["columns"], "expanded": golden["expanded"]},
        )
        expected = golden["places"] | {"pieces": [n for piece in golden["places"]["pieces"] for n in piece]}
        assert found == expected, name


def _serve(route: Any, files: dict[str, str]) -> None:
    name = route.request.url.rsplit("/", 1)[1].removesuffix(".js")
    if name in files:
        route.fulfill(body=files[name], content_type="text/javascript")
    else:
        route.fulfill(body="<!DOCTYPE html><title>twins</title>", content_type="text/html")
