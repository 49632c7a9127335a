"""Run the notebooks in place and leave them as they are committed: with outputs, without widget state.

usage: python notebooks/execute.py [NOTEBOOK.ipynb ...]      (all of this folder when none is named)

Text, HTML and PNG outputs stay, so that a reader without a kernel sees the results; widget views and their state go,
because a page that holds them is blank offline. Cells that fail stop the run and leave the file as it was.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent
UNCOMPARED = "NBVAL_IGNORE_OUTPUT"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def execute(path: Path) -> None:
    """Run one notebook and write it back in one step."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        notebook, timeout=600, store_widget_state=False, coalesce_streams=True, resources=resources
    ).execute()
    _tidy(notebook)
    temporary = path.with_name(f".{path.name}.new")
    nbformat.write(notebook, temporary)
    os.replace(temporary, path)


def _tidy(notebook: Any) -> None:
    """Drop what differs from run to run or from machine to machine."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if UNCOMPARED in cell.source and "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(FOLDER.glob("*.ipynb")):
        execute(Path(name).resolve())
        print(f"{name} is run")
