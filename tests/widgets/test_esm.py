"""The browser's half of every view: small, self-contained, without any way from a text to a script."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import workbench.widgets
from workbench.widgets import esm
from workbench.widgets.pack import pack
from workbench.widgets.view import View

FILES = sorted(esm.STATIC.glob("*.js"))
SHEETS = sorted(esm.STATIC.glob("*.css"))
MOST_BYTES, MOST_JOINED = 40_000, 70_000  # of a file, and of what a view sends to the browser
NODE = shutil.which("node")
FORBIDDEN = (r"https?:", r"innerHTML", r"outerHTML", r"insertAdjacentHTML", r"document\.write", r"\beval\b",
             r"new Function", r"</script", r"\bfetch\(", r"XMLHttpRequest", r"import\(", r"srcdoc")  # fmt: skip
SVG_NAMESPACE = "http://www.w3.org/2000/svg"  # a name that elements are made with; nothing is fetched from there
TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) (\w+)", re.MULTILINE)


def views() -> list[type[View]]:
    """Every view of the package."""
    for module in pkgutil.iter_modules(workbench.widgets.__path__):
        if module.name != "netron_server":  # the text of another process
            importlib.import_module(f"workbench.widgets.{module.name}")
    todo, found = [View], set()
    while todo:
        for view in todo.pop().__subclasses__():
            todo.append(view)
            if "module" in view.__dict__ and view.__module__.startswith("workbench."):
                found.add(view)
    return sorted(found, key=lambda view: view.__name__)


VIEWS = views()
JOINED = {view.module: esm.esm(view.module) for view in VIEWS}


def forbidden(text: str) -> list[str]:
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE).replace(SVG_NAMESPACE, "")
    return [pattern for pattern in FORBIDDEN if re.search(pattern, code)]


def names_twice(joined: str) -> list[str]:
    names = TOP_LEVEL.findall(joined)
    return sorted({name for name in names if names.count(name) > 1})


def test_views_are_found() -> None:
    assert {"EpTable", "EpMatrix", "OpHistogram"} <= {view.__name__ for view in VIEWS}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_module(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.encode()) <= MOST_BYTES
    assert forbidden(text) == []
    for line in text.splitlines():
        if line.startswith("import "):
            assert re.fullmatch(r'import \{ [\w, ]+ \} from "\./[\w-]+\.js";', line), "imports stand on one line"


@pytest.mark.parametrize("name", JOINED)
def test_a_joined_text(name: str) -> None:
    joined = JOINED[name]
    assert len(joined.encode()) <= MOST_JOINED
    assert names_twice(joined) == []
    assert "import " not in re.sub(r"^\s*//.*$", "", joined, flags=re.MULTILINE), "nothing is left to be fetched"
    assert len(re.findall(r"^export default \{ render", joined, re.MULTILINE)) == 1


@pytest.mark.skipif(NODE is None, reason="node is not on the path")
@pytest.mark.parametrize("name", JOINED)
def test_a_joined_text_is_javascript(name: str, tmp_path: Path) -> None:
    assert syntax_error(JOINED[name], tmp_path) == ""


def syntax_error(text: str, folder: Path) -> str:
    file = folder / "view.mjs"
    file.write_text(text, encoding="utf-8")
    return subprocess.run([NODE or "", "--check", file], capture_output=True, text=True, check=False, timeout=60).stderr


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__)
def test_styles_use_known_variables_only(view: type[View]) -> None:
    sheet = esm.css(*view.styles)
    assert unknown_variables(sheet, JOINED[view.module]) == set()


def unknown_variables(sheet: str, script: str = "") -> set[str]:
    """Variables that neither the sheet nor the script sets, nor JupyterLab (then with a fallback)."""
    own = set(re.findall(r"(--[\w-]+)\s*:", sheet)) | set(re.findall(r'setProperty\("(--[\w-]+)"', script))
    used = set(re.findall(r"var\((--[\w-]+)", sheet))
    with_fallback = set(re.findall(r"var\((--[\w-]+),", sheet))
    return used - own - with_fallback


@pytest.mark.parametrize("file", SHEETS, ids=lambda file: file.name)
def test_a_style_sheet(file: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"https?:|url\(|@import|expression\(", text)
    assert text.count("{") == text.count("}")
    selectors = [s.strip() for s in re.findall(r"(?:^|[}{])\s*([^{}@]+)\{", text)]
    for selector in (part.strip() for group in selectors for part in re.split(r",(?![^(]*\))", group)):
        assert selector.startswith((".wb-", ":is(.wb-")), f"{selector} reaches beyond the views"


# --- the checks, seen to fail -----------------------------------------------------------------------------------------
BAD = (
    "e.innerHTML = x",
    "fetch('a')",
    "const u = 'https://x'",
    "eval(x)",
    "new Function('')",
    "e.insertAdjacentHTML(x)",
)


@pytest.mark.parametrize("text", BAD)
def test_bad_code_is_seen(text: str) -> None:
    assert forbidden(text) and not forbidden(f"// {text}")


def test_bad_names_and_variables_are_seen() -> None:
    assert names_twice("function a() {}\nconst a = 1;\nlet b;") == ["a"]
    assert unknown_variables(".wb-x { --a: 1; color: var(--b); top: var(--a); left: var(--jp-c, 1); }") == {"--b"}


@pytest.mark.skipif(NODE is None, reason="node is not on the path")
def test_bad_syntax_is_seen(tmp_path: Path) -> None:
    assert "SyntaxError" in syntax_error("const a = ;", tmp_path)


# --- the buffer -------------------------------------------------------------------------------------------------------
COLUMNS = {
    "byte": np.array([0, 1, 255], np.uint8),
    "int": np.array([-1, 2**31 - 1], np.int32),
    "empty": np.array([], np.int32),
    "float": np.array([0.5, -1.25, np.inf], np.float32),
    "text": ["", "plain", "ünï€🙂", "<script>alert(1)</script>", "a\0b\n", "x" * 10_000],
    "no_text": [],
}
READ = """
import { readFileSync } from "node:fs";
import { unpack } from "./pack.mjs";
const header = JSON.parse(readFileSync("header.json", "utf8"));
const file = readFileSync("blob.bin");
const shift = Number(process.argv[2]);
const bytes = new Uint8Array(file.length + shift);
bytes.set(file, shift);
const columns = unpack(header, new DataView(bytes.buffer, shift));
const out = {};
for (const [name, column] of Object.entries(columns))
  out[name] = column.all ? column.all() : Array.from(column, (n) => (Number.isFinite(n) ? n : String(n)));
console.log(JSON.stringify(out));
"""


@pytest.mark.skipif(NODE is None, reason="node is not on the path")
@pytest.mark.parametrize("shift", [0, 1, 4])
def test_the_buffer_survives_the_way(tmp_path: Path, shift: int) -> None:
    """A front end may hand the bytes over at any offset."""
    header, blob = pack(COLUMNS)
    (tmp_path / "header.json").write_text(json.dumps(header))
    (tmp_path / "blob.bin").write_bytes(blob)
    (tmp_path / "pack.mjs").write_text((esm.STATIC / "pack.js").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "read.mjs").write_text(READ)
    command = [NODE or "", "read.mjs", str(shift)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected = {name: list(column) if isinstance(column, list) else column.tolist() for name, column in COLUMNS.items()}
    assert found == expected | {"float": [0.5, -1.25, "Infinity"]}


def test_other_numbers_are_refused() -> None:
    with pytest.raises(KeyError):
        pack({"wide": np.zeros(2, np.float64)})
