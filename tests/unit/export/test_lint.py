"""Every kind of contradiction is found when planted, alone; good folders are left in peace; bad files harm nobody."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tests.modules import filled
from tests.unit.export.folders import change_config, change_graph, config_of, exported, set_in, write_tokenizer
from tests.unit.rules.graphs import SEED
from tests.unit.rules.rope_tables import LONG, ORIGINAL
from tests.unit.rules.rope_tables import of as with_rope
from workbench import CausalLM, build_from_module
from workbench.ep import execution_providers
from workbench.errors import ArgumentError, ModelFileError
from workbench.export import LintReport, export, lint
from workbench.export.linting import kinds

Plant = Callable[[Path], object]
PLANTED: list[tuple[str, str, Plant, str]] = []
"""What was planted, the code that must be found, how it is planted, a part of the sentence."""


def plant(what: str, code: str, text: str) -> Callable[[Plant], Plant]:
    def add(act: Plant) -> Plant:
        PLANTED.append((what, code, act, text))
        return act

    return add


def config(path: str, value: Any) -> Plant:
    return lambda folder: change_config(folder, set_in(path, value))


def dtype(part: str, names: tuple[str, ...], to: int) -> Plant:
    """Give ends of the graph another dtype."""

    def change(model: onnx.ModelProto) -> None:
        for value in getattr(model.graph, part):
            if value.name in names:
                value.type.tensor_type.elem_type = to

    return lambda folder: change_graph(folder, change)


def rename(part: str, old: str, new: str) -> Plant:
    """Give an end of the graph another name."""

    def change(model: onnx.ModelProto) -> None:
        for node in model.graph.node:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    names[i] = new if name == old else name
        for value in getattr(model.graph, part):
            value.name = new if value.name == old else value.name

    return lambda folder: change_graph(folder, change)


def attribute(name: str, value: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        for node in model.graph.node:
            if node.op_type == "GroupQueryAttention":
                kept = [a for a in node.attribute if a.name != name]
                del node.attribute[:]
                node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


ENTRY = {"window_size": 8, "slide_key_value_cache": False, "slide_inputs": False, "layers": [0, 1, 2], "cache_slack": 0}
EXTRA = helper.make_tensor_value_info("extra", TensorProto.FLOAT, [1])
INPUTS, OUTPUTS = "model.decoder.inputs", "model.decoder.outputs"
OPTIONS = "model.decoder.session_options.provider_options"

plant("no config", "genai.file", "genai_config.json is missing")(lambda f: (f / "genai_config.json").unlink())
plant("another file", "genai.file", "'other.onnx' is missing")(config("model.decoder.filename", "other.onnx"))
plant("no data", "genai.file", "is missing; weights cannot be read")(lambda f: (f / "model.onnx.data").unlink())
plant("half the data", "genai.file", "is truncated")(lambda f: os.truncate(f / "model.onnx.data", 100))
plant("no tokenizer", "genai.file", "takes ids only")(lambda f: (f / "tokenizer_config.json").unlink())
plant("input", "genai.input-name", "no input 'tokens'")(config(f"{INPUTS}.input_ids", "tokens"))
plant("mask", "genai.input-name", "no input 'position_ids'")(config(f"{INPUTS}.position_ids", "position_ids"))
plant("unfed input", "genai.input-name", "wants the input 'extra'")(
    lambda f: change_graph(f, lambda m: m.graph.input.append(EXTRA))
)
plant("renamed mask", "genai.input-name", "no input 'mask'")(config(f"{INPUTS}.attention_mask", "mask"))  # fmt: skip
plant("output", "genai.output-name", "no output 'scores'")(config(f"{OUTPUTS}.logits", "scores"))
plant("past", "genai.past-name", "called like 'past.%d.k'")(config(f"{INPUTS}.past_key_names", "past.%d.k"))
plant("past value", "genai.past-name", "called like 'v'")(config(f"{INPUTS}.past_value_names", "v"))
plant("present", "genai.present-name", "called like 'now.%d.k'")(config(f"{OUTPUTS}.present_key_names", "now.%d.k"))
plant("ids", "genai.ids-dtype", "input_ids is float32; the client takes int64 or int32")(
    dtype("input", ("input_ids",), TensorProto.FLOAT)
)
plant("mask dtype", "genai.mask-dtype", "attention_mask is bool")(dtype("input", ("attention_mask",), TensorProto.BOOL))
plant("cache", "genai.cache-dtype", "past_key_values.1.key is float16")(
    dtype("input", ("past_key_values.1.key",), TensorProto.FLOAT16)
)
plant("cache of a kind", "genai.cache-dtype", "is double")(dtype("output", ("present.0.value",), TensorProto.DOUBLE))
plant("logits", "genai.logits-dtype", "logits is double")(dtype("output", ("logits",), TensorProto.DOUBLE))
plant("head_size", "genai.head-size", "head_size 32; the graph's layer 0 has heads of 16")(
    config("model.decoder.head_size", 32)
)
plant("heads", "genai.kv-heads", "num_key_value_heads 4; the graph's layer 0 has key/value heads: 2")(
    config("model.decoder.num_key_value_heads", 4)
)
plant("layers", "genai.layers", "num_hidden_layers 2; 3 layers")(config("model.decoder.num_hidden_layers", 2))
plant("vocab", "genai.vocab-logits", "vocab_size 97; the graph gives 96")(config("model.vocab_size", 97))
plant("tokenizer", "genai.vocab-tokenizer", "tokens up to 99, the model 96")(lambda f: write_tokenizer(f, 100))
plant("context", "genai.context-length", "context_length 256; the RoPE table 'rotary_emb.cos' has 128")(
    lambda f: change_config(f, set_in("model.context_length", 256))
)
plant("length", "genai.context-length", "search.max_length is 200")(config("search.max_length", 200))
plant("lost window", "genai.window-not-there", "has none, and the entry lists no layers: it was dropped")(
    config("model.decoder.sliding_window", {**ENTRY, "layers": []})
)
plant("window of a layer", "genai.window-not-there", "(layer 1) has none: it was dropped")(
    config("model.decoder.sliding_window", {**ENTRY, "layers": [1]})
)
plant("end", "genai.eos-token", "eos_token_id 96 is no token")(config("model.eos_token_id", [2, 96]))
plant("pad", "genai.special-token", "pad_token_id -1")(config("model.pad_token_id", -1))
plant("key", "genai.unknown-key", "'model.head_dim'")(config("model.head_dim", 16))
plant("key of the decoder", "genai.unknown-key", "'model.decoder.rope'")(config("model.decoder.rope", {}))
plant("search key", "genai.unknown-key", "'search.min_p'")(config("search.min_p", 0.1))
plant("session option", "genai.unknown-key", "must be text; found the number 1")(
    config("model.decoder.session_options.disable_fallback", 1)
)
plant("required", "genai.missing-key", "model.vocab_size is missing")(
    lambda f: change_config(f, lambda words: words["model"].pop("vocab_size"))
)
plant("kind", "genai.wrong-kind", "model.context_length is text")(config("model.context_length", "128"))
plant("type", "genai.model-type", "under the type 'lama'")(config("model.type", "lama"))
plant("provider", "genai.other-provider", "made for 'cpu' (manifest.json), and the config names cuda")(
    config(OPTIONS, [{"cuda": {}}])
)


def codes(report: LintReport) -> set[str]:
    return set(report.codes)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("lint")
    exported(place / "good")
    return place / "good"


@pytest.mark.parametrize(("code", "act", "text"), [p[1:] for p in PLANTED], ids=[p[0] for p in PLANTED])
def test_planted(code: str, act: Plant, text: str, good: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(good, tmp_path / "x"))
    act(folder)
    report = lint(folder)
    assert codes(report) == {code}, report.to_dict()
    (found, *_) = report.findings
    assert text in found.message, found
    assert found.where and found.hint.endswith(".") and found.message.endswith(".")
    json.dumps(report.to_dict())


def test_two_rope_tables_and_an_option_that_does_not_fit(tmp_path: Path) -> None:
    """LongRoPE on TensorRT-RTX: written by us, then wrong, then missing."""
    package = build_from_module(filled(CausalLM, SEED), with_rope(LONG), execution_provider="trt-rtx")
    made = export(package, tmp_path / "x", tokenizer=False, progress=False)
    option = "multi_rotary_cache_concat_offset"
    entry = config_of(tmp_path / "x")["model"]["decoder"]["session_options"]["provider_options"][0]["NvTensorRtRtx"]
    assert entry[option] == str(ORIGINAL)
    assert lint(tmp_path / "x").codes == ("genai.file",)  # no tokenizer
    assert any(f"without that provider the graph is wrong beyond {ORIGINAL} tokens" in note for note in made.notes)
    assert made.notes[0] == (
        "The client needs the provider NvTensorRtRtx: the CPU kernel of its attention has no two_tables. Build for "
        "another provider to run it here."
    )
    for wrong, said in (("7", "'7'"), (None, "'nothing'")):
        entry.pop(option, None)
        entry |= {option: wrong} if wrong else {}
        change_config(tmp_path / "x", set_in(OPTIONS, [{"NvTensorRtRtx": dict(entry)}]))
        (found,) = (f for f in lint(tmp_path / "x").findings if f.code != "genai.file")
        assert (found.code, found.hint) == ("genai.rotary-offset", f'Write "{option}": "{ORIGINAL}".')
        assert said in found.message


def test_every_code_was_planted() -> None:
    planted = {code for _, code, _, _ in PLANTED} | {
        "genai.share-buffer", "genai.window-not-told", "genai.rotary-offset",  # below
    }  # fmt: skip
    planted |= {"metadata.rules", "metadata.ports"}  # test_metadata_folder.py
    assert {code for code, _ in kinds()} | {"genai.special-token"} == planted


@pytest.mark.parametrize("name", execution_providers())
@pytest.mark.parametrize("windowed", [False, True])
def test_silence_on_ours(name: str, windowed: bool, tmp_path: Path) -> None:
    for dtype_ in ("float32", "float16"):
        exported(tmp_path / dtype_, name, dtype_, windowed=windowed)
        assert lint(tmp_path / dtype_).findings == ()
    exported(tmp_path / "any", name, "float32", windowed=windowed, padding="any")
    assert lint(tmp_path / "any").findings == ()


def test_how_bad_a_wrong_input_is(good: Path, tmp_path: Path) -> None:
    """Measured: the client ignores positions that a graph does not have, and an input that nobody reads."""
    wanted = {"ids": "error", "positions": "warning", "unread": "warning", "mask": "error"}
    found = {}
    for name in wanted:
        folder = Path(shutil.copytree(good, tmp_path / name))
        if name == "unread":
            change_graph(folder, lambda model: model.graph.input.append(EXTRA))
        else:
            key = {"ids": "input_ids", "positions": "position_ids", "mask": "attention_mask"}[name]
            change_config(folder, set_in(f"{INPUTS}.{key}", "other"))
        found[name] = "error" if not lint(folder).ok else "warning"
    assert found == wanted


def test_a_growing_cache_in_one_buffer(tmp_path: Path) -> None:
    exported(tmp_path / "x", "default")
    report = lint(change_config(tmp_path / "x", set_in("search.past_present_share_buffer", True)))
    assert report.codes == ("genai.share-buffer",) and "Attention) returns a longer cache" in report.findings[0].message


def test_capturing_without_one_buffer(tmp_path: Path) -> None:
    exported(tmp_path / "x", "dml", "float16")
    report = lint(change_config(tmp_path / "x", set_in("search.past_present_share_buffer", False)))
    assert report.codes == ("genai.share-buffer",) and "captures graphs" in report.findings[0].message


def test_a_window_that_nobody_tells(tmp_path: Path) -> None:
    exported(tmp_path / "x", windowed=True, window_cache=True)
    report = lint(change_config(tmp_path / "x", lambda words: words["model"]["decoder"].pop("sliding_window")))
    assert report.codes == ("genai.window-not-told",) and report.ok  # it runs, with more memory
    exported(tmp_path / "y", windowed=True, window_cache=True)
    report = lint(change_config(tmp_path / "y", set_in("model.decoder.sliding_window.layers", [0, 2])))
    assert "Layer 1" in report.findings[0].message


def test_a_short_cache_for_a_graph_that_wants_all(tmp_path: Path) -> None:
    exported(tmp_path / "x", windowed=True)
    report = lint(change_config(tmp_path / "x", set_in("model.decoder.sliding_window", ENTRY)))
    assert (
        report.codes == ("genai.window-not-there",) and "fails at the first longer prompt" in report.findings[0].message
    )
    report = lint(change_config(tmp_path / "x", set_in("model.decoder.sliding_window.window_size", 16)))
    assert "says a window of 16 tokens" in report.findings[0].message


def test_positions_of_another_dtype_than_the_mask(tmp_path: Path) -> None:
    exported(tmp_path / "x", "default")
    dtype("input", ("position_ids",), TensorProto.INT32)(tmp_path / "x")
    report = lint(tmp_path / "x")
    assert report.codes == ("genai.mask-dtype",) and "makes both in one dtype" in report.findings[0].message


def test_options_and_kernels_of_others(tmp_path: Path) -> None:
    exported(tmp_path / "x", "cuda", "float16")
    (tmp_path / "x" / "manifest.json").unlink()  # a folder by somebody else
    assert lint(tmp_path / "x").findings == ()
    report = lint(change_config(tmp_path / "x", set_in(OPTIONS, [{"cuda": {"enableGraphCapture": "1"}}])))
    assert "'enableGraphCapture' is an option of webgpu" in report.findings[0].message
    report = lint(change_config(tmp_path / "x", set_in(OPTIONS, [{"dml": {"enable_graph_capture": "0"}}])))
    assert report.codes == ("genai.other-provider",) and "do_rotary, packed_qkv" in report.findings[0].message
    exported(tmp_path / "y")  # GroupQueryAttention in float32, as nobody but cpu and webgpu has it
    (tmp_path / "y" / "manifest.json").unlink()
    report = lint(change_config(tmp_path / "y", set_in(OPTIONS, [{"cuda": {}}])))
    assert "GroupQueryAttention in float32" in report.findings[0].message and report.ok


def test_sizes_that_only_the_config_knows(tmp_path: Path) -> None:
    """Where the graph leaves them open the client believes the config: an error, not a warning."""

    def open_axes(model: onnx.ModelProto) -> None:
        for value in (*model.graph.input, *model.graph.output):
            if len(value.type.tensor_type.shape.dim) == 4:
                for axis in (1, 3):
                    value.type.tensor_type.shape.dim[axis].dim_param = f"axis{axis}"

    exported(tmp_path / "x")
    change_graph(tmp_path / "x", open_axes)
    assert lint(tmp_path / "x").findings == ()
    change_config(tmp_path / "x", set_in("model.decoder.head_size", 8))
    report = lint(change_config(tmp_path / "x", set_in("model.decoder.num_key_value_heads", 1)))
    assert report.codes == ("genai.head-size", "genai.kv-heads") and len(report.errors) == 2


def test_a_model_of_several_parts_is_left_alone(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    change_config(tmp_path / "x", set_in("model.vision", {"filename": "vision.onnx"}))
    report = lint(change_config(tmp_path / "x", set_in("model.type", "phi3v")))
    assert report.findings == () and "more than one decoder" in report.skipped[0]


# --- bad files ----------------------------------------------------------------------------------------------------
JUNK = {
    "empty": b"", "no json": b"{", "a list": b"[]", "deep": b"[" * 100_000, "binary": bytes(range(256)) * 4,
    "numbers": b'{"model": 3, "search": "x"}', "nothing": b"{}", "null": b"null",
}  # fmt: skip


@pytest.mark.parametrize("what", JUNK)
@pytest.mark.parametrize("name", ["genai_config.json", "tokenizer.json", "manifest.json", "model.onnx"])
def test_junk_becomes_findings(what: str, name: str, good: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(good, tmp_path / "x"))
    (folder / name).write_bytes(JUNK[what])
    report = lint(folder)
    if name != "manifest.json":  # somebody else's file of that name says nothing
        assert not report.ok and len(repr(report)) < 200
        assert all(len(found.message) < 600 for found in report.findings)


def test_words_of_every_wrong_kind(good: Path, tmp_path: Path) -> None:
    """Each value of the config replaced by each kind of value: never a crash."""
    folder = Path(shutil.copytree(good, tmp_path / "x"))
    words = json.loads((folder / "genai_config.json").read_text())

    def walk(held: Any, path: tuple[Any, ...] = ()) -> Any:
        yield path
        for key in held if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else ():
            yield from walk(held[key], (*path, key))

    for path in list(walk(words))[1:]:
        for value in (None, True, -1, 1.5, 2**70, "", "x\0y", [], [None], {}, {"x": {"y": []}}):
            changed = json.loads(json.dumps(words))
            inner = changed
            for part in path[:-1]:
                inner = inner[part]
            inner[path[-1]] = value
            (folder / "genai_config.json").write_text(json.dumps(changed))
            lint(folder)


def test_huge_files_are_not_read(good: Path, tmp_path: Path) -> None:
    for name, text in (("genai_config.json", "too many"), ("tokenizer.json", "too large"), ("model.onnx", "2 GiB")):
        folder = Path(shutil.copytree(good, tmp_path / name))
        os.truncate(folder / name, 3 << 30)  # a hole: costs no disk
        report = lint(folder)
        assert report.codes == ("genai.file",) and text in report.findings[0].message


def test_weights_are_not_read(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx_ir as ir

    monkeypatch.setattr(ir.ExternalTensor, "numpy", lambda self: pytest.fail("a weight was read"))
    monkeypatch.setattr(ir.ExternalTensor, "_load", lambda self: pytest.fail("a weight was read"))
    assert lint(good).findings == ()


def test_paths(tmp_path: Path, good: Path) -> None:
    for place, text in (("nowhere", "no such folder"), ("file", "is a file")):
        (tmp_path / "file").write_text("x")
        with pytest.raises(ModelFileError, match=text):
            lint(tmp_path / place)
    for wrong in (3, None, b"x", "a\0b"):
        with pytest.raises(ArgumentError):
            lint(wrong)
    folder = Path(shutil.copytree(good, tmp_path / "x"))
    shutil.copy(folder / "model.onnx", tmp_path / "outside.onnx")
    report = lint(change_config(folder, set_in("model.decoder.filename", "../outside.onnx")))
    assert report.codes == ("genai.file",) and "lies outside the folder" in report.findings[0].message
    report = lint(change_config(folder, set_in("model.decoder.filename", "x" * 5000)))
    assert report.codes == ("genai.file",) and "xxx'... is missing" in report.findings[0].message
    report = lint(change_config(folder, set_in("model.tokenizer_dir", "x" * 5000)))
    assert "tokenizer.json and tokenizer_config.json missing" in report.findings[-1].message


def test_faces(good: Path, tmp_path: Path) -> None:
    report = lint(good)
    assert repr(report).startswith("LintReport('good': nothing found; 25 checks")
    folder = Path(shutil.copytree(good, tmp_path / "x"))
    report = lint(change_config(folder, set_in("model.<b>", 1)))
    assert "<b>" not in report._repr_html_() and "&lt;b&gt;" in report._repr_html_()
    assert list(report.to_frame().columns) == ["code", "severity", "message", "where", "hint"]
    assert len(report.to_frame()) == 1 and not report.ok
