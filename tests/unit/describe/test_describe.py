"""``describe``: the right kind, valid in both dialects and for the client, and true about the graph."""

from __future__ import annotations

import copy
import html
from pathlib import Path

import onnx_ir as ir
import pytest

from tests.unit.describe.described import PACKAGES, SPELLED, described
from tests.unit.export.folders import package, source, write_source
from tests.unit.metadata.client import ask
from tests.unit.metadata.test_client import pytestmark as _client
from workbench import build, describe
from workbench.describe import InferenceMetadata, WorkflowBuilder
from workbench.describe.builder import promise
from workbench.describe.contracts import contract
from workbench.describe.policy import graphs
from workbench.errors import ArgumentError, UnknownNameError, UnsupportedError
from workbench.metadata import decoder_io, derived_capabilities, load, validate
from workbench.package import Package
from workbench.package import load as load_package

KINDS = {
    "growing": "decoder", "growing-portable": "decoder", "windowed": "windows", "windowed-portable": "windows",
    "fixed": "static_cache", "fixed-portable": "static_cache",
}  # fmt: skip
installed = _client


@pytest.mark.parametrize("name", [*PACKAGES, *SPELLED])
def test_a_document_is_valid_in_both_dialects(name: str) -> None:
    made = described(name)
    assert made.kind == KINDS[name.removesuffix(" spelled")]
    for dialect in ("pr828", "v1"):
        assert [str(found) for found in made.validate(dialect)] == []
    assert load(made.to_yaml("pr828")).data == made.data and load(made.to_yaml()).data == made.to("v1").data
    assert made.to("v1").unsaid == () and made.to("pr828").data == made.data


@installed
def test_the_client_takes_every_document() -> None:
    names = [*PACKAGES, *SPELLED]
    said = ask({name: described(name).to("v1").data for name in names})
    assert {name: opinion.stage for name, opinion in said.items()} == dict.fromkeys(names, "ok")


@pytest.mark.parametrize("name", [*PACKAGES, *SPELLED])
def test_what_it_says_of_the_decoder_is_true_of_the_graph(name: str) -> None:
    made = described(name)
    name, spelled, _ = name.partition(" spelled")
    graph = (made.models or PACKAGES[name]().models)["model"].graph
    assert bool(made.artifacts) is (bool(spelled) or name == "fixed-portable")
    io = decoder_io(made.data)
    assert io is not None
    inputs = {value.name for value in graph.inputs}
    ports = [io.token_input, io.attention_mask_input, io.position_ids_input, *io.kv_inputs]
    ports += [io.static_cache.write_indices_input, io.static_cache.kv_sequence_length_input] if io.static_cache else []
    assert {port for port in ports if port} == inputs
    assert [io.logits_output, *io.kv_outputs] == [value.name for value in graph.outputs]
    assert io.kv_inputs == tuple(n.replace("present", "past_key_values") for n in io.kv_outputs)
    assert (io.kv_layout, io.kv_ownership, io.sequence_source) == ("head_major_bnsh", "owned", "token_ids")
    in_place = name not in ("growing-portable", "windowed-portable")  # these return a longer cache
    assert io.aliasing == ("permitted" if in_place else "forbidden")
    assert (io.static_cache is not None) is (name == "fixed-portable")


@installed
def test_a_cache_cannot_grow_by_what_the_loop_accepts() -> None:
    """Why it is bounded: neither we nor the client take the loop's own count as an increment."""
    data = copy.deepcopy(described("growing").to("v1").data)
    cell = data["pipeline"]["workflow"]["state"]["cache.0.key"]
    cell["recurrence"] |= {"kind": "growing", "increment": "accepted_len"}
    assert {one.code for one in validate(data)} == {"N211"}
    said = ask({"growing": data})["growing"]
    assert said.stage == "semantic" and "recurrence.increment references value 'accepted_len' before" in said.said


@pytest.mark.parametrize("name", PACKAGES)
def test_capabilities_are_those_that_are_used(name: str) -> None:
    assert derived_capabilities(described(name).data).unlisted == ()


def test_windows_are_a_group_of_their_own() -> None:
    workflow = described("windowed").document.workflow
    assert workflow is not None and workflow.serving is not None
    groups = workflow.serving.state_service.groups
    assert {name: group.kind for name, group in groups.items()} == {"sliding_attention": "sliding_attention"}
    assert "the last 8 tokens" in described("windowed").notes[0]


def test_the_ends_of_a_text_are_named() -> None:
    tokens = described("growing").document.package.tokenizer
    assert tokens is not None and tokens.vocab_size == 96 and tokens.byte_level and tokens.algorithm == "bpe"
    assert {name: fact.id for name, fact in tokens.special_tokens.items()} == {"pad": 3, "bos": 1, "eos": 2}
    assert tokens.special_tokens["eos"].content == "</s>"
    assert described("growing").to("v1").data["package"]["tokenizer"]["special_tokens"]["eos_token_id"] == [2]


