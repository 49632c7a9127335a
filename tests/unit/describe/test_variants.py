"""Packages of a kind that are not the golden one: other ports, other names, fewer of them. All must stay valid."""

from __future__ import annotations

import dataclasses
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.metadata_graphs import Ports, graph
from tests.metadata_packages import (
    EMBEDS,
    HIDDEN,
    IDS,
    LOGITS,
    MASK,
    TRANSFORMS,
    cache,
    ctc,
    encoder_decoder,
    grown,
    hybrid,
    own,
    speculative_block,
    vision_language,
)
from tests.unit.error_rows_describe import read
from workbench.describe import InferenceMetadata, describe
from workbench.describe.state_ports import state_ports
from workbench.errors import ConfigError, UnsupportedError
from workbench.metadata import Loaded, check_ports, decoder_io
from workbench.metadata.context import Context
from workbench.metadata.document.workflow import Workflow

EOS = {"eos_token_id": 3}


def whisper() -> dict[str, onnx.ModelProto]:
    """Sound in, hidden states across, four tokens to begin with."""
    mel: Ports = {"input_features": ("float32", ["batch", 80, 12])}
    hidden: Ports = {"last_hidden_state": ("float32", ["batch", 6, HIDDEN])}
    taken: Ports = {"encoder_hidden_states": ("float32", ["batch", 6, HIDDEN])}
    return {
        "encoder": graph("encoder", mel, hidden),
        "decoder": graph("decoder", {**IDS, **taken, **cache(2)}, {**LOGITS, **grown(2)}),
    }


def optimum() -> dict[str, onnx.ModelProto]:
    """A decoder that gives the encoder's keys and values back as well."""
    made = encoder_decoder(1)
    again = cache(1, "source", "present.", "encoder.")
    inputs = {**IDS, **cache(1, words="decoder."), **cache(1, "source", words="encoder.")}
    return made | {"decoder": graph("decoder", inputs, {**LOGITS, **grown(1, "decoder."), **again})}


def odd() -> dict[str, onnx.ModelProto]:
    """A decoder that takes what no small graph makes: whoever runs it has to."""
    whole = encoder_decoder(1)
    more: Ports = {"beam_idx": ("int64", ["batch"])}
    inputs = {**IDS, **more, **cache(1, words="decoder."), **cache(1, "source", words="encoder.")}
    return whole | {"decoder": graph("decoder", inputs, {**LOGITS, **grown(1, "decoder.")})}


def positioned() -> dict[str, onnx.ModelProto]:
    """A decoder with a mask and positions of its own."""
    places: Ports = {"position_ids": ("int64", ["batch", "sequence"])}
    inputs = {**IDS, **MASK, **places, **cache(1, words="decoder."), **cache(1, "source", words="encoder.")}
    return encoder_decoder(1) | {"decoder": graph("decoder", inputs, {**LOGITS, **grown(1, "decoder.")})}


def convolutions() -> dict[str, onnx.ModelProto]:
    """No attention at all, and names that say nothing."""
    window: Ports = {"window": ("float32", ["batch", HIDDEN, 3])}
    return {"model": graph("conv", {**IDS, **window}, {**LOGITS, "shifted": window["window"]})}


def qwen_vl() -> dict[str, onnx.ModelProto]:
    """A grid beside the pixels, positions on three axes."""
    seen: Ports = {"pixel_values": ("float32", ["patches", 24]), "image_grid_thw": ("int64", ["images", 3])}
    features: Ports = {"image_features": ("float32", ["patches", HIDDEN])}
    places: Ports = {"position_ids": ("int64", [3, "batch", "sequence"])}
    return vision_language(1) | {
        "vision": graph("vision", seen, features),
        "decoder": graph("decoder", {**EMBEDS, **MASK, **places, **cache(1)}, {**LOGITS, **grown(1)}),
    }


def hybrid_target() -> dict[str, onnx.ModelProto]:
    """The target of a speculation has a recurrent state beside its cache."""
    (model,) = hybrid().values()
    return speculative_block() | {"target": model}


def frames() -> dict[str, onnx.ModelProto]:
    """Scores without lengths."""
    mel: Ports = {"input_features": ("float32", ["batch", "frames", 80])}
    return {"model": graph("ctc", mel, {"logits": ("float32", ["batch", "frames", 5])})}


