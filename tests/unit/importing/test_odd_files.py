"""Folders with files that hardly are what they are called: a document without what is lost, or a sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.unit.export.folders import change_graph, exported
from tests.unit.importing.test_import import imported
from workbench.errors import ModelFileError, UnsupportedError
from workbench.importing import import_genai_config

HALF = "\ud800"
TOKENIZERS: dict[str, tuple[Any, str, str]] = {
    "texts that are lists": (
        {"model": {"type": "Unigram", "vocab": [[[1], 2], [{}, 2], ["end", 0]]}}, "unigram", "end",
    ),
    "added tokens that are a number": ({"model": {"type": "BPE"}, "added_tokens": 5}, "bpe", "<eos>"),
    "added tokens that are a flag": ({"model": {"type": "BPE"}, "added_tokens": True}, "bpe", "<eos>"),
    "half a character": (
        {"model": {"type": HALF}, "added_tokens": [{"id": 2, "content": f"a{HALF}"}]}, "?", "a?",
    ),
    "ids that are lists": (
        {"model": {"type": [1]}, "added_tokens": [{"id": [2], "content": "x"}, None]}, "[1]", "<eos>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOKENIZERS)
def test_a_tokenizer_of_another_kind(case: str, tmp_path: Path) -> None:
    words, algorithm, text = TOKENIZERS[case]
    exported(tmp_path / "x")
    (tmp_path / "x" / "tokenizer.json").write_text(json.dumps(words))
    found = imported(tmp_path / "x")
    found.save()
    said = found.metadata.data["package"]["tokenizer"]
    assert said["algorithm"] == algorithm
    assert said["special_tokens"]["eos"] == {"id": 2, "content": text}


def test_a_tokenizer_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    """A named pipe without a writer."""
    exported(tmp_path / "x")
    (tmp_path / "x" / "tokenizer.json").unlink()
    os.mkfifo(tmp_path / "x" / "tokenizer.json")
    found = imported(tmp_path / "x")
    assert "package" not in found.metadata.data
    assert "model.eos_token_id" in {loss.path for loss in found.losses}


@pytest.mark.parametrize("name", ["x" * 5000, "y/" * 3000])
def test_names_that_no_folder_has(name: str) -> None:
    with pytest.raises(ModelFileError, match="no such folder"):
        import_genai_config(name)


@pytest.mark.parametrize("port", ["input_ids", "attention_mask", "logits"])
def test_ports_without_a_shape(port: str, tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        for value in (*model.graph.input, *model.graph.output):
            if value.name == port:
                value.type.tensor_type.ClearField("shape")

    exported(tmp_path / "x")
    change_graph(tmp_path / "x", change)
    with pytest.raises(UnsupportedError, match=f"The graph's {port} is .* of no shape, and a decode loop works with "):
        import_genai_config(tmp_path / "x", allow_lossy=True)