@pytest.mark.parametrize("policy", ["runtime", "graphs"])
def test_a_model_without_an_end_runs_to_the_limit(policy: str, tmp_path: Path) -> None:
    place = write_source(tmp_path / "x", eos_token_id=None)
    made = describe(build(place, execution_provider="cpu", dtype="float32"), policy=policy)
    assert "names no end of text" in made.notes[0] and [str(found) for found in made.validate("v1")] == []
    assert "eos" not in made.document.package.tokenizer.special_tokens


def test_a_file_of_unknown_origin_is_described_by_its_ports(tmp_path: Path) -> None:
    package("cpu", windowed=True).save(tmp_path / "x", progress=False)
    found = describe(load_package(tmp_path / "x" / "model.onnx"))
    assert found.kind == "windows"  # GroupQueryAttention says so
    assert found.document.package is found.document.model is None and found.validate("v1").errors == ()


def test_faces() -> None:
    made = described("fixed-portable")
    assert repr(made) == repr(describe(PACKAGES["fixed-portable"]())) and "as static_cache" in repr(made)
    assert "4 policy graphs" in repr(made)
    page = made._repr_html_()
    assert "indexed_scatter" in page and "policy.greedy.onnx" in page
    frame = made.to_frame()
    assert list(frame.columns) == ["part", "name", "about"]
    assert set(frame["part"]) == {"input", "output", "component", "state cell", "state group"}
    evil = InferenceMetadata(made.document, made.kind, "<script>", notes=("<script>",))
    assert "<script>" not in evil._repr_html_() and html.escape("<script>") in evil._repr_html_()


def test_refusals() -> None:
    stranger = Package({"advance": graphs.advance(4)})
    with pytest.raises(UnsupportedError, match="cannot be described as decoder .*Its graphs: advance: cache_lengths"):
        describe(stranger)
    with pytest.raises(UnsupportedError, match="cannot be described as static_cache"):
        describe(PACKAGES["growing"](), kind="static_cache")
    with pytest.raises(UnknownNameError, match="Unknown kind 'decode'. Did you mean 'decoder'"):
        describe(PACKAGES["growing"](), kind="decode")
    with pytest.raises(UnknownNameError, match="Unknown policy 'graph'. Did you mean 'graphs'"):
        describe(PACKAGES["growing"](), policy="graph")
    with pytest.raises(ArgumentError, match="package must be a Package; found str"):
        describe("model")
    graph = PACKAGES["growing"]().model
    with pytest.raises(ArgumentError, match=r"found Model.*Package\(\{'model': graph\}\) holds a graph"):
        describe(graph)
    assert describe(Package({"model": graph})).kind == "decoder"


def test_a_graph_for_single_tokens_is_refused() -> None:
    captured = build(source(), execution_provider="webgpu", dtype="float16", graph_capture=True)
    with pytest.raises(UnsupportedError, match="one token at a time.*onnx-genai gives it the whole prompt.*Build it"):
        describe(captured)


def test_tokens_are_fed_in_int64() -> None:
    narrow = package("webgpu", "float16")
    made = describe(narrow)
    before, after = ({v.name: v.dtype for v in model.graph.inputs} for model in (narrow.model, made.models["model"]))
    assert set(before) == set(after)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"input_ids", "attention_mask"} and "casts them" in made.notes[0]
    assert {after[name] for name in changed} == {ir.DataType.INT64}
    workflow = made.document.workflow
    assert workflow is not None and workflow.inputs["request.input_ids"].contract.dtype == "int64"


def test_the_builder_refuses_what_no_document_has() -> None:
    builder, one = WorkflowBuilder(), contract("int64", 1, batch=None)
    builder.literal("zero", one, 0)
    with pytest.raises(ArgumentError, match="has an input 'zero' already. Give this one another name"):
        builder.literal("zero", one, 1)
    with pytest.raises(UnknownNameError, match="Unknown role of an input 'prompt'. Did you mean 'prompt_t"):
        builder.request("prompt", one, "prompt")
    with pytest.raises(UnknownNameError, match="Unknown state group 'kv'"):
        builder.alias("kv", "decoder", "cell", "in")
    with pytest.raises(UnknownNameError, match="Unknown section 'modle'. Did you mean 'model'"):
        builder.section("modle", None)
    builder.onnx("lm", "lm.onnx", contract=promise("mine", "1"))
    with pytest.raises(ArgumentError, match="has a component 'lm' already"):
        builder.onnx("lm", "other.onnx")
