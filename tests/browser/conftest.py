"""One JupyterLab per theme for all browser tests, one Chromium per file, one page per file and theme."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.lab import CHROMIUM, Lab, jupyterlab

Servers = Callable[[str], tuple[Path, int]]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory, repo: Path) -> Iterator[Servers]:
    """The folder and port of the JupyterLab of a theme; it is started when it is first asked for."""
    found: dict[str, tuple[Path, int]] = {}
    with contextlib.ExitStack() as stack:

        def server(theme: str) -> tuple[Path, int]:
            if theme not in found:
                home = tmp_path_factory.mktemp(f"lab-{theme}")
                found[theme] = stack.enter_context(jupyterlab(home, repo, dark=theme == "dark"))
            return found[theme]

        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium. Not for the whole session: while its driver lives no other event loop can run here."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path="/usr/bin/chromium", headless=True, args=CHROMIUM)
        yield made
        made.close()


@pytest.fixture(scope="module", params=["light", "dark"])
def lab(request: pytest.FixtureRequest, servers: Servers, browser: Any) -> Iterator[Lab]:
    """A page of JupyterLab; its kernels end with the file."""
    root, port = servers(request.param)
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(30_000)
    made = Lab(context.new_page(), root, port, request.param)
    yield made
    made.end_kernels()
    context.close()


@pytest.fixture
def theme(lab: Lab) -> str:
    return lab.theme
