"""The zoo: one file per family, gathered by ``model_type``."""

from __future__ import annotations

from workbench.errors import unknown
from workbench.models import (
    bert,
    bloom,
    gemma2,
    gemma3_text,
    gpt2,
    gpt_neox,
    granite,
    llama,
    mistral,
    mixtral,
    olmo2,
    phi,
    phi3,
    qwen2,
    qwen3,
    qwen3_moe,
    smollm3,
    stablelm,
)
from workbench.models.spec import ModelSpec

__all__ = ["SPECS", "ModelSpec", "lookup"]

SPECS: tuple[ModelSpec, ...] = (
    llama.SPEC,
    mistral.SPEC,
    qwen2.SPEC,
    qwen3.SPEC,
    smollm3.SPEC,
    granite.SPEC,
    olmo2.SPEC,
    phi3.SPEC,
    gemma2.SPEC,
    gemma3_text.SPEC,
    phi.SPEC,
    gpt2.SPEC,
    gpt_neox.SPEC,
    stablelm.SPEC,
    bloom.SPEC,
    mixtral.SPEC,
    qwen3_moe.SPEC,
    bert.SPEC,
)

_BY_TYPE = {spec.model_type: spec for spec in SPECS}


def lookup(model_type: str) -> ModelSpec:
    """The family of a ``model_type``.

    Raises:
        UnknownNameError: no family of that type is built in; the close match comes first.
    """
    if model_type not in _BY_TYPE:
        raise unknown("model_type", model_type, _BY_TYPE, "Build a module of your own with build_from_module().")
    return _BY_TYPE[model_type]
