"""Would a test notice? Every entry of every family's SPEC is taken out, one at a time, and has to be missed.

An entry is a keyword given to ``common`` (or to the config records), a default, and a line of the weight table. A
mutant is killed when its config or weights no longer fit, or its logits differ from Hugging Face's by more than the
parity tests allow: with the whole config, with one that leaves its defaults out, with stray words of other families,
with weights named as in a state dict and as ``save_pretrained`` names them.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

import workbench.models
from tests.families import KINDS, Kind, hf_config, hf_logits, hf_model, silent, some_rows, state_arrays, strayed
from workbench.models import SPECS, ModelSpec
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.tasks import get_task
from workbench.types import GraphOptions
from workbench.weights.bind import bind
from workbench.weights.convert import convert, without
from workbench.weights.safetensors import open_safetensors

pytestmark = [pytest.mark.torch, pytest.mark.slow]
LIMIT, SHARE = 5e-5, 0.95
CALLS = {"common", "MoeConfig", "EncoderConfig", "RopeConfig", "rope_from_hf"}
SURVIVORS = {
    "gemma3_text: RopeConfig(rope_theta=)": "read only from configs older than transformers 5, as a default",
    "gemma3_text: rope_from_hf(rope_theta=)": "only read where rope_parameters gives no theta",
}
"""Mutants that live, and why; a new one fails the test even within the share."""
ROW = some_rows((40,))[0]
WAYS = ((lambda config: config.to_dict(), False), (silent, True), (strayed, False))
"""How the config is written, and whether weights have the names of ``save_pretrained``."""


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """``(what was taken out, the source without it)``."""
    tree = ast.parse(source)
    for call_index, call in enumerate(n for n in ast.walk(tree) if _is_config_call(n)):
        for index, keyword in enumerate(call.keywords):
            yield f"{_name(call)}({keyword.arg}=)", _without_keyword(source, call_index, index)
    for index in range(len(_weights(tree).elts) if _weights(tree) else 0):
        yield f"weights[{index}]", _without_weight(source, index)
    for index, key in enumerate(_defaults(tree).keys if _defaults(tree) else ()):
        yield f"defaults[{key.value}]", _without_default(source, index)


def _is_config_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node) in CALLS and bool(node.keywords)


def _name(call: Any) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _weights(tree: ast.AST) -> ast.Tuple | None:
    found = (
        k.value for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n) == "ModelSpec"
        for k in n.keywords if k.arg == "weights" and isinstance(k.value, ast.Tuple)
    )  # fmt: skip
    return next(found, None)


def _without_keyword(source: str, call_index: int, index: int) -> str:
    tree = ast.parse(source)
    call = [n for n in ast.walk(tree) if _is_config_call(n)][call_index]
    del call.keywords[index]
    return ast.unparse(tree)


def _without_weight(source: str, index: int) -> str:
    tree = ast.parse(source)
    del _weights(tree).elts[index]
    return ast.unparse(tree)


def _defaults(tree: ast.AST) -> ast.Dict | None:
    found = (
        k.value for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n) == "ModelSpec"
        for k in n.keywords if k.arg == "defaults" and isinstance(k.value, ast.Dict)
    )  # fmt: skip
    return next(found, None)


def _without_default(source: str, index: int) -> str:
    tree = ast.parse(source)
    found = _defaults(tree)
    assert found is not None
    del found.keys[index], found.values[index]
    return ast.unparse(tree)


Tensors = dict[str, ir.TensorProtocol]


@functools.cache
def _reference(model_type: str, kind: Kind) -> tuple[Any, Tensors, Tensors, np.ndarray]:
    """The Hugging Face config, the weights as a state dict and as saved, and the logits of one row."""
    config = hf_config(model_type, kind)
    model = hf_model(config)
    state = {name: ir.tensor(value, name=name) for name, value in state_arrays(model).items()}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = open_safetensors(Path(folder) / "model.safetensors")
        saved = {name: ir.tensor(tensor.numpy(), name=name) for name, tensor in tensors.items()}
    return config, state, saved, hf_logits(model, [ROW])[0]


def _killed(spec: ModelSpec) -> bool:
    return not _same_when_silent(spec) or any(_differs(spec, kind, *way) for kind in KINDS for way in WAYS)


def _same_tokens(spec: ModelSpec, config: Any, words: Any) -> bool:
    """Whether ids that no logit depends on are read alike."""
    read = spec.read(words(config))
    known = {field.name for field in dataclasses.fields(read)}
    names = known & {"bos_token_id", "eos_token_id", "pad_token_id"}
    return all(getattr(read, name) == getattr(config, name, None) for name in names)


def _same_when_silent(spec: ModelSpec) -> bool:
    """Whether default configs of the class, wider ones too, read alike with and without their words."""
    made = type(hf_config(spec.model_type))
    width, heads = made().hidden_size, made().num_attention_heads
    configs = (made(), made(hidden_size=2 * width), made(hidden_size=2 * width, num_attention_heads=2 * heads))
    return all(spec.read(config.to_dict()) == spec.read(silent(config)) for config in configs)


def _differs(spec: ModelSpec, kind: Kind, words: Any, hub: bool) -> bool:
    found, named_as_state, named_as_saved, expected = _reference(spec.model_type, kind)
    state = named_as_saved if hub else named_as_state
    try:
        hf = words(found)
        if not _same_tokens(spec, found, words):
            return True
        config = spec.read(copy.deepcopy(hf))
        task = get_task(spec.task)
        model = task.build(spec.module(config, ir.DataType.FLOAT), config, ir.DataType.FLOAT, GraphOptions())["model"]
        named = without(state, spec.ignored, spec.prefix, spec.strip)
        bind(model, convert(named, spec.weights, config), dtype=ir.DataType.FLOAT)
        return not np.abs(_run(model) - expected).max() <= LIMIT
    except Exception:  # whatever stops a mutant has noticed it
        return True


def _run(model: ir.Model) -> np.ndarray:
    with OrtCpuSession(model) as session:
        feeds = {}
        for name, value in session.inputs.items():
            if name.startswith("past_key_values."):
                feeds[name] = np.zeros([1, value.shape[1], 0, value.shape[3]], np.float32)
        ids = np.array([ROW])
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "position_ids": np.arange(len(ROW))[None]}
        feeds |= {name: given.get(name, np.zeros_like(ids)) for name in session.inputs if name not in feeds}
        return next(iter(session.run(feeds, [session.outputs[0]]).values()))[0]


def _spec(source: str, model_type: str) -> ModelSpec:
    namespace: dict[str, Any] = {"__name__": f"mutant_{model_type}"}
    exec(compile(source, f"{model_type}.py", "exec"), namespace)
    return namespace["SPEC"]


def test_families_as_they_are_live() -> None:
    assert [spec.model_type for spec in SPECS if _killed(spec)] == []


def test_nearly_every_missing_entry_is_noticed() -> None:
    folder, killed, survived = Path(workbench.models.__file__).parent, 0, []
    for spec in SPECS:
        source = (folder / f"{spec.model_type}.py").read_text(encoding="utf-8")
        for label, mutated in mutants(source):
            try:
                dead = _killed(_spec(mutated, spec.model_type))
            except Exception:
                dead = True
            killed += dead
            survived += [] if dead else [f"{spec.model_type}: {label}"]
    print(f"{killed} of {killed + len(survived)} mutants killed; survivors:", *survived, sep="\n  ")
    assert killed >= SHARE * (killed + len(survived)), survived
    assert set(survived) <= set(SURVIVORS)
