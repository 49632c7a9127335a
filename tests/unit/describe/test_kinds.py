"""What each kind must say, from formulas of its configuration and of its graphs: no golden file is read here."""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden_ops import words
from tests.make_metadata_goldens import KINDS, SLOTS, examples
from tests.metadata_packages import LAYERS, VOCAB
from workbench.metadata import Loaded, decoder_io, derived_capabilities, state_lifetimes
from workbench.metadata.context import Context
from workbench.metadata.document.steps import BranchStep, InvokeStep, LoopStep
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.scope.region import regions
from workbench.models import lookup

CONTROLS = ("active", "done", "accepted_len")
LOOPS = {"workflow_ssa", "serving_service_contract", "nested_control_flow", "typed_emit", "linear_effects"}
GROWS = LOOPS | {"bounded_state_recurrence"}
ASKED = {
    "decoder": GROWS,
    "static_cache": LOOPS,
    "windows": GROWS,
    "lora": GROWS | {"parameter_adapters", "heterogeneous_adapter_batching"},
    "hybrid": GROWS,
    "embedding": {"workflow_ssa", "typed_emit"},
    "ctc": {"workflow_ssa", "typed_emit"},
    "encoder-decoder": GROWS,
    "vision-language": GROWS | {"input_presence"},
    "speculative": GROWS | {"emit_valid_length"},
    "speculative-chained": GROWS | {"emit_valid_length"},
}


def context(name: str) -> Context:
    return Context(Loaded(examples()[name].metadata.data))


def workflow(name: str) -> Workflow:
    found = context(name).workflow
    assert found is not None
    return found


def groups(name: str) -> dict[str, Any]:
    serving = workflow(name).serving
    assert serving is not None
    return dict(serving.state_service.groups)


def cells(name: str, group: str) -> set[str]:
    return {cell for cell, made in workflow(name).state.items() if made.service_group == group}


def config(family: str) -> dict[str, Any]:
    return words(lookup(family))


@pytest.mark.parametrize("name", KINDS)
def test_capabilities_are_those_that_the_structure_asks_for(name: str) -> None:
    found = derived_capabilities(examples()[name].metadata.data)
    assert set(found.words) == ASKED[name]
    assert found.unlisted == ()


def test_a_cache_that_grows_is_bounded_by_the_positions_of_the_model() -> None:
    for name, family in (("decoder", "llama"), ("windows", "gemma3_text"), ("lora", "llama"), ("hybrid", None)):
        made = workflow(name)
        grown = [cell for cell in made.state.values() if cell.service_group and "attention" in cell.service_group]
        assert grown and {one.varying_axis for one in grown} == {2}
        bounds = {made.inputs[one.recurrence.max].default for one in grown}
        assert bounds == {config(family)["max_position_embeddings"] if family else 2**31 - 1}
    fixed = workflow("static_cache").state.values()
    assert {cell.varying_axis for cell in fixed} == {None}


@pytest.mark.parametrize("name", ["decoder", "static_cache", "windows", "lora"])
def test_a_decoder_carries_keys_and_values_of_every_layer(name: str) -> None:
    layers = config("gemma3_text" if name == "windows" else "llama")["num_hidden_layers"]
    io = decoder_io(examples()[name].metadata.data)
    assert io is not None
    ports = [f"{i}.{role}" for i in range(layers) for role in ("key", "value")]
    held = sorted(io.kv_inputs), sorted(io.kv_outputs)
    assert held == (sorted(f"past_key_values.{port}" for port in ports), sorted(f"present.{port}" for port in ports))
    assert (io.token_input, io.logits_output, io.sequence_source) == ("input_ids", "logits", "token_ids")
    more = ("token", "cache_lengths") if name == "static_cache" else ()
    assert len(workflow(name).state) == 2 * layers + len(CONTROLS) + len(more)


def test_a_cache_of_fixed_length_is_written_at_places() -> None:
    group = groups("static_cache")["full_attention"]
    assert (group.update.kind, group.update.write_indices) == ("indexed_scatter", "cache_lengths")
    assert workflow("static_cache").inputs[group.update.capacity].default == SLOTS
    shapes = {workflow("static_cache").state[cell].contract.shape for cell in cells("static_cache", "full_attention")}
    sizes = config("llama")
    assert shapes == {("batch_size", sizes["num_key_value_heads"], SLOTS, sizes["head_dim"])}
    io = decoder_io(examples()["static_cache"].metadata.data)
    assert io is not None and io.static_cache is not None


