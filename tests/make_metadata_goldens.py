"""Write the golden documents in ``tests/golden/metadata``: one per kind of package, in both dialects.

Run ``python -m tests.make_metadata_goldens`` after a change of what is written, and read the difference.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from tests.metadata_packages import FOREIGN, adapter_folder, foreign, own
from workbench.describe import InferenceMetadata, describe
from workbench.metadata import to_yaml

FOLDER = Path(__file__).parent / "golden" / "metadata"
DIALECTS = ("pr828", "v1")
OWN = {
    "decoder": ("llama", {}),
    "windows": ("gemma3_text", {"num_hidden_layers": 3, "sliding_window": 8}),
    "embedding": ("bert", {"pooling": "mean", "normalize": True}),
    "lora": ("llama", {}),
}
KINDS = (*OWN, *FOREIGN)


@functools.cache
def documents() -> dict[str, InferenceMetadata]:
    """What ``describe`` makes of a small package of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made = {name: describe(foreign(name, root / name)) for name in FOREIGN}
        made |= {name: _own(name, root) for name in OWN}
    return {name: made[name] for name in KINDS}


def _own(name: str, root: Path) -> InferenceMetadata:
    family, facts = OWN[name]
    package = own(family)
    if name == "lora":
        folders = {"blue": adapter_folder(root / "blue", package, ["q_proj", "v_proj"]),
                   "red": adapter_folder(root / "red", package, ["down_proj"], rank=2)}  # fmt: skip
        return describe(package, facts={"adapters": folders})
    return describe(package, facts=facts)


def texts() -> dict[str, str]:
    """The text of every golden file by its name."""
    return {
        f"{name}.{dialect}.yaml": to_yaml(made.to(dialect).data)
        for name, made in documents().items()
        for dialect in DIALECTS
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.yaml"):
        old.unlink()
    for file, text in texts().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
