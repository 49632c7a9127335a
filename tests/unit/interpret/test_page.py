"""The page about running a workflow: its code runs, and its table has every code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.interpret.documents import binding, emit, invoke, output, request, workflow
from tests.unit.interpret.violations import decoder
from tests.unit.metadata.fixtures import REPO
from workbench.interpret import CODES
from workbench.metadata import to_yaml

PAGE = (REPO / "docs" / "running-a-workflow.md").read_text(encoding="utf-8").replace("cache.0.key", "kv")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "package").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "package"


def test_a_run_and_its_steps(folder: Path) -> None:
    (folder / "inference_metadata.yaml").write_text(to_yaml(decoder()(folder)), encoding="utf-8")
    names: dict[str, Any] = {}
    for block in BLOCKS[:2]:
        exec(block, names)
    assert names["run"].run.ok and len(names["run"].run.tokens[0]) == 8


def test_a_component_as_a_function(folder: Path) -> None:
    document = workflow(
        [invoke("r", {"bytes": "rows"}, {"pixels": "made"}), emit("made", "last")],
        inputs={"rows": request("uint8[n]", "media")}, outputs={"last": output("uint8[n]")},
        components={"r": binding({"bytes": "uint8[n]"}, {"pixels": "uint8[n]"}, "com.example.resize")},
    )  # fmt: skip
    (folder / "inference_metadata.yaml").write_text(to_yaml(document), encoding="utf-8")
    from workbench.interpret import interpret

    seen: list[Any] = []
    exec(BLOCKS[2], {
        "inputs": {"media": [1, 2]}, "resize": lambda x: seen.append(x.tolist()) or x, "interpret": interpret,
    })  # fmt: skip
    assert seen == [[1, 2]]


def test_every_code_is_in_the_table() -> None:
    assert dict(re.findall(r"^\| `(run\.[\w-]+)` \| (.*) \|$", PAGE, re.M)) == CODES