GRID = [*TRANSFORMS, {"op": "patchify", "patch_size": 2}, {"op": "emit_grid_coordinates"}]
WORDS = {"blank_id": 4, "vocabulary": ["a", "b", "c", " ", ""]}
VARIANTS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "whisper": ("encoder-decoder", whisper, {"decoder_start": [1, 2, 5, 6], **EOS}),
    "optimum": ("encoder-decoder", optimum, {"decoder_start": 1, **EOS}),
    "odd": ("encoder-decoder", odd, {"decoder_start": 1, **EOS}),
    "positioned": ("encoder-decoder", positioned, {"decoder_start": 1, **EOS}),
    "convolutions": ("hybrid", convolutions, {"state": {"window": "shifted"}, **EOS}),
    "qwen-vl": ("vision-language", qwen_vl, {"transforms": GRID, **EOS}),
    "hybrid target": ("speculative", hybrid_target, {"max_proposal_width": 4}),
    "own vocabulary": (
        "speculative", speculative_block,
        {"max_proposal_width": 4, "vocabulary": {"kind": "mapped", "artifact": "ids.bin"}},
    ),
    "frames": ("ctc", frames, WORDS),
    "samples": ("ctc", ctc, WORDS),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Made:
    """A variant's document, and what its graphs are held against it."""

    metadata: InferenceMetadata
    ports: Any


@functools.cache
def made(name: str) -> Made:
    kind, graphs, facts = VARIANTS[name]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        metadata = describe(read(root, kind, graphs(), **facts))
        metadata.save_beside(root, dialect="pr828")
        return Made(metadata, check_ports(root))


def workflow(name: str) -> Workflow:
    found = Context(Loaded(made(name).metadata.data)).workflow
    assert found is not None
    return found


@pytest.mark.parametrize("name", VARIANTS)
def test_it_is_valid_in_both_dialects_and_fits_its_graphs(name: str) -> None:
    for dialect in ("pr828", "v1"):
        assert list(made(name).metadata.validate(dialect)) == []
    assert made(name).ports.ok, made(name).ports


def test_the_client_takes_all_of_them() -> None:
    pytest.importorskip("onnx_genai_server", reason="onnx-genai-server is not installed")
    from tests.unit.metadata.client import ask

    versions = (None, "v1.8")
    asked = {f"{n} {v}": made(n).metadata.to("v1", schema_version=v).data for n in VARIANTS for v in versions}
    assert {name: one.said[:200] for name, one in ask(asked).items() if one.stage != "ok"} == {}


def test_hidden_states_of_an_encoder_are_kept_for_the_whole_answer() -> None:
    found = workflow("whisper")
    serving = found.serving
    assert serving is not None
    group = serving.state_service.groups["encoder"]
    (cell,) = group.ports["decoder"]
    alias = group.ports["decoder"][cell]
    assert (group.kind, alias.input, alias.access, alias.output) == (
        "encoder", "encoder_hidden_states", "read_only", None,
    )  # fmt: skip
    assert found.state[cell].initializer == "encoder.last_hidden_state"
    assert found.inputs["request.input_features"].role.role == "media"
    reads = [p.step.inputs for p in Context(Loaded(made("whisper").metadata.data)).invokes["decoder"]]
    assert [feeds["input_ids"] for feeds in reads] == ["decoder.start", "token"], "four tokens first, then one a round"
    assert found.components["encoder"].ports.roles["input_features"] == "audio_features"


def test_what_no_graph_makes_is_left_to_whoever_runs_it() -> None:
    assert "application.decoder.beam_idx" in workflow("odd").inputs
    assert "token_policy" in workflow("odd").components and made("odd").metadata.artifacts == {}
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.raises(UnsupportedError, match="takes beam_idx, which no"),
    ):
        describe(read(Path(folder), "encoder-decoder", odd(), decoder_start=1, **EOS), policy="graphs")
    assert "policy.positions.onnx" in made("positioned").metadata.artifacts
    assert not [name for name in workflow("positioned").inputs if name.startswith("application.decoder.")]


def test_keys_and_values_that_come_back_are_not_taken() -> None:
    serving = workflow("optimum").serving
    assert serving is not None
    aliases = serving.state_service.groups["cross_attention"].ports["decoder"].values()
    assert {(alias.access, alias.output) for alias in aliases} == {("read_only", None)}
    io = decoder_io(made("optimum").metadata.data)
    assert io is not None and io.kv_outputs == ("present.0.decoder.key", "present.0.decoder.value")


