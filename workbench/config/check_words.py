"""The words of a Hugging Face config before anybody reckons with them: a size is a whole number, a switch a switch.

Families read the words; what a word may hold at all is the same for every family, and is said here, once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import ConfigError

LARGEST = 2**31 - 1
"""The largest size: what fits an int32, which is what shapes and positions are counted in."""
MOST_LAYERS = 10_000
"""Layers are built one by one; the deepest model in use has a few hundred."""

_SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim",
    "max_position_embeddings", "n_embd", "n_head", "n_inner", "n_positions",
)  # fmt: skip
_LAYERS = ("num_hidden_layers", "n_layer")
_SWITCHES = ("attention_bias", "mlp_bias", "tie_word_embeddings")
_NUMBERS = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps", "rope_theta")
_TOKENS = ("bos_token_id", "pad_token_id")
_ROPE = ("rope_parameters", "rope_scaling")
_ROPE_NUMBERS = ("rope_theta", "factor", "low_freq_factor", "high_freq_factor", "partial_rotary_factor")
_ROPE_SIZES = ("original_max_position_embeddings",)


def check_words(hf: Mapping[str, Any]) -> None:
    """Refuse words that hold what no model can mean; null stands for a word that is not there.

    Raises:
        ConfigError: a size that is no whole number above 0, a switch that is neither true nor false, a number that
            is not finite, token ids that are none, RoPE words that are no object; the text names the word.
    """
    _each(hf, _SIZES, _is_size, f"a whole number from 1 to {LARGEST}")
    _each(hf, _LAYERS, _is_depth, f"a whole number from 1 to {MOST_LAYERS}")
    _each(hf, _SWITCHES, _is_switch, "true or false")
    _each(hf, _NUMBERS, _is_number, "a finite number greater than 0")
    _each(hf, _TOKENS, _is_token, "a token id, a whole number")
    _each(hf, ("eos_token_id",), _are_tokens, "a token id, a whole number, or a list of them")
    for word in _ROPE:
        if hf.get(word) is not None:
            _check_rope(word, hf[word], "layer_types" in hf)


def _each(
    words: Mapping[str, Any], names: tuple[str, ...], fits: Callable[[Any], bool], allowed: str, at: str = ""
) -> None:
    for name in names:
        value = words.get(name)
        if value is not None and not fits(value):
            raise ConfigError(f"{at}{name} is {value!r:.80}; it must be {allowed}. Correct the config.")


def _check_rope(word: str, values: Any, by_layer_type: bool) -> None:
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"{word} is {values!r:.80}; it must be an object such as {{'rope_type': 'default'}}. Correct the config."
        )
    nested = {name: inner for name, inner in values.items() if isinstance(inner, Mapping)}
    if nested and not by_layer_type:
        raise ConfigError(
            f"{word} speaks of layer types ({', '.join(map(str, nested))}), but the config has no layer_types that "
            "say which layer is which. Add layer_types, or put the words of the one RoPE directly under it."
        )
    for at, rope in ((word, values), *((f"{word}.{name}", inner) for name, inner in nested.items())):
        _each(rope, _ROPE_NUMBERS, _is_number, "a finite number greater than 0", f"{at}: ")
        _each(rope, _ROPE_SIZES, _is_size, f"a whole number from 1 to {LARGEST}", f"{at}: ")
        low, high = rope.get("low_freq_factor"), rope.get("high_freq_factor")
        if low is not None and high is not None and low >= high:
            raise ConfigError(f"{at}: low_freq_factor ({low}) must be less than high_freq_factor ({high}).")


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST


def _is_depth(value: Any) -> bool:
    return _is_size(value) and value <= MOST_LAYERS


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _is_token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_tokens(value: Any) -> bool:
    return all(map(_is_token, value)) if isinstance(value, list | tuple) else _is_token(value)
