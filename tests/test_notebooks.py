"""Committed notebooks have been run, stay readable without a kernel, and are really compared.

`make test` executes each notebook with nbval (strict). Here a copy with one changed count has to fail that
comparison, in the changed cell and in no other: otherwise a green notebook would say nothing.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

REPO = Path(__file__).resolve().parent.parent
FOLDER = REPO / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SANITIZE = FOLDER / "sanitize.cfg"
# nbval leaves the outputs of such a cell uncompared, so nothing in it can be caught.
UNCOMPARED = re.compile(r"NBVAL_IGNORE_OUTPUT|NBVAL_SKIP")
# In teaching order.
LESSONS = [
    "00_tour.ipynb", "01_one_model_side_by_side.ipynb", "02_why_a_fusion_did_not_fire.ipynb",
    "03_write_a_rewrite_rule.ipynb", "06_export_step_by_step.ipynb",
    "07_what_the_runtime_must_know.ipynb", "08_compare_two_builders.ipynb",
]  # fmt: skip
NEEDS = {
    "06_export_step_by_step.ipynb": ("onnxruntime_genai",),
    "07_what_the_runtime_must_know.ipynb": ("onnx_genai",),
    "08_compare_two_builders.ipynb": ("mobius", "onnxruntime_genai", "torch"),
}
# Of the code cells, at least so many have an output that nbval compares.
COMPARED = 0.6
ABSOLUTE = re.compile(r"(?<![\w.:/<-])/(?:tmp|root|home|Users|work|opt|usr|var)/[\w.-]+|\b[A-Z]:\\[\w\\]")
COUNT = re.compile(r"(?<![\w.-])\d{1,6}(?![\w.-]|\.\d)")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def texts(output: Any) -> Iterator[str]:
    """All text of an output that a reader can see."""
    if output.output_type == "stream":
        yield output.text
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/") or kind == "image/svg+xml":
            yield value if isinstance(value, str) else "".join(value)


def problems(notebook: Any) -> list[str]:
    """What keeps a notebook from being committed, in sentences."""
    found = []
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        found.append(f"not run once from top to bottom: execution counts are {counts}")
    if "widgets" in notebook.metadata:
        found.append("holds saved widget state, which makes offline HTML blank")
    for number, cell in enumerate(code_cells(notebook), 1):
        kinds = [output.output_type for output in cell.outputs]
        if "error" in kinds:
            found.append(f"cell {number} holds an error")
        if any(output.get("name") == "stderr" for output in cell.outputs):
            found.append(f"cell {number} wrote to stderr, which differs from machine to machine")
        for text in (cell.source, *(text for output in cell.outputs for text in texts(output))):
            for path in ABSOLUTE.findall(text):
                found.append(f"cell {number} holds the absolute path {path}")
    return found


def tamper(notebook: Any) -> int:
    """Changes the first count in a compared text/plain output; returns the cell's index among code cells.

    Later cells are dropped from the copy: they cannot change what happens in this one.
    """
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or UNCOMPARED.search(cell.source):
            continue
        for output in cell.outputs:
            plain = output.get("data", {}).get("text/plain", "")
            changed = COUNT.sub(lambda match: str(int(match[0]) + 1), plain, count=1)
            if changed != plain:
                output.data["text/plain"] = changed
                notebook.cells = notebook.cells[: index + 1]
                return len([c for c in notebook.cells if c.cell_type == "code"]) - 1
    raise AssertionError("no compared text/plain output holds a count: nbval would compare no number at all")


def nbval(path: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--nbval",
        "--nbval-current-env", "--nbval-sanitize-with", str(SANITIZE), "--rootdir", str(path.parent),
        "-c", os.devnull, str(path),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, cwd=path.parent)


def failed_cells(report: str) -> list[int]:
    return [int(number) for number in re.findall(r"^FAILED .*::Cell (\d+)", report, re.M)]


def compared(notebook: Any) -> float:
    """Share of the code cells with an output that nbval compares: text, and pictures of our own writing."""
    cells = code_cells(notebook)
    with_text = [
        cell for cell in cells
        if not UNCOMPARED.search(cell.source) and any(text.strip() for o in cell.outputs for text in texts(o))
    ]  # fmt: skip
    return len(with_text) / len(cells)


def test_the_notebooks_are_there_in_teaching_order() -> None:
    assert [path.name for path in NOTEBOOKS] == LESSONS


@each_notebook
def test_most_cells_are_really_compared(path: Path) -> None:
    assert compared(read(path)) >= COMPARED


@each_notebook
def test_notebook_is_fit_to_commit(path: Path) -> None:
    assert problems(read(path)) == []


@each_notebook
@pytest.mark.slow
@pytest.mark.weights
def test_a_tampered_count_fails(path: Path, tmp_path: Path) -> None:
    if absent := [name for name in NEEDS.get(path.name, ()) if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{', '.join(absent)} not installed: pip install -e '.[genai,peers]'")
    notebook = read(path)
    cell = tamper(notebook)
    copy = tmp_path / path.name
    nbformat.write(notebook, copy)
    done = nbval(copy)
    assert done.returncode == 1, done.stdout[-3000:]
    assert failed_cells(done.stdout) == [cell], done.stdout[-3000:]


# --- the checks themselves, on a notebook of three cells --------------------------------------------------
def small_notebook() -> Any:
    v4 = nbformat.v4
    result = v4.new_output("execute_result", {"text/plain": "{'Add': 30}"}, execution_count=2)
    return v4.new_notebook(
        cells=[
            v4.new_markdown_cell("Counts"),
            v4.new_code_cell("ops = {'Add': 30}", execution_count=1),
            v4.new_code_cell("ops", execution_count=2, outputs=[result]),
            v4.new_code_cell("len(ops)", execution_count=3, outputs=[
                v4.new_output("execute_result", {"text/plain": "1"}, execution_count=3)
            ]),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )  # fmt: skip


def test_comparison_passes_untouched_and_fails_tampered(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.ipynb", tmp_path / "wrong.ipynb"
    nbformat.write(small_notebook(), right)
    changed = small_notebook()
    assert tamper(changed) == 1
    assert changed.cells[2].outputs[0].data["text/plain"] == "{'Add': 31}"
    nbformat.write(changed, wrong)
    done = nbval(right)
    assert (done.returncode, failed_cells(done.stdout)) == (0, []), done.stdout
    done = nbval(wrong)
    assert (done.returncode, failed_cells(done.stdout)) == (1, [1]), done.stdout


def test_cells_without_compared_output_are_seen() -> None:
    assert compared(small_notebook()) == pytest.approx(2 / 3)
    quiet = small_notebook()
    quiet.cells[2].source = "# NBVAL_IGNORE_OUTPUT\nops"
    assert compared(quiet) == pytest.approx(1 / 3)


def test_problems_are_seen() -> None:
    assert problems(small_notebook()) == []
    never_run, with_state, with_error, with_path, noisy = (small_notebook() for _ in range(5))
    never_run.cells[1].execution_count = None
    with_state.metadata["widgets"] = {}
    with_error.cells[1].outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]
    with_path.cells[1].source = f"open('/{'home'}/me/x')"
    noisy.cells[1].outputs = [nbformat.v4.new_output("stream", name="stderr", text="warning")]
    assert [len(problems(n)) for n in (never_run, with_state, with_error, with_path, noisy)] == [1] * 5


def test_a_notebook_without_compared_counts_cannot_be_tampered() -> None:
    notebook = small_notebook()
    for cell in notebook.cells[2:]:
        cell.source = "# NBVAL_IGNORE_OUTPUT\n" + cell.source
    with pytest.raises(AssertionError, match="no compared text/plain output holds a count"):
        tamper(notebook)
