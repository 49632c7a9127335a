"""Adapters: where in the graph they change what, and what of an adapter's folder cannot be said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.metadata_packages import adapter_folder, own
from tests.small import generic, on
from workbench.describe import describe
from workbench.describe.kinds.lora_targets import places
from workbench.errors import ModelFileError, UnsupportedError, WeightsError
from workbench.metadata.document.adapters import Adapters
from workbench.package import Package
from workbench.types import Role


def adapters(package: Package, **folders: Any) -> Adapters:
    found = describe(package, facts={"adapters": folders}).document.adapters
    assert found is not None
    return found


@pytest.mark.parametrize("provider", ["default", "cpu", "webgpu"])
def test_a_place_holds_the_weight_of_its_module(provider: str) -> None:
    """Also where a provider's graph packs three projections into one weight: its columns are those of the module."""
    model, role = generic("llama")
    assert role is Role.DECODER
    found = places(on(model, role, provider))
    graph = on(model, role, provider).graph
    for module in ("q_proj", "k_proj", "v_proj", "o_proj"):
        name = f"model.layers.1.self_attn.{module}"
        place = found[name]
        whole = graph.initializers[place.initializer].const_value
        weight = model.graph.initializers[f"{name}.weight"].const_value
        assert whole is not None and weight is not None
        columns = whole.numpy()[:, place.offset : place.offset + place.width]
        np.testing.assert_array_equal(columns, weight.numpy().T)
        assert (place.layer, place.is_part) == (1, place.width != whole.shape[1])


def test_packed_projections_are_slices(tmp_path: Path) -> None:
    package = own("llama", "cpu")
    config: Any = package.config
    heads, shared, width = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    made = adapters(package, blue=adapter_folder(tmp_path, package, ["q_proj", "k_proj", "v_proj"]))
    slices = {t.id.rsplit(".", 1)[1]: t.output_slice for t in made.target_manifest.targets if t.layer_index == 0}
    found = {name: (part.role, part.offset, part.width) for name, part in slices.items() if part is not None}
    assert found == {
        "q_proj": ("query", 0, heads * width),
        "k_proj": ("key", heads * width, shared * width),
        "v_proj": ("value", (heads + shared) * width, shared * width),
    }


def test_one_module_may_have_a_rank_of_its_own(tmp_path: Path) -> None:
    package = own("llama")
    folder = adapter_folder(tmp_path, package, ["q_proj", "down_proj"], rank=4, alpha_pattern={"down_proj": 3})
    artifact = adapters(package, blue=folder).artifacts["blue"]
    assert (artifact.rank, artifact.alpha, artifact.dtype) == (4, 8.0, "float32")
    assert {b.target.rsplit(".", 1)[1]: b.alpha for b in artifact.bindings} == {"q_proj": None, "down_proj": 3.0}
    assert artifact.bindings[0].weight_key == f"base_model.model.{artifact.bindings[0].target}"
    assert artifact.provenance is not None and artifact.provenance.source == "tiny/llama"


def test_patterns_are_regular_expressions_as_in_peft(tmp_path: Path) -> None:
    package = own("llama")
    folder = adapter_folder(tmp_path, package, ["q_proj"], rank=4, alpha_pattern={r"layers\.[1-9]\.self_attn.*": 3})
    bindings = adapters(package, blue=folder).artifacts["blue"].bindings
    assert {b.target.split(".")[2]: b.alpha for b in bindings} == {"0": None, "1": 3.0}


def test_a_request_may_take_fewer_adapters_than_there_are(tmp_path: Path) -> None:
    package = own("llama")
    folders = {name: adapter_folder(tmp_path / name, package, ["q_proj"]) for name in ("blue", "red", "green")}
    made = describe(package, facts={"adapters": folders, "max_adapters": 2})
    assert made.document.adapters is not None and made.document.adapters.selection.max_adapters == 2
    assert [a.index for a in made.document.adapters.artifacts.values()] == [0, 1, 2]
    assert list(made.validate()) == []
    assert any("adapters/red/" in note for note in made.notes)


@pytest.mark.parametrize(
    ("words", "error", "parts"),
    [
        ({"rank_pattern": {"(": 2}}, ModelFileError, ("rank_pattern has '('", "no regular expression")),
        ({"alpha_pattern": {"q_proj": "x"}}, ModelFileError, ("alpha_pattern of 'q_proj' is 'x'", "no number above 0")),
        ({"use_rslora": True}, UnsupportedError, ("use_rslora=True", "alpha over the root of the rank")),
        ({"use_dora": True}, UnsupportedError, ("use_dora=True", "base weight itself")),
        ({"modules_to_save": ["lm_head"]}, UnsupportedError, ("modules_to_save", "whole weights")),
        ({"bias": "all"}, UnsupportedError, ("bias='all'", "biases cannot be selected")),
        ({"r": 0}, ModelFileError, ("none of LoRA", "r is 0")),
        ({"r": 8}, WeightsError, ("A (4, 64)", "A [8, in] and B [out, 8]", "are wanted")),
    ],
)
def test_what_no_workflow_can_say(
    tmp_path: Path, words: dict[str, Any], error: type[Exception], parts: tuple[str, ...]
) -> None:
    package = own("llama")
    folder = adapter_folder(tmp_path, package, ["q_proj"], **words)
    with pytest.raises(error) as found:
        adapters(package, blue=folder)
    assert all(part in str(found.value) for part in parts), found.value


def test_an_adapter_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = adapter_folder(tmp_path / "wide", own("llama"), ["q_proj"])
    with pytest.raises(UnsupportedError, match="from 64 to 128 features; the graph's weight goes from 64 to 64"):
        adapters(own("qwen2"), blue=folder)
    key = "base_model.model.transformer.h.0.attn.c_attn.lora_"
    tensors = {f"{key}A.weight": np.zeros((4, 64), np.float32), f"{key}B.weight": np.zeros((192, 4), np.float32)}
    save_file(tensors, folder / "adapter_model.safetensors")
    with pytest.raises(UnsupportedError) as found:
        adapters(own("gpt2"), blue=folder)
    parts = ("'transformer.h.0.attn.c_attn'", "no weight of this name that a MatMul reads", "It has ", "more)")
    assert all(part in str(found.value) for part in parts), found.value
