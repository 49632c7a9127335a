"""What the words of a config may hold: each refusal names the word, what was found and what is allowed."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from tests.cases import CASES
from workbench import build
from workbench.config.check_words import LARGEST, MOST_LAYERS, check_words
from workbench.errors import ConfigError
from workbench.models import lookup

LLAMA = dict(CASES["gqa"].hf)
SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "max_position_embeddings",
)  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}


def skeleton(**words: Any) -> Any:
    return build({**LLAMA, **words}, load_weights=False)


@pytest.mark.parametrize("word", SIZES)
@pytest.mark.parametrize(
    "value", [0, -1, 2.5, 64.0, math.nan, math.inf, True, "64", [64], {"a": 1}, LARGEST + 1, 10**30], ids=repr
)
def test_a_size_is_a_whole_number(word: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{word} is .*; it must be a whole number from 1 to \d+\. Correct"):
        skeleton(**{word: value})


def test_layers_are_built_one_by_one_so_there_is_a_limit() -> None:
    with pytest.raises(
        ConfigError, match=f"num_hidden_layers is 10001; it must be a whole number from 1 to {MOST_LAYERS}"
    ):
        skeleton(num_hidden_layers=MOST_LAYERS + 1)


@pytest.mark.parametrize("value", [0, -1e-5, math.nan, math.inf, "1e-5", True, [1]], ids=repr)
def test_an_epsilon_is_a_finite_number(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^rms_norm_eps is .*; it must be a finite number greater than 0"):
        skeleton(rms_norm_eps=value)


def test_a_whole_epsilon_is_a_number_too() -> None:
    assert skeleton(rms_norm_eps=1).config.norm_eps == 1


@pytest.mark.parametrize("word", ["attention_bias", "mlp_bias", "tie_word_embeddings"])
@pytest.mark.parametrize("value", ["false", "true", 0, 2, []], ids=repr)
def test_a_switch_is_no_text(word: str, value: Any) -> None:
    """'false' is true in Python: a bias would appear that the model does not have."""
    with pytest.raises(ConfigError, match=rf"^{word} is .*; it must be true or false"):
        skeleton(**{word: value})


@pytest.mark.parametrize("value", ["2", [1, "b"], 2.5, {}, True, [True]], ids=repr)
def test_token_ids_are_numbers(value: Any) -> None:
    with pytest.raises(ConfigError, match="eos_token_id is .*a token id, a whole number, or a list of them"):
        skeleton(eos_token_id=value)
    with pytest.raises(ConfigError, match="pad_token_id is .*a token id, a whole number. Correct"):
        skeleton(pad_token_id=value)


@pytest.mark.parametrize("value", [None, 2, -1, [2, 5]], ids=repr)
def test_token_ids_as_they_are_found(value: Any) -> None:
    assert skeleton(eos_token_id=value) is not None


@pytest.mark.parametrize(
    ("rope", "words"),
    [
        ("linear", "rope_parameters is 'linear'; it must be an object"),
        ([1], "rope_parameters is .1.; it must be an object"),
        ({"rope_theta": math.inf}, "rope_parameters: rope_theta is inf; it must be a finite number"),
        ({"rope_theta": "x"}, "rope_parameters: rope_theta is 'x'"),
        ({"rope_type": "linear", "factor": "4"}, "rope_parameters: factor is '4'"),
        ({**LLAMA3, "original_max_position_embeddings": -1}, "original_max_position_embeddings is -1; .*whole number"),
        ({**LLAMA3, "original_max_position_embeddings": "x"}, "original_max_position_embeddings is 'x'"),
        ({**LLAMA3, "low_freq_factor": "a"}, "low_freq_factor is 'a'"),
        ({**LLAMA3, "low_freq_factor": 4.0, "high_freq_factor": 4.0}, r"low_freq_factor \(4.0\) must be less than"),
        ({"full_attention": {"rope_theta": 1.0}}, r"speaks of layer types \(full_attention\).*no layer_types"),
    ],
    ids=repr,
)  # fmt: skip
def test_rope_words(rope: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        skeleton(rope_parameters=rope)


def test_rope_words_of_each_layer_type_are_looked_at_too() -> None:
    hf = {"layer_types": ["full_attention"], "rope_parameters": {"full_attention": {"factor": 0}}}
    with pytest.raises(ConfigError, match=r"rope_parameters.full_attention: factor is 0"):
        check_words(hf)


def test_the_words_of_old_configs() -> None:
    with pytest.raises(ConfigError, match="rope_scaling: factor is nan"):
        skeleton(rope_parameters=None, rope_scaling={"type": "linear", "factor": math.nan})
    with pytest.raises(ConfigError, match="^rope_theta is -1"):
        skeleton(rope_parameters=None, rope_theta=-1)


def test_null_is_no_word() -> None:
    check_words(dict.fromkeys((*SIZES, "rms_norm_eps", "attention_bias", "eos_token_id", "rope_scaling")))


def test_a_config_made_by_hand_is_held_to_the_same() -> None:
    config = lookup("llama").config(LLAMA)
    with pytest.raises(ConfigError, match="hidden_size is 2.5; it must be a whole number"):
        dataclasses.replace(config, hidden_size=2.5)
    with pytest.raises(ConfigError, match="tie_word_embeddings is 'no'"):
        dataclasses.replace(config, tie_word_embeddings="no")


def test_a_llama_says_how_wide_its_feed_forward_is() -> None:
    with pytest.raises(ConfigError, match="lacks intermediate_size"):
        skeleton(intermediate_size=None)


def test_names_that_are_no_text_are_no_crash() -> None:
    with pytest.raises(ConfigError, match="lacks vocab_size"):
        build({1: 2, "model_type": "llama"}, load_weights=False)
