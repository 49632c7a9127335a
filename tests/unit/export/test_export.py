"""A package as a client's folder: what is written, what is refused, and that nothing is lost."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import onnx_ir as ir
import pytest

from tests.golden_ops import SIZES
from tests.unit.export.folders import config_of, exported, package, source, write_tokenizer
from workbench.build import build
from workbench.ep import execution_providers, get_ep
from workbench.errors import ArgumentError, SaveError, UnknownNameError, UnsupportedError
from workbench.export import export, lint
from workbench.export.keys import KEYS, SAMPLING, SESSION_OPTIONS
from workbench.package import load
from workbench.package import saving as saving_module
from workbench.types import MS_DOMAIN

DTYPES = {"cpu": "float32", "default": "float32", "onnx-standard": "float32"}


@pytest.mark.parametrize("name", execution_providers())
def test_a_folder_for_each_provider(name: str, tmp_path: Path) -> None:
    report = exported(tmp_path / "x", name, DTYPES.get(name, "float16"))
    words, ep = config_of(tmp_path / "x"), get_ep(name)
    assert words == report.config
    decoder, graph = words["model"]["decoder"], load(tmp_path / "x").model.graph
    named = set(decoder["inputs"].values())
    assert {value.name.replace("0", "%d") for value in graph.inputs if ".0." in value.name} <= named
    assert {value.name for value in graph.inputs if "past" not in value.name} == {n for n in named if "%d" not in n}
    assert decoder["outputs"] == {
        "logits": "logits", "present_key_names": "present.%d.key", "present_value_names": "present.%d.value"
    }  # fmt: skip
    entries = decoder["session_options"]["provider_options"]
    assert [name for entry in entries for name in entry] == ([ep.genai_name] if ep.genai_name else [])
    fused = {(node.domain, node.op_type) for node in graph} >= {(MS_DOMAIN, "GroupQueryAttention")}
    assert words["search"]["past_present_share_buffer"] is fused
    assert lint(tmp_path / "x").findings == () == report.lint.findings


def test_names_of_providers_are_the_clients(tmp_path: Path) -> None:
    found = {}
    for name in ("cuda", "dml", "webgpu", "trt-rtx"):
        (found[name],) = exported(tmp_path / name, name, "float16").config["model"]["decoder"]["session_options"][
            "provider_options"
        ]
    assert found == {
        "cuda": {"cuda": {"enable_cuda_graph": "0"}}, "dml": {"dml": {"enable_graph_capture": "1"}},
        "webgpu": {"webgpu": {"enableGraphCapture": "0", "validationMode": "basic"}},
        "trt-rtx": {"NvTensorRtRtx": {"enable_cuda_graph": "1"}},
    }  # fmt: skip


@pytest.mark.parametrize(("name", "key"), [("dml", "enable_graph_capture"), ("trt-rtx", "enable_cuda_graph")])
def test_no_graph_is_captured_where_the_cache_grows(name: str, key: str, tmp_path: Path) -> None:
    """In float32 these have no GroupQueryAttention, so no buffer is shared, and the client refuses to capture."""
    words = exported(tmp_path / "x", name, "float32").config
    (entry,) = words["model"]["decoder"]["session_options"]["provider_options"][0].values()
    assert entry[key] == "0" and words["search"]["past_present_share_buffer"] is False


def test_only_known_keys_are_written(tmp_path: Path) -> None:
    words = exported(tmp_path / "x", "webgpu", "float16", windowed=True).config
    for path, known in KEYS.items():
        held: Any = words
        for part in filter(None, path.split(".")):
            held = held.get(part, {})
        assert set(held) <= known, path
    assert set(words["model"]["decoder"]["session_options"]) <= set(SESSION_OPTIONS)
    assert set(SAMPLING) | {"max_length", "past_present_share_buffer"} == set(words["search"])


def test_sizes_are_those_of_the_model(tmp_path: Path) -> None:
    model = exported(tmp_path / "x").config["model"]
    assert (model["type"], model["vocab_size"], model["context_length"]) == ("llama", 96, 128)
    assert (model["bos_token_id"], model["eos_token_id"], model["pad_token_id"]) == (1, [2], 3)
    decoder = {key: value for key, value in model["decoder"].items() if isinstance(value, int | str)}
    assert decoder == {
        "filename": "model.onnx", "head_size": 16, "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_hidden_layers": 3,
    }  # fmt: skip


def test_the_folder_is_a_package_and_speaks_of_every_file(tmp_path: Path) -> None:
    report = exported(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == ["x"]
    assert {file.name for file in report.files} | {"manifest.json"} == set(os.listdir(tmp_path / "x"))
    wanted = {"tokenizer.json", "tokenizer_config.json", "genai_config.json", "model.onnx.data"}
    assert wanted <= set(os.listdir(tmp_path / "x"))
    loaded = load(tmp_path / "x", verify=True)
    assert loaded.execution_provider == "cpu" and loaded.config == package().config
    again = export(loaded, tmp_path / "again", progress=False)
    assert again.config == report.config and again.files == report.files  # an exported folder can be exported again


def test_generation_config_decides_ends_and_search(tmp_path: Path) -> None:
    place = write_tokenizer(tmp_path / "tokenizer")
    words = {"eos_token_id": [2, 5, 999], "do_sample": True, "temperature": 0.7, "top_k": "x", "top_p": 1, "min_p": 0.1}
    (place / "generation_config.json").write_text(json.dumps(words))
    report = exported(tmp_path / "x", tokenizer=place, search={"top_k": 7})
    model, search = report.config["model"], report.config["search"]
    assert model["eos_token_id"] == [2, 5] and search["do_sample"] is True
    assert (search["temperature"], search["top_k"], search["top_p"]) == (0.7, 7, 1)
    notes = " ".join(report.notes)
    assert "[999] left out" in notes and "min_p" in notes
    (place / "generation_config.json").write_text("[1]")
    with pytest.raises(SaveError, match="holds a JSON list"):
        exported(tmp_path / "y", tokenizer=place)
    assert not (tmp_path / "y").exists()


def test_a_dry_run_writes_nothing_and_knows_the_sizes(tmp_path: Path) -> None:
    dry = exported(tmp_path / "x", dry_run=True)
    assert os.listdir(tmp_path) == [] and dry.dry_run and "would write" in repr(dry)
    wet = exported(tmp_path / "x")
    assert {f.name: f.size for f in dry.files} == {f.name: f.size for f in wet.files} and dry.config == wet.config
    assert {f.sha256 for f in dry.files} == {""} and "" not in {f.sha256 for f in wet.files}
    with pytest.raises(SaveError, match="overwrite=True"):
        exported(tmp_path / "x", dry_run=True)  # says so before minutes of work


def test_faces(tmp_path: Path) -> None:
    report = exported(tmp_path / "x")
    html = report._repr_html_()
    assert repr(report) == (
        f"ExportReport(cpu float32 for onnxruntime-genai: wrote 7 files, {report.size:,} bytes; 0 findings)"
    )
    assert "model.onnx.data" in html and "past_present_share_buffer" in html
    assert list(report.to_frame().columns) == ["file", "size", "sha256"]
    assert json.loads(json.dumps(report.to_dict()))["lint"]["ok"] is True
    evil = dataclasses.replace(report, notes=("<script>",))
    assert "<script>" not in evil._repr_html_()


# --- windows and outputs ------------------------------------------------------------------------------------------
def test_a_window_is_kept_in_the_graph_alone(tmp_path: Path) -> None:
    report = exported(tmp_path / "x", windowed=True)
    assert "sliding_window" not in report.config["model"]["decoder"]
    assert any("8 tokens" in note for note in report.notes)


def test_a_short_cache_is_told_to_the_client(tmp_path: Path) -> None:
    report = exported(tmp_path / "x", windowed=True, window_cache=True)
    assert report.config["model"]["decoder"]["sliding_window"] == {
        "window_size": 8, "slide_key_value_cache": False, "slide_inputs": False, "layers": [0, 1, 2], "cache_slack": 0,
    }  # fmt: skip
    graph = load(tmp_path / "x").model.graph
    attention = [node for node in graph if node.op_type == "GroupQueryAttention"]
    assert [node.attributes["sliding_window_cache"].as_int() for node in attention] == [1, 1, 1]
    assert not any("sliding_window_cache" in node.attributes for node in package(windowed=True).model.graph)
    assert report.lint.findings == lint(tmp_path / "x").findings == ()


def test_a_short_cache_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no GroupQueryAttention of this graph has a sliding window"):
        exported(tmp_path / "x", window_cache=True)
    with pytest.raises(UnsupportedError, match="'dml' has no known kernel that keeps the window alone"):
        exported(tmp_path / "x", "dml", "float16", windowed=True, window_cache=True)
    assert os.listdir(tmp_path) == []


def test_more_outputs(tmp_path: Path) -> None:
    (name, *_) = [n.outputs[0].name for n in package().model.graph if n.op_type == "SkipSimplifiedLayerNormalization"]
    exported(tmp_path / "x", outputs=[name, "logits"])
    assert [value.name for value in load(tmp_path / "x").model.graph.outputs][-1] == name
    assert name not in [value.name for value in package().model.graph.outputs]
    with pytest.raises(UnknownNameError, match="Unknown value of the graph 'nothing'.*nearest of"):
        exported(tmp_path / "y", outputs=["nothing"])


# --- refusals -----------------------------------------------------------------------------------------------------
def test_no_tokenizer(tmp_path: Path) -> None:
    bare = dataclasses.replace(package(), source=dataclasses.replace(package().source, tokenizer=None))
    with pytest.raises(SaveError, match="has no tokenizer.*tokenizer=FOLDER"):
        export(bare, tmp_path / "x")
    with pytest.raises(SaveError, match="holds no tokenizer.json"):
        export(bare, tmp_path / "x", tokenizer=tmp_path)
    assert os.listdir(tmp_path) == []
    report = export(bare, tmp_path / "x", tokenizer=False, progress=False)
    assert not (tmp_path / "x" / "tokenizer.json").exists() and "ids only" in report.notes[-1]
    export(bare, tmp_path / "y", tokenizer=write_tokenizer(tmp_path / "t"), progress=False)
    assert (tmp_path / "y" / "tokenizer_config.json").exists()


def test_a_damaged_tokenizer(tmp_path: Path) -> None:
    (write_tokenizer(tmp_path / "t") / "tokenizer.json").write_text("{")
    with pytest.raises(SaveError, match="tokenizer.json is not valid JSON"):
        exported(tmp_path / "x", tokenizer=tmp_path / "t")
    assert os.listdir(tmp_path) == ["t"]


def test_what_the_client_cannot_run(tmp_path: Path) -> None:
    bert = build({"model_type": "bert", **SIZES, "max_position_embeddings": 64}, load_weights=False)
    with pytest.raises(UnsupportedError, match="one decoder"):
        export(bert, tmp_path / "x")
    captured = build(source(), execution_provider="webgpu", graph_capture=True)
    with pytest.raises(UnsupportedError, match="one token at a time"):
        export(captured, tmp_path / "x")
    with pytest.raises(UnsupportedError, match="one decoder"):
        export(dataclasses.replace(package(), models={"a": package().model, "b": package().model}), tmp_path / "x")
    odd = package().model.clone()
    odd.graph.inputs.append(ir.Value(name="pixels", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([1])))
    with pytest.raises(UnsupportedError, match="unknown inputs pixels"):
        export(dataclasses.replace(package(), models={"model": odd}), tmp_path / "x")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"runtime": "vllm"}, UnknownNameError, "Unknown runtime 'vllm'.*onnxruntime-genai"),
        ({"search": {"topp": 1}}, UnknownNameError, "Did you mean 'top_p'"),
        ({"search": {"top_p": "x"}}, ArgumentError, "must be a number; found str 'x'"),
        ({"search": {"do_sample": 1}}, ArgumentError, "must be true or false"),
        ({"search": {"max_length": 129}}, SaveError, "max_length'] is 129; the model has 128 positions"),
        ({"search": 3}, ArgumentError, "search must be a mapping"),
        ({"tokenizer": 3}, ArgumentError, "tokenizer must be the folder"),
        ({"outputs": "logits"}, ArgumentError, "outputs must be a list of names"),
    ],
)
def test_arguments(options: dict[str, Any], kind: type[Exception], text: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=text):
        exported(tmp_path / "x", **options)
    assert os.listdir(tmp_path) == []


def test_a_growing_cache_is_not_shared_by_force(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="returns a longer cache"):
        exported(tmp_path / "x", "default", search={"past_present_share_buffer": True})
    report = exported(tmp_path / "x", search={"past_present_share_buffer": False})
    assert report.config["search"]["past_present_share_buffer"] is False


def test_places_that_are_taken(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    with pytest.raises(SaveError, match="is not a package"):
        exported(tmp_path / "mine", overwrite=True)
    with pytest.raises(SaveError, match="is not a folder"):
        exported(tmp_path / "file", overwrite=True)
    exported(tmp_path / "x")
    with pytest.raises(SaveError, match="overwrite=True"):
        exported(tmp_path / "x")
    (tmp_path / "x" / "notes.txt").write_text("x")
    with pytest.raises(SaveError, match="not of the package \\(notes.txt\\)"):
        exported(tmp_path / "x", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").exists() and (tmp_path / "x" / "notes.txt").exists()


def test_a_full_disk_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = exported(tmp_path / "x")

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(saving_module.os, "fsync", full)
    with pytest.raises(SaveError, match="no disk space left.*untouched"):
        exported(tmp_path / "x", search={"top_k": 3}, overwrite=True)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["x"]
    load(tmp_path / "x", verify=True)
    assert config_of(tmp_path / "x") == before.config


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a read-only disk needs root")
def test_a_read_only_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        exported(disk / "x")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(SaveError, match="Read-only file system.*untouched"):
            exported(disk / "x", overwrite=True)
        assert lint(disk / "x").findings == ()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_bfloat16_is_for_its_provider_alone(tmp_path: Path) -> None:
    report = exported(tmp_path / "x", "cuda", "bfloat16")
    assert report.notes[0] == "The client needs the provider cuda; CPU kernels do not compute in bfloat16."
    assert "elsewhere clear it" in exported(tmp_path / "y", "cuda", "float16").notes[0]
    assert lint(tmp_path / "x").findings == ()


def test_a_file_where_a_folder_is_needed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for dry in (False, True):
        with pytest.raises(SaveError, match="file is not a folder, so x cannot be made in it"):
            exported(tmp_path / "file" / "x", dry_run=dry)
        with pytest.raises(SaveError, match="file is not a folder, so y cannot be made in it"):
            exported(tmp_path / "file" / "x" / "y", dry_run=dry)
    assert (tmp_path / "file").read_text() == "mine"
