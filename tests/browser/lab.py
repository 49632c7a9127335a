"""JupyterLab in headless Chromium: started without network, with its own settings, and watched."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

TOKEN = "look"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]  # fmt: skip
CELLS_DONE = (
    "() => { const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];"
    " return prompts.length > 0 && prompts.every(p => /^\\[\\d+\\]:$/.test(p.textContent.trim())) }"
)


class Lab:
    """One server and what was seen of it: console errors, and addresses outside this machine that were asked for."""

    def __init__(self, page: Any, root: Path, port: int, theme: str) -> None:
        self.page, self.root, self.port, self.theme = page, root, port, theme
        self.console: list[str] = []
        self.outside: list[str] = []
        page.on("console", lambda m: self.console.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.console.append(str(e)))
        page.on("request", self._asked)
        page.on("requestfailed", self._failed)

    def _asked(self, request: Any) -> None:
        local = (f"http://127.0.0.1:{self.port}", f"ws://127.0.0.1:{self.port}", "data:", "blob:")
        if not request.url.startswith(local):
            self.outside.append(request.url)

    def _failed(self, request: Any) -> None:
        """A request that the page's own policy stopped never left the browser."""
        if request.failure == "csp" and request.url in self.outside:
            self.outside.remove(request.url)

    def check(self) -> None:
        """No test may leave an error in the console or ask another machine for anything."""
        assert self.console == [], self.console
        assert self.outside == [], self.outside

    def end_kernels(self) -> None:
        """Free what the notebooks of this page hold; JupyterLab's own requests end with the page."""
        headers = {"Authorization": f"token {TOKEN}"}
        url = f"http://127.0.0.1:{self.port}/api/kernels"
        for kernel in self.page.request.get(url, headers=headers).json():
            self.page.request.delete(f"{url}/{kernel['id']}", headers=headers)

    def run(self, name: str, *cells: str) -> Any:
        """Write a notebook, open it, run all cells, and return the page."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.root / f"{name}.ipynb")
        url = f"http://127.0.0.1:{self.port}/lab/tree/{name}.ipynb?token={TOKEN}&reset"
        self.page.goto(url, wait_until="domcontentloaded")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
        idle = "() => document.querySelector('#jp-main-statusbar')?.innerText.includes('| Idle')"
        self.page.wait_for_function(idle, timeout=90_000)
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_text("Run All Cells", exact=True).click()
        self.page.wait_for_function(CELLS_DONE, timeout=90_000)
        errors = self.page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']")
        assert errors.count() == 0, errors.first.inner_text()
        return self.page


def _settings(home: Path, dark: bool) -> None:
    wanted: dict[str, dict[str, Any]] = {
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "notebook-extension/tracker": {"windowingMode": "none"},
    }
    if dark:
        wanted["apputils-extension/themes"] = {"theme": "JupyterLab Dark"}
    for name, value in wanted.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _wait(port: int, server: subprocess.Popen[bytes], log: Path, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start: {log.read_text()[-2000:]}")


@contextlib.contextmanager
def jupyterlab(home: Path, repo: Path, dark: bool) -> Iterator[tuple[Path, int]]:
    """A JupyterLab server over an empty folder: the folder and the port."""
    root, log = home / "notebooks", home / "lab.log"
    root.mkdir(parents=True)
    _settings(home, dark)
    port = _free_port()
    env = os.environ | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "PYTHONPATH": str(repo),
    }
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
               "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", "--ServerApp.password=",
               "--LabApp.news_url=None", f"--ServerApp.root_dir={root}",
               "--LabApp.extension_manager=readonly"]  # fmt: skip
    with log.open("wb") as out:
        server = subprocess.Popen([sys.executable, "-m", "jupyterlab", *options], stdout=out, stderr=out, env=env)
    try:
        _wait(port, server, log)
        yield root, port
    finally:
        server.terminate()
        server.wait(20)


def colours(png: bytes) -> int:
    """How many different colours a picture of the screen has: a blank one has a handful."""
    import io

    import numpy as np
    from matplotlib.image import imread

    image = (imread(io.BytesIO(png))[..., :3] * 255).astype(int)
    return len(np.unique(image.reshape(-1, 3), axis=0))


def background(page: Any, selector: str) -> str:
    """The colour behind the first match, transparent parents skipped."""
    found: str = page.locator(selector).first.evaluate(
        "e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;"
        " if (!/rgba\\(.*, 0\\)|transparent/.test(c)) return c; } return 'none' }"
    )
    return found


def contrast(one: str, two: str) -> float:
    """WCAG contrast of two CSS rgb() colours, 1 to 21."""
    import re

    def luminance(colour: str) -> float:
        parts = [int(float(p)) / 255 for p in re.findall(r"[\d.]+", colour)[:3]]
        red, green, blue = ((p / 12.92) if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)
