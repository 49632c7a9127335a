"""Bad input to ``import_genai_config``: rows of the table in ``error_rows``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

from tests.unit.error_rows import row, touch
from tests.unit.export.folders import change_config, change_graph, exported, set_in
from workbench import errors
from workbench.importing import import_genai_config

CONFIG = "genai_config.json"


def changed(path: Path, at: str, value: Any, **options: Any) -> object:
    """An exported folder with another value at one place of its config, imported with every loss allowed."""
    exported(path / "x", **options)
    return import_genai_config(change_config(path / "x", set_in(at, value)), allow_lossy=True)


def with_text(path: Path, text: str | bytes) -> object:
    """A folder whose config is this text."""
    return import_genai_config(touch(path / "x" / CONFIG, text).parent, allow_lossy=True)


def with_graph(path: Path, change: Callable[[onnx.ModelProto], object]) -> object:
    exported(path / "x")
    return import_genai_config(change_graph(path / "x", change), allow_lossy=True)


def _row(name: str, kind: type[Exception], act: Callable[[Path], object], *parts: str) -> None:
    row(f"import: {name}", kind, *parts)(act)


# --- the folder ---------------------------------------------------------------------------------------------------
_row("a number", errors.ArgumentError, lambda path: import_genai_config(3), "folder must be a path; found int 3")
_row("nothing there", errors.ModelFileError, lambda path: import_genai_config(path / "none"), "none: no such folder")
_row("a file", errors.ModelFileError, lambda path: import_genai_config(touch(path / "a", "")), "is a file; give its")
_row("no config", errors.ModelFileError, lambda path: import_genai_config(touch(path / "m" / "a", "").parent),
     "holds no genai_config.json", "nothing to import", "ONNX Runtime GenAI")  # fmt: skip
_row("permission that is a word", errors.ArgumentError,
     lambda path: import_genai_config(exported(path / "x").folder, allow_lossy="yes"),
     "allow_lossy must be True or False; found str 'yes'")  # fmt: skip

# --- the text -----------------------------------------------------------------------------------------------------
TEXTS: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "a list": ("[1]", ("holds a JSON list, not named values", "Export")),
    "nothing": ("", ("cannot be imported (line 1)", "no JSON", "Correct it")),
    "null": ("null", ("cannot be imported", "is empty", "Correct it")),
    "a key twice": ('{"model": {"type": "a",\n "type": "b"}}', ("(line 2)", "'type' stands twice", "Correct it")),
    "no number": ('{"model": {"vocab_size": NaN}}', ("NaN is no number of JSON", "Correct it")),
    "a number without end": ('{"a": ' + "9" * 5000 + "}", ("more than 400 digits", "Correct it")),
    "depths": ("[" * 5000 + "]" * 5000, ("more than 128 deep", "Correct it")),
    "size": ('{"a": "' + "x" * 9_000_000 + '"}', ("9,000,009 bytes", "Correct it")),
    "no UTF-8": (b'{"model": "\xff"}', ("Byte 11", "no UTF-8", "Correct it")),
    "half a character": ('{"\\ud800": 1}', ("half of a character", "Correct it")),
}
for _name, (_text, _parts) in TEXTS.items():
    _row(f"text: {_name}", errors.ConfigError, lambda path, text=_text: with_text(path, text), *_parts)

# --- losses -------------------------------------------------------------------------------------------------------
_row("planted key", errors.LossyImportError,
     lambda path: import_genai_config(
         change_config(exported(path / "x").folder, set_in("model.decoder.invented_field", 3))
     ),
     "would lose 3 values of genai_config.json; unknown: model.decoder.invented_field (3); without a place in a "
     "document: model.decoder.hidden_size (64), model.decoder.session_options.log_id ('onnxruntime-genai'). "
     "Pass allow_lossy=True (--allow-lossy)", "each listed with the reason", "remove them")  # fmt: skip

# --- other models -------------------------------------------------------------------------------------------------
_row("encoder and decoder", errors.UnsupportedError,
     lambda path: changed(path, "model.encoder", {"filename": "encoder.onnx"}),
     "is no decoder that takes text alone: an encoder beside the decoder (model.encoder)",
     "allow_lossy does not help")  # fmt: skip
_row("pictures", errors.UnsupportedError, lambda path: changed(path, "model.vision", {"filename": "vision.onnx"}),
     "is no decoder that takes text alone: inputs other than text (model.vision)")  # fmt: skip
_row("two decoders", errors.UnsupportedError,
     lambda path: changed(path, "model.decoder.pipeline", [{"a": {"filename": "a.onnx"}}, {"b": {}}]),
     "a decoder in several graphs (model.decoder.pipeline)")  # fmt: skip
_row("layers of several kinds", errors.UnsupportedError,
     lambda path: changed(path, "model.decoder.layer_types", ["conv", "full_attention"]),
     "state other than keys and values in each layer (model.decoder.layer_types)")  # fmt: skip

# --- files --------------------------------------------------------------------------------------------------------
_NAME = "model.decoder.filename"
_row("graph outside", errors.ModelFileError, lambda path: changed(path, _NAME, "../y/model.onnx"),
     "model.decoder.filename is '../y/model.onnx'; its path leaves the folder",
     "Put the graph there")  # fmt: skip
_row("graph elsewhere", errors.ModelFileError, lambda path: changed(path, _NAME, "/etc/passwd"), "leaves the folder")
_row("graph missing", errors.ModelFileError, lambda path: changed(path, _NAME, "decoder.onnx"),
     "is 'decoder.onnx'; there is no such file in the folder", "The folder holds model.onnx")  # fmt: skip
_row("graph that is a folder", errors.ModelFileError, lambda path: changed(path, _NAME, "."), "it is no regular file")
_row("graph with a long name", errors.ModelFileError, lambda path: changed(path, _NAME, "x" * 5000), "no such file")
_row("graph without a name", errors.ConfigError, lambda path: changed(path, _NAME, None),
     "model.decoder.filename is missing", "Add it")  # fmt: skip
_row("tokenizer outside", errors.ModelFileError, lambda path: changed(path, "model.tokenizer_dir", "../y"),
     "model.tokenizer_dir is '../y'; its path leaves the folder", "Put the tokenizer into the folder")  # fmt: skip


def _damaged(path: Path) -> object:
    (exported(path / "x").folder / "model.onnx").write_bytes(b"\0\1nonsense" * 10)
    return import_genai_config(path / "x", allow_lossy=True)


_row("graph damaged", errors.ModelFileError, _damaged, "cannot be imported:", "is not a usable ONNX file", "again")

# --- contradictions -----------------------------------------------------------------------------------------------
_row("wrong kind", errors.ConfigError, lambda path: changed(path, "model.eos_token_id", [2, "</s>"]),
     "model.eos_token_id is [2, '</s>'], where a whole number from 0 to 2^31 - 1, or a list of them must stand",
     "Correct it")  # fmt: skip
_row("heads", errors.ConfigError, lambda path: changed(path, "model.decoder.num_key_value_heads", 4),
     "contradicts itself: The config says num_key_value_heads 4", "has key/value heads: 2", "Write 2")  # fmt: skip
_row("head size", errors.ConfigError, lambda path: changed(path, "model.decoder.head_size", 8),
     "The config says head_size 8", "Write 16")  # fmt: skip
_row("layers", errors.ConfigError, lambda path: changed(path, "model.decoder.num_hidden_layers", 4),
     "The config says num_hidden_layers 4; 3 layers", "Write 3")  # fmt: skip
_row("end that is no token", errors.ConfigError, lambda path: changed(path, "model.eos_token_id", [2, 500]),
     "eos_token_id 500 is no token of a vocabulary of 96")  # fmt: skip
_row("window that the graph lacks", errors.ConfigError,
     lambda path: changed(path, "model.decoder.sliding_window", {"window_size": 8}),
     "The config says a window of 8 tokens", "it was dropped")  # fmt: skip
_row("buffer that is shared", errors.ConfigError,
     lambda path: changed(path, "search.past_present_share_buffer", True, ep="default"),
     "search.past_present_share_buffer is true, and", "returns a longer cache", "Write false")  # fmt: skip
_row("names that lead nowhere", errors.ConfigError,
     lambda path: changed(path, "model.decoder.inputs.past_key_names", "past.%d.key"),
     "No input of the graph is called like 'past.%d.key'")  # fmt: skip
_row("a layer that is none", errors.ConfigError,
     lambda path: changed(path, "model.decoder.sliding_window.layers", [0, 7], windowed=True, window_cache=True),
     "model.decoder.sliding_window.layers has 7; the model has 3 layers (0 to 2)", "Correct the list")  # fmt: skip
_row("a window without a size", errors.ConfigError,
     lambda path: changed(path, "model.decoder.sliding_window", {"layers": [0]}, windowed=True),
     "lists layers and no window_size", "Write the number of tokens")  # fmt: skip


def _exchanged(words: dict[str, Any]) -> None:
    inputs = words["model"]["decoder"]["inputs"]
    inputs["past_key_names"], inputs["past_value_names"] = inputs["past_value_names"], inputs["past_key_names"]


def _exchanged_in(ep: str) -> Callable[[Path], object]:
    return lambda path: import_genai_config(change_config(exported(path / "x", ep).folder, _exchanged), True)


for _ep in ("cpu", "default"):
    _row(f"keys for values, {_ep}", errors.ConfigError, _exchanged_in(_ep),
         "calls 'past_key_values.0.key' a value of the cache, and the graph uses it as a key (model/layers.0/",
         "Exchange the names")  # fmt: skip
_row("one port for two", errors.ConfigError,
     lambda path: changed(path, "model.decoder.inputs.past_key_names", "past_key_values.%d.value"),
     "gives the port 'past_key_values.0.value' to two things", "Correct model.decoder.inputs")  # fmt: skip


def _one_more(model: onnx.ModelProto) -> None:
    model.graph.input.append(onnx.helper.make_tensor_value_info("noise", 1, ["batch_size", 4, 1, 1]))


def _one_less(model: onnx.ModelProto) -> None:
    model.graph.output.remove(next(value for value in model.graph.output if value.name == "present.1.value"))


def _flat(model: onnx.ModelProto) -> None:
    for value in (*model.graph.input, *model.graph.output):
        if "key_values" in value.name or "present" in value.name:
            del value.type.tensor_type.shape.dim[3]


_row("cache of another rank", errors.UnsupportedError, lambda path: with_graph(path, _flat),
     "has ports of another rank than 4", "Export the model in that form")  # fmt: skip
_row("input that nobody feeds", errors.ConfigError, lambda path: with_graph(path, _one_more),
     "model.onnx takes noise which the config does not name", "nobody would feed it",
     "Export the model again")  # fmt: skip
_row("layer without an output", errors.ConfigError, lambda path: with_graph(path, _one_less),
     "model.decoder.outputs.present_value_names leads to no output of the graph for layer 1 of 3")  # fmt: skip


def _twice(path: Path) -> object:
    found = import_genai_config(exported(path / "x").folder, allow_lossy=True)
    found.save()
    return found.save()


def _other(path: Path) -> object:
    touch(exported(path / "x").folder / "inference_metadata.json", "{}")
    return import_genai_config(path / "x", allow_lossy=True).save(overwrite=True)


_row("saved twice", errors.SaveError, _twice, "holds inference_metadata.yaml already. Pass overwrite=True")
_row("saved beside another", errors.SaveError, _other, "holds inference_metadata.json already. Remove it first")
