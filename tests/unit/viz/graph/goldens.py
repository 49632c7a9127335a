"""Layouts written down: Python's twin makes them, Python's test and JavaScript's read them.

``python -m tests.unit.viz.graph.goldens`` writes them anew; look at the pictures before you commit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.viz.graph import diffs
from workbench.viz.graph.fold import unfolded_at_first
from workbench.viz.graph.layout import Layout, layout
from workbench.viz.graph.scene import Scene, scene

FOLDER = Path(__file__).resolve().parents[3] / "golden" / "layout"
NUMBERS = ("kind", "counts", "head", "parent", "first", "width", "status", "source", "target", "side")


def cases() -> dict[str, tuple[Scene, list[int]]]:
    """Scenes and what is unfolded in them: at first, everything, nothing."""
    found: dict[str, tuple[Scene, list[int]]] = {}
    for name, make in diffs.ALL.items():
        drawn = scene(make())
        found[name] = drawn, sorted(unfolded_at_first(drawn))
    drawn = found["decoder"][0]
    found["decoder-unfolded"] = drawn, list(range(drawn.trees))
    found["decoder-folded"] = drawn, [0]
    return found


def columns(drawn: Scene) -> dict[str, list[int]]:
    return {name: getattr(drawn, name).tolist() for name in NUMBERS}


def places(laid: Layout) -> dict[str, Any]:
    """A layout as both twins can say it."""
    ids = sorted(laid.x)
    return {
        "boxes": [[i, laid.x[i], laid.y[i], laid.w[i], laid.h[i]] for i in ids],
        "pieces": laid.pieces,
        "edges": [list(edge) for edge in laid.folded.edges],
        "far": [int(far) for far in laid.far],
    }


def golden(name: str) -> dict[str, Any]:
    drawn, expanded = cases()[name]
    return {"columns": columns(drawn), "expanded": expanded, "places": places(layout(drawn, expanded))}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in cases():
        text = json.dumps(golden(name), separators=(",", ":")).replace('],"', '],\n"')
        (FOLDER / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
