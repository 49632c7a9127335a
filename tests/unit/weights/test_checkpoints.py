"""Folders as they are found: what ``save_pretrained`` writes, bare base models, heads stored or shared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.families import DECODERS, FAMILIES, KINDS, Kind, hf_config, hf_logits, hf_model, some_rows, state_arrays
from tests.parity.running import alone
from workbench.build import recipe_for
from workbench.errors import WeightsError
from workbench.models import lookup
from workbench.recipe import Recipe
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.weights.bind import BindReport
from workbench.weights.convert import convert, without

pytestmark = pytest.mark.torch
ROWS = some_rows()


def recipe(folder: Path) -> Recipe:
    return recipe_for(folder, module_class=None, load_weights=True)


def graph(made: Recipe) -> tuple[ir.Model, BindReport]:
    models, bound = made.generic(ir.DataType.FLOAT)
    assert bound is not None and bound.complete
    return models["model"], bound


def logits(folder: Path) -> list[np.ndarray]:
    with OrtCpuSession(graph(recipe(folder))[0]) as session:
        return [row[0] for row in alone(session, ROWS, [[3]] * len(ROWS))]


def furthest(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True))


def stored(folder: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return dict(load_file(folder / "model.safetensors"))


def rewrite(folder: Path, tensors: dict[str, np.ndarray], **words: Any) -> Path:
    """Other tensors, and other words in ``config.json``."""
    from safetensors.numpy import save_file

    save_file({n: np.ascontiguousarray(a) for n, a in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text()) | words
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_save_pretrained(family: str, kind: Kind, tmp_path: Path) -> None:
    """Every parameter is bound, nothing is left over, and values are those of the model's state."""
    model = hf_model(hf_config(family, kind))
    model.save_pretrained(tmp_path)
    made, spec = recipe(tmp_path), lookup(family)
    _, bound = graph(made)
    assert bound.unexpected == () and bound.ignored == ()
    state = {name: ir.tensor(array, name=name) for name, array in state_arrays(model).items()}
    expected = convert(without(state, spec.ignored, spec.prefix, spec.strip), spec.weights, made.config)
    assert made.weights is not None
    for name in bound.bound:
        np.testing.assert_array_equal(made.weights[name].numpy(), expected[name].numpy(), err_msg=name)


@pytest.mark.parametrize("family", DECODERS)
def test_logits_of_the_folder(family: str, tmp_path: Path) -> None:
    model = hf_model(hf_config(family, "exercise"))
    model.save_pretrained(tmp_path)
    assert furthest(logits(tmp_path), hf_logits(model, ROWS)) <= 5e-5


def test_hub_names_are_not_those_of_the_state(tmp_path: Path) -> None:
    """Else the tests above would prove little: experts are stored one by one."""
    for family in ("mixtral", "qwen3_moe"):
        model = hf_model(hf_config(family))
        model.save_pretrained(tmp_path / family)
        names = set(stored(tmp_path / family))
        assert not names & {n for n in model.state_dict() if ".experts." in n}
        assert any(".experts.3." in name for name in names)


