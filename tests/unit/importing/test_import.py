"""What an imported folder's document says, what is lost, and what is written."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.unit.export.folders import change_config, change_graph, exported, package, set_in
from tests.unit.importing.folders import attributes, dims, leave_sizes_open, rename_ports
from tests.unit.metadata.client import ask
from workbench import describe
from workbench.config import files
from workbench.describe.builder import plain
from workbench.errors import LossyImportError, SaveError
from workbench.importing import GenaiImport, import_genai_config
from workbench.metadata import check_ports, decoder_io

SEARCH = {
    "do_sample": False, "early_stopping": True, "num_beams": 1, "num_return_sequences": 1, "min_length": 0,
    "max_length": 128, "top_k": 50, "no_repeat_ngram_size": 0, "temperature": 1.0, "top_p": 1.0,
    "repetition_penalty": 1.0, "length_penalty": 1.0, "diversity_penalty": 0.0,
}  # fmt: skip


def imported(folder: Path) -> GenaiImport:
    """Every loss allowed; valid in both dialects."""
    found = import_genai_config(folder, allow_lossy=True)
    assert not found.metadata.validate("pr828") and not found.metadata.validate("v1")
    return found


def group(found: GenaiImport) -> dict[str, Any]:
    (one,) = found.metadata.data["pipeline"]["workflow"]["serving"]["state_service"]["groups"].values()
    return dict(one)


@pytest.mark.parametrize("ep", ["cpu", "default"])
def test_the_workflow_is_that_of_describe(ep: str, tmp_path: Path) -> None:
    exported(tmp_path / "x", ep)
    found, ours = imported(tmp_path / "x").metadata.data, describe(package(ep)).data
    assert found["pipeline"] == ours["pipeline"] and found["package"] == ours["package"]
    assert found["model"] == {**ours["model"], "architecture": "llama"}
    assert found["generation"] == {"defaults": SEARCH}


def test_aliasing_needs_config_and_graph(tmp_path: Path) -> None:
    exported(tmp_path / "cpu")
    assert group(imported(tmp_path / "cpu"))["aliasing"] == "permitted"
    change_config(tmp_path / "cpu", set_in("search.past_present_share_buffer", False))
    assert "aliasing" not in group(imported(tmp_path / "cpu"))
    exported(tmp_path / "default", "default")
    assert "aliasing" not in group(imported(tmp_path / "default"))


def test_special_tokens_and_other_facts(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    for path, value in (("eos_token_id", [2, 9, 2]), ("pad_token_id", 0), ("sep_token_id", 4), ("eot_token_id", 5)):
        change_config(tmp_path / "x", set_in(f"model.{path}", value))
    change_config(tmp_path / "x", set_in("search.chunk_size", 32))
    data = imported(tmp_path / "x").metadata.data
    said = data["package"]["tokenizer"]
    assert {name: token["id"] for name, token in said["special_tokens"].items()} == {
        "bos": 1, "pad": 0, "eos": 2, "eos_2": 9, "sep": 4, "eot": 5,
    }  # fmt: skip
    assert said["special_tokens"]["eos"]["content"] == "</s>" and said["special_tokens"]["eos_2"]["content"] == "'"
    assert (said["algorithm"], said["byte_level"], said["vocab_size"]) == ("bpe", True, 96)
    assert data["model"]["runtime_configurable"] == {"chunked_prefill": {"chunk_size": 32}}


def test_losses_are_listed_and_permission_changes_nothing_else(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    change_config(tmp_path / "x", set_in("model.decoder.invented.deeply", [{"a": 1}, 2]))
    found = imported(tmp_path / "x")
    lost = {loss.path: (loss.value, loss.fate, loss.note) for loss in found.losses}
    assert lost["model.decoder.invented.deeply[0].a"][:2] == (1, "unknown")
    assert lost["model.decoder.hidden_size"] == (64, "dropped", "a width inside the graph that no port of it has")
    assert len(lost) == 4 and all(note for _, _, note in lost.values())
    with pytest.raises(LossyImportError) as caught:
        import_genai_config(tmp_path / "x")
    assert caught.value.losses == found.losses
    change_config(tmp_path / "x", lambda words: words["model"]["decoder"].pop("invented"))
    assert imported(tmp_path / "x").metadata.data == found.metadata.data


def test_a_config_without_losses_needs_no_permission(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    change_config(tmp_path / "x", lambda words: words["model"]["decoder"].pop("hidden_size"))
    change_config(tmp_path / "x", set_in("model.decoder.session_options", {"provider_options": [{"cuda": {}}, {}]}))
    assert import_genai_config(tmp_path / "x").losses == ()


def test_tokens_without_a_tokenizer_are_lost(tmp_path: Path) -> None:
    exported(tmp_path / "x", tokenizer=False)
    found = imported(tmp_path / "x")
    assert "package" not in found.metadata.data
    lost = {loss.path for loss in found.losses if "no tokenizer.json" in loss.note}
    assert lost == {"model.bos_token_id", "model.pad_token_id", "model.eos_token_id"}


def test_no_end_of_text_is_said_once(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    change_config(tmp_path / "x", set_in("model.eos_token_id", []))
    assert [note for note in imported(tmp_path / "x").notes if "no end of text" in note] == [
        "The model names no end of text: every answer is as long as the request allows."
    ]


def test_a_tokenizer_in_a_folder_of_its_own(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    (tmp_path / "x" / "words").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "x" / name).rename(tmp_path / "x" / "words" / name)
    change_config(tmp_path / "x", set_in("model.tokenizer_dir", "words/"))
    said = imported(tmp_path / "x").metadata.data["package"]["tokenizer"]
    assert said["artifacts"] == [{"location": "words/tokenizer.json"}] and "eos" in said["special_tokens"]


# --- graphs of other builders -------------------------------------------------------------------------------------
def test_ports_keep_the_names_of_the_graph(tmp_path: Path) -> None:
    exported(tmp_path / "x", "default")
    found = imported(rename_ports(tmp_path / "x"))
    found.save()
    assert check_ports(tmp_path / "x", dialect="v1").ok
    io = decoder_io(tmp_path / "x", dialect="v1")
    assert io is not None and (io.token_input, io.attention_mask_input, io.position_ids_input, io.logits_output) == (
        "tokens", "mask", "places", "scores",
    )  # fmt: skip
    assert io.kv_inputs[:3] == ("old_k_0", "old_v_0", "old_k_1") and io.kv_outputs[:2] == ("new_k_0", "new_v_0")


def test_open_sizes_are_closed_in_a_second_graph(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    change_graph(tmp_path / "x", leave_sizes_open)
    before = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()}
    found = imported(tmp_path / "x")
    assert found.save() == (tmp_path / "x" / "decoder.onnx", tmp_path / "x" / "inference_metadata.yaml")
    assert {name: (tmp_path / "x" / name).read_bytes() for name in before} == before
    caches = dims(tmp_path / "x" / "decoder.onnx", lambda name: "key_values" in name or "present" in name)
    assert len(caches) == 12 and all(found[1::2] == [2, 16] for found in caches.values())
    assert check_ports(tmp_path / "x", dialect="v1").ok
    onnx.checker.check_model(str(tmp_path / "x" / "decoder.onnx"), full_check=False)
    assert "axis 3 is 16" in found.notes[0]


def _called_decoder(folder: Path) -> None:
    change_graph(folder, leave_sizes_open)
    (folder / "model.onnx").rename(folder / "decoder.onnx")
    change_config(folder, set_in("model.decoder.filename", "decoder.onnx"))


@pytest.mark.parametrize(
    ("ep", "change", "file"),
    [
        ("cpu", lambda folder: None, "model.onnx"),
        ("cpu", lambda folder: change_graph(folder, leave_sizes_open), "decoder.onnx"),
        ("cpu", _called_decoder, "decoder.sized.onnx"),
        ("webgpu", lambda folder: None, "decoder.onnx"),
    ],
    ids=["as it is", "with sizes", "with sizes beside decoder.onnx", "with tokens in int64"],
)
def test_the_document_names_the_graph_that_it_is_of(
    ep: str, change: Callable[[Path], Any], file: str, tmp_path: Path
) -> None:
    exported(tmp_path / "x", ep)
    change(tmp_path / "x")
    found = imported(tmp_path / "x").metadata
    components = found.data["pipeline"]["workflow"]["components"]
    assert components["decoder"]["implementation"] == {"kind": "onnx", "artifact": file}
    assert found.document.workflow is not None and dict(found.data) == plain(found.document)
    assert list(found.artifacts) == ([] if file == "model.onnx" else [file])


@pytest.mark.parametrize("overwrite", [False, True], ids=["new files", "files replaced"])
def test_a_disk_that_is_full_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    exported(tmp_path / "x")
    change_graph(tmp_path / "x", leave_sizes_open)
    found = imported(tmp_path / "x")
    if overwrite:
        for path in found.save():
            path.write_bytes(b"of yesterday")
    before = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()}
    synced: list[Path] = []

    def full(path: Path) -> None:
        synced.append(path)
        if len(synced) == 2:  # the graph had room, the document has none
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "sync_file", full)
    with pytest.raises(SaveError, match="No space left on device. What was there before is untouched"):
        found.save(overwrite=overwrite)
    assert {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()} == before and len(synced) == 2


def test_a_cache_that_keeps_a_window_keeps_all_in_a_second_graph(tmp_path: Path) -> None:
    exported(tmp_path / "x", windowed=True, window_cache=True)
    found = imported(tmp_path / "x")
    found.save()
    file, second = tmp_path / "x" / "model.onnx", tmp_path / "x" / "decoder.onnx"
    assert set(attributes(file, "sliding_window_cache")) == {1}
    assert set(attributes(second, "sliding_window_cache")) == {0}
    assert attributes(second, "local_window_size") == attributes(file, "local_window_size") == [8, 8, 8]
    assert group(found)["kind"] == "sliding_attention"
    # The published client would cut every layer's cache to a window stated here, and answer wrong.
    assert "sliding_window" not in found.metadata.data["model"]["attention"]


def test_the_published_client_takes_the_documents(tmp_path: Path) -> None:
    pytest.importorskip("onnx_genai_server", reason="onnx-genai-server is not installed: pip install -e '.[genai]'")
    exported(tmp_path / "cpu")
    for path, value in (("model.eos_token_id", [2, 9]), ("model.eot_token_id", 5), ("search.chunk_size", 32)):
        change_config(tmp_path / "cpu", set_in(path, value))
    exported(tmp_path / "default", "default")
    rename_ports(tmp_path / "default")
    found = {name: imported(tmp_path / name).metadata.to("v1").data for name in ("cpu", "default")}
    assert {name: opinion.stage for name, opinion in ask(found).items()} == {"cpu": "ok", "default": "ok"}


# --- faces --------------------------------------------------------------------------------------------------------
def test_faces(tmp_path: Path) -> None:
    exported(tmp_path / "x")
    change_config(tmp_path / "x", set_in("model.<b>", "<script>"))
    found = imported(tmp_path / "x")
    assert repr(found) == "GenaiImport('x' as decoder: 32 values imported, 3 lost)"
    assert list(found.to_frame().columns) == ["path", "value", "fate", "note"] and len(found.to_frame()) == 35
    page = found._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "<b>" not in page
    assert json.loads(json.dumps(found.to_dict()))["losses"][0].keys() == {"path", "value", "fate", "note"}
    assert str(found.losses[-1]).startswith("model['<b>'] = '<script>' unknown: ")
