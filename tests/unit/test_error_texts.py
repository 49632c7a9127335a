"""Bad input of every kind: the class of the error, and a text with what is wrong, found, allowed, and what to do next.

Each row reads as the person would meet it. The parts of a text are given in the order in which it should say them.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from tests.cases import CASES, write_model
from tests.unit import error_rows_describe, error_rows_importing, error_rows_metadata  # noqa: F401 - add their rows
from tests.unit.error_rows import HF, ROWS, built, gguf, quantized, row, saved, skeleton, touch, with_tensors
from tests.unit.error_rows_export import CLIENT_ROWS
from tests.unit.weights import tiny_gguf
from workbench import errors
from workbench.config import builtin
from workbench.package import load
from workbench.runtime.feeds import Feeds
from workbench.widgets import OpHistogram, link

# --- names ---------------------------------------------------------------------------------------------------------
row("model name", errors.UnknownNameError, "Unknown model 'smolm2-135m'", "Did you mean 'smollm2-135m'?", "Known:",
    "Also accepted:", "a hub id")(lambda path: workbench.build("smolm2-135m"))  # fmt: skip
row("model path", errors.ConfigError, "nowhere: no such file or folder", "Also accepted:")(
    lambda path: workbench.build(path / "nowhere")
)
row("model of another type", errors.ArgumentError, "must be a name or a path; found int", "Also accepted:")(
    lambda path: workbench.build(3)
)
row("hub id offline", errors.OfflineError, "no-org/no-model is not in the local Hugging Face cache", "HF_HUB_OFFLINE",
    "hf download no-org/no-model", "or pass a folder")(lambda path: workbench.build("no-org/no-model"))  # fmt: skip
row("execution provider", errors.UnknownNameError, "Unknown execution provider 'webgp'", "Did you mean 'webgpu'?",
    "Known: ")(lambda path: workbench.build(HF, execution_provider="webgp", load_weights=False))  # fmt: skip
row("dtype", errors.UnknownNameError, "Unknown dtype 'fp8'", "Known: bfloat16, float16, float32")(
    lambda path: workbench.build(HF, dtype="fp8", load_weights=False)
)
row("task", errors.UnknownNameError, "Unknown task 'text-generating'", "Did you mean 'text-generation'?")(
    lambda path: workbench.build(HF, "text-generating", load_weights=False)
)
row("padding", errors.UnknownNameError, "Unknown padding 'left'", "Known: any, right")(
    lambda path: workbench.build(HF, padding="left", load_weights=False)
)
row("model_type", errors.UnknownNameError, "Unknown model_type 'lama'", "Did you mean 'llama'?", "build_from_module")(
    lambda path: skeleton(model_type="lama")
)


def compared() -> workbench.Comparison:
    return workbench.compare(HF, execution_providers=["cpu"], load_weights=False)


row("base of operator bars", errors.UnknownNameError, "Unknown graph 'cuad'", "Known: cpu, generic")(
    lambda path: OpHistogram(compared(), base="cuad")
)
row("mode of operator bars", errors.UnknownNameError, "Unknown mode 'pie'", "Known: counts, difference")(
    lambda path: OpHistogram(compared(), mode="pie")
)
row("no view to link", errors.ArgumentError, "each of views must be a view; found Comparison")(
    lambda path: link(OpHistogram(compared()), compared())
)
row("another dtype of packages", errors.UnsupportedError, "cannot be built again", "put together from packages",
    "compare(model, ...)")(
    lambda path: dataclasses.replace(compared(), recipe=None).in_dtype("float16")
)  # fmt: skip

# --- configs -------------------------------------------------------------------------------------------------------
row("config without model_type", errors.ConfigError, "has no model_type", "names the architecture", "Add it")(
    lambda path: skeleton(model_type=None)
)
row("config that is no JSON", errors.ConfigError, "config.json is not valid JSON", "line 1 column 2", "Correct it")(
    lambda path: workbench.build(touch(path / "config.json", "{model_type: llama}"), load_weights=False)
)
row("config that is a list", errors.ConfigError, "holds a JSON list", "an object of named values")(
    lambda path: workbench.build(touch(path / "config.json", "[1]"), load_weights=False)
)
row("config without a size", errors.ConfigError, "llama config lacks hidden_size", "found ", "whole config.json")(
    lambda path: skeleton(hidden_size=None)
)
row("size of nothing", errors.ConfigError, "num_hidden_layers is 0", "whole number from 1 to 10000")(
    lambda path: skeleton(num_hidden_layers=0)
)
row("size that is no whole number", errors.ConfigError, "hidden_size is 1.5", "whole number")(
    lambda path: skeleton(hidden_size=1.5)
)
row("flag that is a word", errors.ConfigError, "tie_word_embeddings is 'false'", "must be true or false")(
    lambda path: skeleton(tie_word_embeddings="false")
)
row("scaling without its factor", errors.ConfigError, "rope_type 'linear' needs factor", "own config.json")(
    lambda path: skeleton(rope_parameters={"rope_type": "linear", "rope_theta": 10000.0})
)
row("switch that nothing builds", errors.UnsupportedError, "use_bidirectional_attention is True", "module_class")(
    lambda path: skeleton(use_bidirectional_attention=True)
)
row("list that is none", errors.ConfigError, "layer_types is 3", "must be a list")(lambda path: skeleton(layer_types=3))
row("quantized weights", errors.UnsupportedError, "quantization_config: awq", ".gguf")(
    lambda path: workbench.build(quantized(write_model(path / "model", CASES["gqa"])))
)
row("heads that do not divide", errors.ConfigError, "num_attention_heads (4)", "multiple of num_key_value_heads (3)")(
    lambda path: skeleton(num_key_value_heads=3)
)
row("activation", errors.ConfigError, "hidden_act is 'mish'", "knows silu")(lambda path: skeleton(hidden_act="mish"))
row("rope type", errors.ConfigError, "rope_type is 'fancy'", "knows default, linear")(
    lambda path: skeleton(rope_parameters={"rope_type": "fancy", "rope_theta": 1e4})
)
row("longrope without factors", errors.ConfigError, "rope_type 'longrope' needs original_max_position_embeddings",
    "found none", "config.json")(
    lambda path: skeleton(rope_parameters={"rope_type": "longrope", "rope_theta": 1e4})
)  # fmt: skip
row("layer types", errors.ConfigError, "layer_types has 1 entries, num_hidden_layers is 2", "one entry per layer")(
    lambda path: skeleton(
        model_type="qwen2", num_hidden_layers=2, layer_types=["sliding_attention"], sliding_window=8,
        use_sliding_window=True, max_window_layers=0,
    )
)  # fmt: skip
row("config without weights", errors.WeightsError, "comes without weights", "load_weights=False", "or a folder")(
    lambda path: workbench.build(HF)
)

# --- weights -------------------------------------------------------------------------------------------------------
row("missing tensor", errors.WeightsError, "do not fit the graph", "1 missing: model.norm.weight", "config.json")(
    lambda path: with_tensors(path, lambda tensors: tensors.pop("model.norm.weight"))
)
row("missing head", errors.WeightsError, "1 missing: lm_head.weight", "tie_word_embeddings is false", "set it to true")(
    lambda path: with_tensors(path, lambda tensors: tensors.pop("lm_head.weight"))
)
row("wrong shape", errors.WeightsError, "1 of another shape: model.norm.weight (found 3, expected 64)")(
    lambda path: with_tensors(path, lambda tensors: tensors.update({"model.norm.weight": np.ones(3, np.float32)}))
)
row("unexpected tensor", errors.WeightsError, "1 unexpected: extra (the graph has no parameter of this name)")(
    lambda path: with_tensors(path, lambda tensors: tensors.update(extra=np.ones(3, np.float32)))
)


@row("value too large for float16", errors.WeightsError, "'model.norm.weight' holds 100000, too large for float16",
     "Build it in float32")  # fmt: skip
def too_large(path: Path) -> object:
    def grow(tensors: dict[str, np.ndarray]) -> None:
        tensors["model.norm.weight"][0] = 1e5

    with_tensors(path, grow)
    return workbench.build(path / "model", dtype="float16").save(path / "package")


@row("pickled weights", errors.WeightsError, "only as pytorch_model.bin", "executes code", "save_pretrained")
def pickled(path: Path) -> object:
    touch(path / "m" / "config.json", json.dumps(HF))
    touch(path / "m" / "pytorch_model.bin", b"\x80")
    return workbench.build(path / "m")


@row("weights file by itself", errors.ConfigError, "model.safetensors: pass the folder that holds it")
def weights_alone(path: Path) -> object:
    return workbench.build(touch(path / "model.safetensors", b"x"))


@row("folder without config", errors.ConfigError, "no config.json in this folder; found notes.txt", "Also accepted")
def no_config(path: Path) -> object:
    return workbench.build(touch(path / "m" / "notes.txt", "hello").parent)


# --- safetensors ---------------------------------------------------------------------------------------------------
@row("truncated safetensors", errors.WeightsError, "model.safetensors is truncated or not a safetensors file",
     "Fetch it again", "bytes here")  # fmt: skip
def truncated(path: Path) -> object:
    file = write_model(path / "m", CASES["gqa"]) / "model.safetensors"
    os.truncate(file, file.stat().st_size - 100)
    return workbench.build(file.parent)


@row("absent shard", errors.WeightsError, "1 of 1 weight files are missing: model-00001-of-00001.safetensors",
     "complete the folder")  # fmt: skip
def absent_shard(path: Path) -> object:
    folder = write_model(path / "m", CASES["gqa"])
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    index = {"weight_map": {"model.norm.weight": "model-00001-of-00001.safetensors"}}
    touch(folder / "model.safetensors.index.json", json.dumps(index))
    return workbench.build(folder)


@row("index that leaves the folder", errors.WeightsError, "names the file '../up.safetensors'", "only *.safetensors")
def escaping_index(path: Path) -> object:
    folder = write_model(path / "m", CASES["gqa"])
    touch(folder / "model.safetensors.index.json", json.dumps({"weight_map": {"a": "../up.safetensors"}}))
    return workbench.build(folder)


@row(
    "dtype of a tensor", errors.WeightsError, "'w' has dtype F8_E4M3, which is not read", "read are F32, F16", "Convert"
)
def strange_dtype(path: Path) -> object:
    folder = write_model(path / "m", CASES["gqa"])
    header = json.dumps({"w": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}).encode()
    touch(folder / "model.safetensors", len(header).to_bytes(8, "little") + header + bytes(4))
    return workbench.build(folder)


# --- GGUF ----------------------------------------------------------------------------------------------------------
row("GGUF that is none", errors.WeightsError, "model.gguf is not a usable GGUF file", "letters GGUF", "again")(
    lambda path: workbench.build(touch(path / "model.gguf", b"PK\x03\x04" + bytes(60)))
)


@row("truncated GGUF", errors.WeightsError, "model.gguf is truncated", "the file has", "again")
def truncated_gguf(path: Path) -> object:
    path.mkdir(parents=True)
    file = tiny_gguf.write(path / "model.gguf")
    os.truncate(file, file.stat().st_size // 2)
    return workbench.build(file)


row("GGUF architecture", errors.UnsupportedError, "model.gguf", "architecture 'falcon'", "read are: llama", "folder")(
    lambda path: gguf(path, meta={"general.architecture": "falcon"})
)
row("GGUF experts", errors.UnsupportedError, "mixture-of-experts", "llama.expert_count is 8", "folder")(
    lambda path: gguf(path, meta={"llama.expert_count": 8})
)
row("part of a split GGUF", errors.UnsupportedError, "one of 3 parts", "Join them first", "llama-gguf-split --merge")(
    lambda path: gguf(path, meta={"split.count": 3})
)
row("GGUF field", errors.ConfigError, "'llama.block_count' is missing", "Convert the model again")(
    lambda path: gguf(path, meta={"llama.block_count": None})
)
row("GGUF with more layers than tensors", errors.ConfigError, "'llama.block_count' is 1000000000", "only 20 tensors")(
    lambda path: gguf(path, meta={"llama.block_count": 1_000_000_000})
)

# --- execution providers and options -------------------------------------------------------------------------------
row(
    "dtype that a provider lacks",
    errors.UnsupportedError,
    "'webgpu' cannot compute in bfloat16",
    "It computes in float16, float32",
    "dtype=",
)(lambda path: workbench.build(HF, execution_provider="webgpu", dtype="bfloat16", load_weights=False))
row("graph capture", errors.UnsupportedError, "graph_capture=True", "'cpu' needs no graph", "Leave it out")(
    lambda path: workbench.build(HF, graph_capture=True, load_weights=False)
)
row("remote code", errors.UnsupportedError, "trust_remote_code=True", "never runs code", "build_from_module()")(
    lambda path: workbench.build(HF, trust_remote_code=True, load_weights=False)
)


# --- feeds and running ---------------------------------------------------------------------------------------------
def run(package: workbench.Package, feeds: dict[str, Any]) -> object:
    from workbench.runtime.ort_cpu import OrtCpuSession

    with OrtCpuSession(package.model) as session:
        return session.run(feeds)


row("running a skeleton", errors.WeightsError, "is a skeleton", "initializers have no data", "load_weights=True")(
    lambda path: run(workbench.build(HF, load_weights=False), {})
)
row(
    "missing input",
    errors.FeedsError,
    "inputs are input_ids",
    "(3 more)",
    "missing: attention_mask",
    "unknown: none",
    "Give an array",
)(lambda path: run(built(path), {"input_ids": np.zeros((1, 3), np.int64)}))
row("unknown input", errors.FeedsError, "inputs are input_ids", "unknown: ids")(
    lambda path: run(built(path), {"ids": np.zeros((1, 3), np.int64)})
)
row("feeds that are no mapping", errors.FeedsError, "feeds must map input names to arrays", "found list")(
    lambda path: Feeds([1, 2])
)


@row("left padding", errors.FeedsError, "attention_mask row 0 starts with 0: left padding", "padding='right'",
     "Pad on the right")  # fmt: skip
def left_padding(path: Path) -> object:
    from workbench.runtime.ort_cpu import OrtCpuSession
    from workbench.runtime.tokens import TokenRunner, TokenStep

    with OrtCpuSession(built(path).model) as session:
        step = TokenStep(np.array([[1, 2, 3]]), np.array([[0, 1, 1]]))
        return TokenRunner(session, "right").run(step)


row("prompt without a tokenizer", errors.FeedsError, "has no tokenizer", "give token ids as feeds")(
    lambda path: built(path).encode("hello")
)

# --- packages and ONNX files ---------------------------------------------------------------------------------------
row("no such package", errors.ModelFileError, "nowhere: no such file or folder")(lambda path: load(path / "nowhere"))
row("bytes", errors.ArgumentError, "load() takes a path, found bytes", "write them to a file first")(
    lambda path: load(b"x")
)


@row("truncated package", errors.ModelFileError, "model.onnx is truncated", "the manifest says", "Save the package")
def truncated_package(path: Path) -> object:
    file = saved(path) / "model.onnx"
    os.truncate(file, 10)
    return load(file.parent)


@row("package with a file gone", errors.ModelFileError, "model.onnx is missing", "Save the package again")
def incomplete_package(path: Path) -> object:
    (saved(path) / "model.onnx").unlink()
    return load(path / "package")


row("folder that is no package", errors.ModelFileError, "is not a package: it has no manifest.json",
    "Give the file instead: a.onnx")(lambda path: load(touch(path / "m" / "a.onnx", b"x").parent))  # fmt: skip
row("ONNX that is a web page", errors.ModelFileError, "is not a usable ONNX file", "It is a web page", "again")(
    lambda path: load(touch(path / "a.onnx", "<html>not found</html>"))
)
row("ONNX that is a LFS pointer", errors.ModelFileError, "not a usable ONNX file", "Git LFS pointer", "git lfs pull")(
    lambda path: load(touch(path / "a.onnx", "version https://git-lfs.github.com/spec/v1\n"))
)
row("GGUF given to load", errors.ModelFileError, "not a usable ONNX file", "It is a GGUF file", "build()")(
    lambda path: load(touch(path / "a.gguf", b"GGUF\x03"))
)
row("ONNX text under a binary's name", errors.ModelFileError, "not a usable ONNX file", "name it .onnxtxt")(
    lambda path: load(touch(path / "a.onnx", '<ir_version: 10, opset_import: ["" : 24]>'))
)
row("broken ONNX text", errors.ModelFileError, "not a usable ONNX file", "line: 1", "again")(
    lambda path: load(touch(path / "a.onnxtxt", "<ir_version: 10, opset"))
)
row("empty ONNX file", errors.ModelFileError, "holds no graph", "It is empty", "again")(
    lambda path: load(touch(path / "a.onnx", b""))
)
row("ONNX given to build", errors.ConfigError, "is an ONNX graph, not a model to build", "workbench.load(path)")(
    lambda path: workbench.build(touch(path / "a.onnx", b"x"))
)


row("saving a skeleton", errors.SaveError, "parameters of 'model' have no data", "is a skeleton", "load_weights=True")(
    lambda path: workbench.build(HF | {"num_hidden_layers": 2}, load_weights=False).save(path / "package")
)


# --- disk ----------------------------------------------------------------------------------------------------------
row("saving over a package", errors.SaveError, "holds a package already", "overwrite=True")(
    lambda path: load(saved(path)).save(path / "package")
)
row("saving over a file", errors.SaveError, "exists and is not a folder", "another place")(
    lambda path: built(path).save(touch(path / "file", "x"))
)
row("saving among strangers", errors.SaveError, "is not empty and is not a package", "another folder")(
    lambda path: built(path).save(touch(path / "m" / "mine.txt", "x").parent)
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(builtin, "_installed", lambda member: None)


@pytest.mark.parametrize("name", ROWS)
def test_text(name: str, tmp_path: Path) -> None:
    kind, act, parts = ROWS[name]
    if name in CLIENT_ROWS:
        pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed: pip install -e '.[genai]'")
    with pytest.raises(kind) as caught:
        act(tmp_path / "work")
    text = str(caught.value)
    assert type(caught.value) is kind, repr(caught.value)
    at = 0
    for part in parts:
        assert part in text[at:], f"{part!r} is not (or not in its place) in: {text}"
        at = text.index(part, at)
    assert "Traceback" not in text and "\n" not in text and "  " not in text, text
    assert len(text) < 900 and text[-1] in ".?", text


def test_disk_full_while_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    package = built(tmp_path / "work")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(errors.SaveError, match="could not be saved to .*: no disk space left. Nothing was left there"):
        package.save(tmp_path / "package")
    assert not (tmp_path / "package").exists() and list(tmp_path.glob(".*.tmp")) == []


def test_there_are_enough_kinds() -> None:
    assert len(ROWS) >= 60
    raised = {kind for kind, _, _ in ROWS.values()}
    assert raised >= {
        errors.ConfigError, errors.WeightsError, errors.OfflineError, errors.UnknownNameError, errors.UnsupportedError,
        errors.FeedsError, errors.ModelFileError, errors.SaveError,
    }  # fmt: skip