@pytest.mark.parametrize("family", ["llama", "mixtral", "gpt2"])
def test_shards(family: str, tmp_path: Path) -> None:
    model = hf_model(hf_config(family, "exercise"))
    model.save_pretrained(tmp_path, max_shard_size="60KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    assert furthest(logits(tmp_path), hf_logits(model, ROWS)) <= 5e-5


@pytest.mark.parametrize("family", DECODERS)
def test_bare_base_model(family: str, tmp_path: Path) -> None:
    """Names without the class's prefix, as GPT-2 and Bloom have them on the hub; a head that is shared is no loss."""
    model = hf_model(hf_config(family, tie_word_embeddings=True))
    model.get_decoder().save_pretrained(tmp_path)
    names = set(stored(tmp_path))
    assert not any(name.startswith(("model.", "transformer.", "gpt_neox.", "lm_head", "embed_out")) for name in names)
    config = json.loads((tmp_path / "config.json").read_text()) | {"tie_word_embeddings": True}
    (tmp_path / "config.json").write_text(json.dumps(config))
    if family == "phi":  # its head has a bias of its own, which Hugging Face would make up
        with pytest.raises(WeightsError, match=r"1 missing: lm_head\.bias"):
            logits(tmp_path)
        return
    assert furthest(logits(tmp_path), hf_logits(model, ROWS)) <= 5e-5


@pytest.mark.parametrize("head", ["BertForMaskedLM", "BertForSequenceClassification", "BertForQuestionAnswering"])
def test_encoder_under_a_head(head: str, tmp_path: Path) -> None:
    import torch
    import transformers

    model = getattr(transformers, head)(hf_config("bert", "exercise")).eval()
    model.save_pretrained(tmp_path)
    assert any(name.startswith("bert.") for name in stored(tmp_path))
    built, _ = graph(recipe(tmp_path))
    ids = np.array([ROWS[1]])
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    with OrtCpuSession(built) as session:
        (found,) = session.run({name: array for name, array in feeds.items() if name in session.inputs}).values()
    with torch.no_grad():
        expected = model.bert(torch.from_numpy(ids)).last_hidden_state.numpy()
    assert np.abs(found - expected).max() <= 5e-5


def test_gpt2_with_its_old_buffers(tmp_path: Path) -> None:
    """The files on the hub hold each layer's causal mask."""
    model = hf_model(hf_config("gpt2"))
    model.save_pretrained(tmp_path)
    masks = {f"transformer.h.{i}.attn.bias": np.tril(np.ones((1, 1, 128, 128), np.float32)) for i in range(2)}
    rewrite(tmp_path, stored(tmp_path) | masks)
    assert furthest(logits(tmp_path), hf_logits(model, ROWS)) <= 5e-5


def tied(folder: Path) -> Any:
    model = hf_model(hf_config("llama", tie_word_embeddings=True))
    model.save_pretrained(folder)
    assert "lm_head.weight" not in stored(folder)
    return model


def test_tied_head_stored_all_the_same(tmp_path: Path) -> None:
    model, tensors = tied(tmp_path), stored(tmp_path)
    rewrite(tmp_path, tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"]})
    _, bound = graph(recipe(tmp_path))
    assert [name for name, _ in bound.ignored] == ["lm_head.weight"]
    assert furthest(logits(tmp_path), hf_logits(model, ROWS)) <= 5e-5


def test_tied_by_the_config_but_stored_apart(tmp_path: Path) -> None:
    """transformers keeps both and warns; so does this."""
    from transformers import AutoModelForCausalLM

    tied(tmp_path)
    head = np.random.default_rng(0).normal(0, 0.2, (96, 64)).astype(np.float32)
    rewrite(tmp_path, stored(tmp_path) | {"lm_head.weight": head})
    made = recipe(tmp_path)
    assert made.config.to_dict()["tie_word_embeddings"] is False and made.source is not None
    (note,) = made.source.diagnostics
    assert note.code == "weights.untied-head" and "tie_word_embeddings to false" in note.hint
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    assert furthest(logits(tmp_path), hf_logits(theirs, ROWS)) <= 5e-5
    assert np.array_equal(theirs.lm_head.weight.detach().numpy(), head)


def test_tied_and_only_the_head_is_stored(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    model, tensors = tied(tmp_path), stored(tmp_path)
    rewrite(tmp_path, {"lm_head.weight": tensors.pop("model.embed_tokens.weight"), **tensors})
    assert furthest(logits(tmp_path), hf_logits(model, ROWS)) <= 5e-5
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    assert furthest(hf_logits(theirs, ROWS), hf_logits(model, ROWS)) <= 5e-5


def test_not_tied_and_no_head(tmp_path: Path) -> None:
    tied(tmp_path)
    rewrite(tmp_path, stored(tmp_path), tie_word_embeddings=False)
    with pytest.raises(WeightsError) as caught:
        graph(recipe(tmp_path))
    text = str(caught.value)
    assert "1 missing: lm_head.weight; tie_word_embeddings is false in the config" in text
    assert "if the model shares its embedding with the head, set it to true" in text
