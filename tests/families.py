"""Tiny Hugging Face models of every family: a small default config and the spec's exercise, all parameters perturbed.

Needs torch; tests that use it carry the ``torch`` marker.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from workbench.models import SPECS, lookup

Kind = Literal["default", "exercise"]
KINDS: tuple[Kind, ...] = ("default", "exercise")
FAMILIES = tuple(spec.model_type for spec in SPECS)
DECODERS = tuple(spec.model_type for spec in SPECS if spec.task == "text-generation")

VOCAB = 96
_SIZES: dict[str, Any] = {
    "vocab_size": VOCAB, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 128,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_OWN_SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {
        "vocab_size": VOCAB, "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "n_inner": 96,
        "bos_token_id": 1, "eos_token_id": 2,
    },
    "bloom": {"vocab_size": VOCAB, "hidden_size": 64, "n_layer": 2, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2},
}  # fmt: skip
_EAGER = ("gemma2", "bloom")
"""Types whose sdpa attention is not what their config says (no softcap), or has no ALiBi of its own."""


def hf_config(model_type: str, kind: Kind = "default", **words: Any) -> Any:
    """A ``PretrainedConfig`` of a few thousand parameters; ``words`` on top."""
    from transformers import CONFIG_MAPPING

    made, spec = CONFIG_MAPPING[model_type], lookup(model_type)
    known = {field.name for field in dataclasses.fields(made)}
    sizes = _OWN_SIZES.get(model_type) or {word: value for word, value in _SIZES.items() if word in known}
    values = sizes | dict(spec.tiny if kind == "default" else spec.exercise) | words
    return made(**{word: value for word, value in values.items() if value is not None or word == "sliding_window"})


def hf_model(config: Any, seed: int = 0) -> Any:
    """Hugging Face's model of a config in float32, every parameter away from its initial value."""
    import torch
    from transformers import AutoModel, AutoModelForCausalLM

    make = AutoModel if lookup(config.model_type).task == "feature-extraction" else AutoModelForCausalLM
    attention = "eager" if config.model_type in _EAGER else "sdpa"
    model = make.from_config(config, attn_implementation=attention).eval().float()
    perturb(model, torch.Generator().manual_seed(seed))
    return model


def perturb(model: Any, generator: Any) -> None:
    """Matrices of size 1.5 / sqrt(fan in); norm scales and biases move by a tenth: a forgotten one shows."""
    import torch

    with torch.no_grad():
        for _, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() > 1:
                parameter.copy_(noise * (1.5 / parameter.shape[-1] ** 0.5))
            else:
                parameter.add_(0.1 * noise)


def state_arrays(model: Any) -> dict[str, np.ndarray]:
    """Every tensor of a model by the name of ``state_dict``, float32."""
    return {name: tensor.detach().float().numpy() for name, tensor in model.state_dict().items()}


def hf_logits(model: Any, rows: list[list[int]]) -> list[np.ndarray]:
    """``[S, V]`` (an encoder: ``[S, W]`` hidden states) of each row run alone."""
    import torch

    with torch.no_grad():
        outputs = [model(torch.tensor([row])) for row in rows]
    return [(o.logits if hasattr(o, "logits") else o.last_hidden_state)[0].float().numpy() for o in outputs]


def some_rows(lengths: tuple[int, ...] = (40, 23), seed: int = 1) -> list[list[int]]:
    """Rows of token ids, longer than the windows and original lengths of the exercises."""
    rng = np.random.default_rng(seed)
    return [rng.integers(3, VOCAB, length).tolist() for length in lengths]


_ALWAYS = {
    "model_type", "vocab_size", "hidden_size", "n_embd", "num_hidden_layers", "n_layer", "num_attention_heads",
    "n_head",
}  # fmt: skip


def silent(config: Any) -> dict[str, Any]:
    """A config's words without those that repeat a default of its class, as older ``config.json`` files come."""
    default = type(config)().to_dict()
    words = config.to_dict()
    return {word: value for word, value in words.items() if word in _ALWAYS or default.get(word) != value}


STRAY = {
    "attention_bias": True, "mlp_bias": True, "qkv_bias": True, "attention_out_bias": True,
    "final_logit_softcapping": 1.5,
}  # fmt: skip
"""Words that belong to other families: a family that has no such word must not obey it."""


def strayed(config: Any) -> dict[str, Any]:
    """A config's words and those of other families."""
    known = {field.name for field in dataclasses.fields(type(config))}
    return config.to_dict() | {word: value for word, value in STRAY.items() if word not in known}
