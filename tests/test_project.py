"""The project's own papers agree with each other and with the code."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests import architecture as arch

REPO = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PAGES = sorted([REPO / "README.md", *(REPO / "docs").rglob("*.md")])
MAX_BYTES = 1_000_000

# Hosts of package registries, folders of one machine, and talk of how a change came about.
# Each is written so that this file does not hold what it looks for.
UNWANTED = {
    "the host of a package registry": r"\b(?:pypi|pythonhosted|npmjs|anaconda|debian)[.](?:org|com|net)\b",
    "a folder of one machine": r"(?<![\w.$)}<\]-])/(?:tmp|root|work|home|Users)/[\w.-]+",
    "talk of how it was made": r"\bsub-?agents?\b|\bhelper\s+session|\bsteering\s+repo|[.]library\b",
}


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the repository: what git tracks or would add."""
    command = ["git", "-C", str(REPO), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    paths = (REPO / name for name in done.stdout.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def run(*command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **(env or {})}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=REPO, env=environment)


# --- dependencies ---------------------------------------------------------------------------------------
def _split(requirement: str) -> tuple[str, str]:
    """Name (as registries compare it) and bounds of a requirement."""
    match = re.match(r"([A-Za-z0-9._-]+)(.*)", requirement)
    assert match, requirement
    return re.sub(r"[-_.]+", "-", match[1]).lower(), match[2].replace(" ", "")


def test_environment_yml_repeats_the_dependencies() -> None:
    environment = yaml.safe_load((REPO / "environment.yml").read_text(encoding="utf-8"))
    entries = environment["dependencies"]
    conda = [entry for entry in entries if isinstance(entry, str)]
    (from_pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    assert environment["name"] == PROJECT["name"]
    assert "-e ." in from_pip
    tools = {"python", "pip", "make"}
    stated = dict(_split(entry) for entry in [*conda, *from_pip] if entry != "-e .")
    assert stated["python"] == PROJECT["requires-python"]
    assert {name: b for name, b in stated.items() if name not in tools} == dict(
        _split(requirement) for requirement in PROJECT["dependencies"]
    )


def test_every_dependency_has_a_lower_bound_and_a_cap() -> None:
    for requirement in PROJECT["dependencies"]:
        assert re.fullmatch(r">=[\d.]+,<[\d.]+", _split(requirement)[1]), requirement


def test_every_imported_library_is_declared() -> None:
    # Parts of ipywidgets, which cannot exist without them.
    comes_with = {"traitlets": "ipywidgets", "IPython": "ipywidgets"}
    declared = {_split(r)[0] for r in PROJECT["dependencies"]}
    for extra in ("torch", "genai"):
        declared |= {_split(r)[0] for r in PROJECT["optional-dependencies"][extra]}
    distributions = importlib.metadata.packages_distributions()
    undeclared = set()
    for module in arch.read_package(REPO / "workbench"):
        for found in arch.imports(module):
            top = found.target.split(".")[0]
            if top in sys.stdlib_module_names or top == "workbench":
                continue
            names = [comes_with.get(top, top), *distributions.get(top, [])]
            if not declared & {_split(name)[0] for name in names}:
                undeclared.add(f"{module.name}:{found.line} imports {top}")
    assert sorted(undeclared) == []


# --- packaging ------------------------------------------------------------------------------------------
def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(tmp_path: Path) -> None:
    done = run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir",
        str(tmp_path), ".",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        assert b"workbench = workbench.cli:main" in archive.read(metadata[0])
    expected = {path.relative_to(REPO).as_posix() for path in tracked() if "workbench" in path.parts}
    assert inside == {name for name in expected if name.startswith("workbench/")}
    assert "workbench/py.typed" in inside


def test_the_version_is_stated_once() -> None:
    import workbench

    assert PROJECT["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "workbench/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", workbench.__version__)


# --- what the pages promise -----------------------------------------------------------------------------
def _fences(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def _commands(page: Path, program: str) -> list[list[str]]:
    """Words of each shell line in a page that calls this program."""
    lines = "\n".join(_fences(page, "sh")).splitlines()
    return [line.split("#")[0].split()[1:] for line in lines if line.startswith(f"{program} ")]


def test_every_make_target_that_is_written_about_exists() -> None:
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.M))
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.M)
    assert targets == set(phony.split())
    speaking = [*PAGES, REPO / "CHANGELOG.md", REPO / ".ci" / "run"]
    texts = [page.read_text(encoding="utf-8") for page in speaking]
    written = {word for text in texts for word in re.findall(r"(?:`|^)make ([a-z][a-z-]*)", text, re.M)}
    assert {"lab", "demo", "test"} <= written
    assert written - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_command_lines_in_pages_use_words_that_exist(page: Path) -> None:
    for words in _commands(page, "workbench"):
        done = run(sys.executable, "-m", "workbench", words[0], "--help")
        assert done.returncode == 0, f"workbench {words[0]}: {done.stderr}"
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", done.stdout), f"workbench {words[0]} {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_pages_parses_and_imports_public_names(page: Path) -> None:
    import workbench

    for block in _fences(page, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "workbench":
                assert {alias.name for alias in node.names} <= set(workbench.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_an_old_python_is_named(tmp_path: Path) -> None:
    done = run("make", "lab", "PYTHON=false", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert "EP Workbench needs Python 3.11 or newer; none of these is: false." in done.stderr
    assert "make lab PYTHON=" in done.stderr
    assert not (tmp_path / "venv").exists()


# --- the repository -------------------------------------------------------------------------------------
def test_no_file_is_large() -> None:
    sizes = {path.relative_to(REPO).as_posix(): path.stat().st_size for path in tracked()}
    assert {name: size for name, size in sizes.items() if size > MAX_BYTES} == {}


def _unwanted_in(text: str) -> list[str]:
    return [what for what, pattern in UNWANTED.items() if re.search(pattern, text, re.I)]


def test_no_file_speaks_of_the_machine_it_was_made_on() -> None:
    found = {}
    for path in tracked():
        what = _unwanted_in(path.read_bytes().decode("utf-8", errors="ignore"))
        if what:
            found[path.relative_to(REPO).as_posix()] = what
    assert found == {}


def test_unwanted_words_are_seen() -> None:
    dot, slash = ".", "/"
    assert _unwanted_in(f"https://py{'pi'}{dot}org/simple") == ["the host of a package registry"]
    assert _unwanted_in(f'path = "{slash}tmp{slash}x1"') == ["a folder of one machine"]
    assert _unwanted_in(f"see {slash}home{slash}me") == ["a folder of one machine"]
    assert _unwanted_in("asked a sub" + "agent") == ["talk of how it was made"]
    assert _unwanted_in("an InferenceSession, out/report.html, a/root/b, a work/home balance") == []


def test_tests_are_collected_without_torch() -> None:
    """`make test` promises to need no torch, so no test module may import it at its top."""
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "tests")
    done = run(*command, env={"WORKBENCH_TESTS_WITHOUT_TORCH": "1"})
    assert done.returncode == 0, done.stdout[-3000:]
