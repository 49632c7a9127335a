"""The workflow view of a 100-layer decoder in Chromium: from its document to the first paint, folded and unfolded.

``python -m benchmarks.workflow_view``. The kernel's part is reading, checking and mapping the document; the browser's
is taken in the page, with a layout forced at its end so that nothing is left to be done.
"""

from __future__ import annotations

import base64
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.unit.metadata.layers import decoder
from workbench.widgets.report import SHIM
from workbench.widgets.workflow import WorkflowView

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
MOST_SECONDS = 1.0
HARNESS = """
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
async function timed(action) {
  await frame();
  const start = performance.now();
  action();
  document.getElementById("view").getBoundingClientRect();
  await frame();
  return performance.now() - start;
}
window.measure = {
  first(state) {
    const bytes = Uint8Array.from(atob(state.blob), (c) => c.charCodeAt(0));
    const model = new Model(Object.assign(state.state, { _blob: new DataView(bytes.buffer) }));
    return timed(() => view.render({ model, el: document.getElementById("view") }));
  },
  click: (selector) => timed(() => document.querySelector(selector).click()),
};
"""


def page_of(view: Any) -> str:
    """A page with the view's own text and what measures it, with nothing rendered yet."""
    script = view._esm.replace("export default", "const view =")
    shim = SHIM.split("function start")[0]
    return (
        f"<!DOCTYPE html><style>{view._css}</style><body><div id=view></div>"
        f"<script type=module>{HARNESS}\n{script}\n{shim}</script></body>"
    )


def measure(page: Any, layers: int, folder: Path) -> dict[str, float]:
    """Seconds of a decoder with so many layers."""
    text = json.dumps(decoder(layers))
    start = time.perf_counter()
    view = WorkflowView(text).view
    kernel = time.perf_counter() - start
    file = folder / f"{layers}.html"
    file.write_text(page_of(view), encoding="utf-8")
    page.goto(file.as_uri())
    page.wait_for_function("window.measure")
    state = {"state": view.state(), "blob": base64.b64encode(view._blob).decode("ascii")}
    paint = page.evaluate("(state) => measure.first(state)", state) / 1000
    found = {"kernel_s": kernel, "paint_s": paint, "elements": page.locator("#view *").count()}
    found["aliases_s"] = page.evaluate("measure.click('.wb-alias summary')") / 1000
    found["step_s"] = page.evaluate("measure.click('[data-index=\"4\"]')") / 1000
    return found


def run() -> dict[str, dict[str, float]]:
    """100 layers, and 400."""
    from playwright.sync_api import sync_playwright

    WorkflowView(decoder(2))  # what is imported and built once is not counted
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        found = {str(layers): measure(page, layers, Path(folder)) for layers in (100, 400)}
        browser.close()
    return found


def main() -> None:
    found = run()
    print(json.dumps(found, indent=2))
    opened = found["100"]["kernel_s"] + found["100"]["paint_s"]
    raise SystemExit(f"100 layers open in {opened:.2f} s > {MOST_SECONDS} s" if opened > MOST_SECONDS else None)


if __name__ == "__main__":
    main()
