"""Python's layout and JavaScript's agree on every pixel, and with what is written down."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.viz.graph import goldens
from workbench.widgets.esm import STATIC

NAMES = sorted(goldens.cases())

SCRIPT = """
import fs from "node:fs";
const { sceneOf } = await import(process.argv[2] + "/fold.js");
const { layout, FIELDS } = await import(process.argv[2] + "/layout.js");
const found = {};
for (const file of process.argv.slice(3)) {
  const { columns, expanded } = JSON.parse(fs.readFileSync(file));
  for (const [name, numbers] of Object.entries(columns)) columns[name] = Int32Array.from(numbers);
  const made = layout(sceneOf(columns), new Set(expanded));
  const pieces = [];
  for (let i = 0; i < made.pieces.length; i += FIELDS) pieces.push([...made.pieces.subarray(i, i + FIELDS)]);
  const seen = [...made.x.keys()].filter((i) => made.w[i] >= 0);
  const boxes = seen.map((i) => [i, made.x[i], made.y[i], made.w[i], made.h[i]]);
  found[file] = { boxes, pieces, edges: made.folded.edges, far: made.far.map(Number) };
}
console.log(JSON.stringify(found));
"""


@pytest.mark.parametrize("name", NAMES)
def test_as_written_down(name: str) -> None:
    written = json.loads((goldens.FOLDER / f"{name}.json").read_text())
    assert goldens.golden(name) == written


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on the path")
def test_the_browsers_twin_agrees(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    folder.mkdir()
    for name in ("fold", "rows", "place", "layout"):
        shutil.copy(STATIC / f"{name}.js", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    script = tmp_path / "twin.mjs"
    script.write_text(SCRIPT)
    files = [goldens.FOLDER / f"{name}.json" for name in NAMES]
    command = ["node", str(script), str(folder), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for file in files:
        expected = json.loads(file.read_text())["places"]
        for part in expected:
            assert found[str(file)][part] == expected[part], f"{file.stem}: {part}"