def test_windows_have_a_group_of_their_own() -> None:
    types = config("gemma3_text")["layer_types"]
    assert {"full_attention", "sliding_attention"} == set(types), "a mix is wanted"
    by_kind = {kind: [i for i, word in enumerate(types) if word == kind] for kind in types}
    found = {
        group.kind: sorted({a.layer for a in group.ports["decoder"].values()}) for group in groups("windows").values()
    }
    assert found == by_kind


def test_a_hybrid_replaces_its_recurrent_state_and_grows_its_cache() -> None:
    found = groups("hybrid")
    assert {name: group.kind for name, group in found.items()} == {
        "full_attention": "full_attention", "conv": "recurrent", "recurrent": "recurrent",
    }  # fmt: skip
    assert len(cells("hybrid", "conv")) == LAYERS - 1
    assert len(cells("hybrid", "recurrent")) == 1 and len(cells("hybrid", "full_attention")) == 2
    for name in ("conv", "recurrent"):
        assert (found[name].update.kind, found[name].sequence_axis) == ("replace", None)
        assert all(workflow("hybrid").state[cell].varying_axis is None for cell in cells("hybrid", name))
    assert not any(group.reuse.prefix_reusable for group in found.values()), "a prefix without its state is of no use"
    io = decoder_io(examples()["hybrid"].metadata.data)
    ports = ("0.conv", "1.conv", "0.recurrent")
    assert io is not None and set(io.state_pairs) == {(f"past.{port}", f"present.{port}") for port in ports}


def test_an_embedding_has_no_state_and_says_how_vectors_become_one() -> None:
    made, document = workflow("embedding"), context("embedding").document
    assert (made.state, made.serving) == ({}, None)
    width = config("bert")["hidden_size"]
    assert made.outputs["embeddings"].contract.shape == ("batch_size", "sequence_length", width)
    pooling = document.profiles["embedding"].pooling
    assert pooling is not None and (pooling.kind, pooling.axis, pooling.normalize) == ("mean", 1, True)
    assert made.inputs["application.token_type_ids"].default == 0, "one text is one segment"
    assert decoder_io(examples()["embedding"].metadata.data) is None


def test_an_encoder_runs_once_and_what_it_gave_is_only_read() -> None:
    name, layers = "encoder-decoder", 2
    around = [[outer.step.kind for outer in placed.around] for placed in context(name).invokes["encoder"]]
    assert around == [[]], "once, outside of every loop"
    cross = groups(name)["cross_attention"].ports["decoder"]
    assert len(cross) == 2 * layers
    assert {(alias.access, alias.output) for alias in cross.values()} == {("read_only", None)}
    (path_and_loop,) = context(name).loops
    carried = {carry.cell: carry.next for carry in path_and_loop[1].carried}
    assert all(carried[cell] == cell for cell in cross), "handed on as they are"
    starts = {workflow(name).state[cell].initializer for cell in cross}
    assert starts == {f"encoder.present.{i}.encoder.{role}" for i in range(layers) for role in ("key", "value")}
    io = decoder_io(examples()[name].metadata.data)
    assert io is not None and len(io.kv_inputs) == 2 * layers and io.cross_kv_inputs == ()
    assert not groups(name)["self_attention"].reuse.prefix_reusable, "its cache depends on the source"
    mask = next(p.step for p in context(name).invokes["decoder"] if isinstance(p.step, InvokeStep))
    assert mask.inputs["encoder_attention_mask"] == "application.attention_mask", "one mask for both"


def test_a_transcription_decodes_what_the_graph_scores() -> None:
    document = context("ctc").document
    profile = document.profiles["transcription"]
    assert profile.decoding is not None and profile.decoding.vocabulary is not None
    classes = (workflow("ctc").outputs["logits"].contract.shape or ())[profile.decoding.class_axis]
    assert classes == len(profile.decoding.vocabulary.tokens) == profile.decoding.vocabulary.size
    assert (profile.decoding.kind, profile.decoding.collapse_repeats, profile.decoding.time_axis) == ("ctc", True, 1)
    assert profile.decoding.lengths == "frame_lengths" and profile.batch_invariance == "padding_sensitive"
    program = document.preprocessing.audio if document.preprocessing else None
    assert program is not None and [one.op for one in program.transforms][:2] == ["decode", "resample"]


