"""The pictures of docs/seeing-a-workflow.md: ``python -m tests.make_workflow_pictures`` draws them anew."""

from __future__ import annotations

from pathlib import Path

from tests.unit.metadata.layers import decoder
from tests.unit.metadata.runs import broken
from workbench.metadata import workflow_map

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def pictures() -> dict[str, str]:
    """File names and what is in them."""
    made = {"workflow-decoder.svg": decoder(100), "workflow-findings.svg": broken()}
    return {name: workflow_map(document).to_svg() + "\n" for name, document in made.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
