"""Tiny models with a tokenizer, and folders of them as a client wants them."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.cases import CASES, write_model
from workbench.build import build
from workbench.export import ExportReport, export
from workbench.package import Package

_PLACE = tempfile.TemporaryDirectory(prefix="ep-workbench-tests-")
WINDOW = {"sliding_window": 8, "model_type": "mistral"}
TEMPLATE = "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}{% endfor %}<assistant>"


def write_tokenizer(folder: Path, vocab: int = 96, *, template: bool = False) -> Path:
    """A byte-level tokenizer of so many tokens: one for each of the first printable bytes, no merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())[: vocab - 3]
    words = {"<pad>": 0, "<s>": 1, "</s>": 2} | {letter: number + 3 for number, letter in enumerate(letters)}
    made = Tokenizer(models.BPE(vocab=words, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.save(str(folder / "tokenizer.json"))
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(
        json.dumps(config | ({"chat_template": TEMPLATE} if template else {}))
    )
    return folder


def write_source(folder: Path, **words: Any) -> Path:
    """A Hugging Face folder: the plain case, other words on top, and a tokenizer."""
    case = CASES["gqa"]
    write_model(folder, case)
    (folder / "config.json").write_text(json.dumps({**case.hf, **words}))
    return write_tokenizer(folder)


@functools.cache
def source(windowed: bool = False) -> Path:
    """Such a folder, made once and removed when the tests end."""
    return write_source(Path(_PLACE.name) / ("windowed" if windowed else "plain"), **(WINDOW if windowed else {}))


@functools.cache
def package(ep: str = "cpu", dtype: str = "float32", *, windowed: bool = False, padding: str = "right") -> Package:
    """A tiny package with a tokenizer."""
    return build(source(windowed), execution_provider=ep, dtype=dtype, padding=padding)


def exported(folder: Path, ep: str = "cpu", dtype: str = "float32", **options: Any) -> ExportReport:
    """A tiny package as a client's folder."""
    built = {key: options.pop(key) for key in ("windowed", "padding") if key in options}
    return export(package(ep, dtype, **built), folder, progress=False, **options)


def config_of(folder: Path) -> dict[str, Any]:
    """The words of a folder's config."""
    return json.loads((folder / "genai_config.json").read_text())


def change_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Edit the config in place."""
    words = config_of(folder)
    change(words)
    (folder / "genai_config.json").write_text(json.dumps(words))
    return folder


def set_in(path: str, value: Any) -> Callable[[dict[str, Any]], object]:
    """A change that puts a value at ``model.decoder.head_size``, say."""

    def change(words: dict[str, Any]) -> None:
        *parts, last = path.split(".")
        for part in parts:
            words = words.setdefault(part, {})
        words[last] = value

    return change


def change_graph(folder: Path, change: Callable[[onnx.ModelProto], object]) -> Path:
    """Edit the graph in place; its data stays where it is."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    change(model)
    onnx.save(model, folder / "model.onnx")
    return folder


def drop_ends(words: Mapping[str, Any]) -> None:
    """A model that hardly ever stops, for tests that want a number of tokens: the last token alone is an end.

    Without any end the client takes the pad token for one (measured, 0.18).
    """
    words["model"]["eos_token_id"] = [words["model"]["vocab_size"] - 1]


genai = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("onnxruntime_genai") is None,
    reason="onnxruntime-genai is not installed: pip install -e '.[genai]'",
)