def test_a_state_may_be_all_that_there_is() -> None:
    found = workflow("convolutions")
    assert [name for name, cell in found.state.items() if cell.management == "runtime"] == ["window"]
    assert set(found.serving.state_service.groups) == {"window"}


def test_requests_lie_on_another_axis_of_three_dimensional_positions() -> None:
    ports = workflow("qwen-vl").components["decoder"].ports.inputs
    assert (ports["position_ids"].request_axis, ports["attention_mask"].request_axis) == (1, 0)
    program = made("qwen-vl").metadata.document.preprocessing
    assert program is not None and program.image is not None
    contents = {one.name: (one.content, one.source) for one in program.image.outputs}
    last = len(GRID) - 1
    assert contents == {
        "image.pixel_values": ("pixels", f"image.{last - 1}"),
        "image.image_grid_thw": ("grid_dimensions", f"image.{last}"),
    }


def test_all_that_a_target_remembers_goes_back_together() -> None:
    serving = workflow("hybrid target").serving
    assert serving is not None
    groups = {name: g for name, g in serving.state_service.groups.items() if "target" in g.ports}
    assert set(groups) == {"target_cache", "target_conv", "target_recurrent"}
    for name, group in groups.items():
        assert set(group.capabilities.cascade) == set(groups) - {name}
        assert not group.reuse.prefix_reusable


def test_samples_may_come_without_lengths() -> None:
    frames_, samples = (made(name).metadata.document.profiles["transcription"] for name in ("frames", "samples"))
    assert frames_.decoding is not None and (frames_.decoding.lengths, frames_.batch_invariance) == (None, None)
    assert samples.decoding is not None and samples.decoding.lengths == "frame_lengths"
    assert made("samples").metadata.document.preprocessing is None


@pytest.mark.parametrize(
    ("words", "modules", "expected"),
    [
        ({"pooling_mode_mean_tokens": True}, ["Pooling", "Normalize"], ("mean", True)),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, ["Pooling"], ("cls", False)),
        ({"pooling_mode_lasttoken": True}, ["Pooling", "Dense"], ("last_token", False)),
    ],
)
def test_pooling_is_read_where_sentence_transformers_keeps_it(
    words: dict[str, bool], modules: list[str], expected: tuple[str, bool], tmp_path: Path
) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(words))
    (tmp_path / "modules.json").write_text(json.dumps([{"type": f"sentence_transformers.models.{m}"} for m in modules]))
    package = own("bert")
    assert package.source is not None
    package = dataclasses.replace(package, source=dataclasses.replace(package.source, weights=tmp_path))
    pooling = describe(package).document.profiles["embedding"].pooling
    assert pooling is not None and (pooling.kind, pooling.normalize) == expected
    said = describe(package, facts={"pooling": "none"}).document.profiles["embedding"]
    assert said.pooling is None, "what is said counts more than what is found"


@pytest.mark.parametrize("text", ["[1]", "3", "{", '{"pooling_mode_mean_tokens": "yes"}'])
def test_a_pooling_file_that_says_nothing_is_no_pooling(text: str, tmp_path: Path) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(text)
    package = own("bert")
    assert package.source is not None
    package = dataclasses.replace(package, source=dataclasses.replace(package.source, weights=tmp_path))
    with pytest.raises(ConfigError, match="without the fact 'pooling'"):
        describe(package)


def test_pairs_of_states_by_their_names() -> None:
    inputs = ["input_ids", "past_key_self_0", "past_conv.2", "cache.1.value", "ssm_in", "past_value_cross_0", "mask"]
    outputs = ["logits", "present_key_self_0", "present_conv.2", "present.1.value", "ssm_out"]
    found = [(p.input, p.output, p.role, p.layer, p.cross) for p in state_ports(inputs, outputs)]
    assert found == [
        ("past_key_self_0", "present_key_self_0", "key", 0, False),
        ("past_conv.2", "present_conv.2", None, 2, False),
        ("cache.1.value", "present.1.value", "value", 1, False),
        ("ssm_in", "ssm_out", None, None, False),
        ("past_value_cross_0", None, "value", 0, True),
    ]
