"""What every test shares: no talk to a hub, and skips that say why.

Set ``WORKBENCH_TESTS_WITHOUT_TORCH=1`` to hide an installed torch, as if it were absent.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

# Before anything imports huggingface_hub or tokenizers; the notebooks' kernels inherit it.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

if os.environ.get("WORKBENCH_TESTS_WITHOUT_TORCH") == "1":
    sys.modules["torch"] = None  # makes `import torch` raise ImportError


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def missing_for(marker: str) -> str | None:
    """Why a test with this marker cannot run here, or None when it can."""
    if marker == "torch" and not _installed("torch"):
        return "torch is not installed: pip install -e '.[torch]'"
    if marker == "browser":
        if not _installed("playwright"):
            return "playwright is not installed: pip install -e '.[browser]'"
        if shutil.which("chromium") is None:
            return "Chromium is not on the path"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = {marker: missing_for(marker) for marker in ("torch", "browser")}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def repo() -> Path:
    """The repository's root folder."""
    return Path(__file__).resolve().parent.parent