def test_a_picture_is_looked_at_only_where_there_is_one() -> None:
    made = workflow("vision-language")
    picture = made.inputs["request.image"]
    assert (picture.required, picture.present_as) == (False, "request.has_image")
    ((_, branch),) = context("vision-language").branches
    assert isinstance(branch, BranchStep) and branch.predicate == "request.has_image"
    readers = [
        [(o.path, p.path[len(o.path) : len(o.path) + 2]) for o in p.around if isinstance(o.step, BranchStep)]
        for p in context("vision-language").steps
        if isinstance(p.step, InvokeStep) and "request.image" in p.step.inputs.values()
    ]
    assert [[case for _, case in reader] for reader in readers] == [[("cases", "true")]]
    merged = branch.outputs["prompt.image_features"]
    assert set(merged.cases) == {"true"} and merged.default is not None
    io = decoder_io(examples()["vision-language"].metadata.data)
    assert io is not None and (io.inputs_embeds_input, io.sequence_source) == ("inputs_embeds", "inputs_embeds")


@pytest.mark.parametrize("name", ["speculative", "speculative-chained"])
def test_the_target_judges_what_follows_the_last_token(name: str) -> None:
    calls = {p.step.component: p.step for p in context(name).steps if isinstance(p.step, InvokeStep)}
    reader = calls.get("embedding", calls["proposer"])
    assert reader.inputs["input_ids"] == "token", "the proposer goes on from the last token that was accepted"
    assert calls["candidates"].inputs == {"first": "token", "then": calls["verifier"].inputs["proposal"]}
    assert calls["target"].inputs["input_ids"] == calls["candidates"].outputs["tokens"]
    assert calls["verifier"].inputs["logits"] == calls["target"].outputs["logits"]


@pytest.mark.parametrize("name", ["speculative", "speculative-chained"])
def test_everything_that_a_proposal_touched_can_be_cut_back(name: str) -> None:
    contract = context(name).document.speculative
    assert contract is not None
    runtime = {cell for cell, made in workflow(name).state.items() if made.management == "runtime"}
    assert set(contract.rollback_state) == runtime, "no state of either graph is left out"
    for group in groups(name).values():
        assert group.capabilities.rollback_positions == contract.max_proposal_width
    (region,) = regions(context(name))
    assert {"proposer", "target"} <= set(region.components)
    shape = workflow(name).outputs["tokens"].contract.shape or ()
    assert shape[1] == contract.max_proposal_width + 1, "all of a proposal, and one token of the target's own"


def test_a_chain_names_every_state_of_its_proposer() -> None:
    contract = context("speculative-chained").document.speculative
    assert contract is not None and contract.proposal_execution.kind == "chained"
    bound = {(one.input, one.output) for one in contract.proposal_execution.recurrent}
    aliases = [a for group in groups("speculative-chained").values() for a in group.ports.get("proposer", {}).values()]
    assert bound == {(alias.input, alias.output) for alias in aliases}
    assert contract.port_bindings == {"target_hidden_context": "fused_hidden"}
    block = context("speculative").document.speculative
    assert block is not None and block.proposal_execution.kind == "block"


@pytest.mark.parametrize("name", [name for name in KINDS if "serving_service_contract" in ASKED[name]])
def test_every_state_is_carried_by_the_one_loop(name: str) -> None:
    (found,) = [step for _, step in context(name).loops if isinstance(step, LoopStep)]
    assert {carry.cell for carry in found.carried} == set(workflow(name).state)
    assert len(state_lifetimes(examples()[name].metadata.data).entries) == len(workflow(name).state)


def test_the_end_of_a_text_is_the_one_that_was_said() -> None:
    for name in ("hybrid", "encoder-decoder", "vision-language"):
        facts = context(name).document.package
        assert facts is not None and facts.tokenizer is not None
        assert (facts.tokenizer.vocab_size, facts.tokenizer.special_tokens["eos"].id) == (VOCAB, 3)
