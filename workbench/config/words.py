"""Checks of a ``config.json`` before a family reads it: kinds of values, and switches that nothing here builds.

Source: transformers 5.24, ``configuration_*.py`` (words and kinds).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from workbench.config.checks import whole
from workbench.errors import ConfigError, UnsupportedError

Read = TypeVar("Read")
MOST_LAYERS = 10_000
LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
FLAGS = (
    "attention_bias", "mlp_bias", "qkv_bias", "attention_out_bias", "bias", "tie_word_embeddings", "norm_topk_prob",
    "use_parallel_residual", "parallel_attn", "qk_layernorm", "use_qkv_bias", "use_sliding_window",
    "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "apply_residual_connection_post_layernorm",
)  # fmt: skip
NUMBERS = (
    "query_pre_attn_scalar", "attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling",
    "final_logit_softcapping", "attn_logit_softcapping",
)  # fmt: skip
LISTS = ("layer_types", "no_rope_layers", "mlp_only_layers")
NEVER: Mapping[str, tuple[object, ...]] = {
    "use_bidirectional_attention": (False,),
    "add_cross_attention": (False,),
    "position_embedding_type": ("absolute", "rope", "rotary", "alibi"),
}
"""Words that change what a model computes and that no family here obeys, with the values that change nothing."""


def read_checked(read: Callable[[Mapping[str, Any]], Read], hf: Mapping[str, Any]) -> Read:
    """What a family reads from a config, or why that cannot be.

    Raises:
        ConfigError: a value of a wrong kind.
        UnsupportedError: a switch that changes what is computed and that is not built here.
    """
    _check(hf)
    try:
        return read(hf)
    except (TypeError, ArithmeticError, KeyError, AttributeError) as error:
        raise ConfigError(
            f"The {hf.get('model_type', '?')} config does not read: {error}. A word is missing or holds a value of "
            "the wrong kind; compare it with the model's own config.json."
        ) from error


def _check(hf: Mapping[str, Any]) -> None:
    given = {name: value for name, value in hf.items() if value is not None}
    whole({name: given[name] for name in LAYERS if name in given}, MOST_LAYERS)
    for name in FLAGS:
        if given.get(name, False) not in (True, False):
            raise _wrong(name, given[name], "true or false")
    for name in NUMBERS:
        if name in given and not _is_number(given[name]):
            raise _wrong(name, given[name], "a finite number other than 0")
    for name in LISTS:
        if not isinstance(given.get(name, []), list | tuple):
            raise _wrong(name, given[name], "a list")
    for name, allowed in NEVER.items():
        if name in given and given[name] not in allowed:
            raise UnsupportedError(
                f"{name} is {_shown(given[name])}: this version does not build that, and leaving it out would "
                "give wrong numbers. Write the model as a module of your own and give it with module_class=."
            )


def _wrong(name: str, value: object, allowed: str) -> ConfigError:
    return ConfigError(f"{name} is {_shown(value)}; it must be {allowed}.")


def _shown(value: object) -> str:
    return repr(value)[:60]


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value) and value != 0
