"""The frozen, validated configuration that modules are built from. Knows no execution provider."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.config.checks import one_of, per_layer, positive, switches, token_ids, whole
from workbench.config.rope_config import ROPE_TYPES, RopeConfig
from workbench.errors import ConfigError

__all__ = ["ACTIVATIONS", "LAYER_TYPES", "ROPE_TYPES", "ModelConfig", "MoeConfig", "RopeConfig"]

ACTIVATIONS = ("silu", "swish", "gelu", "gelu_pytorch_tanh", "gelu_new", "gelu_fast", "relu", "relu2", "tanh")
LAYER_TYPES = ("full_attention", "sliding_attention")
NORM_TYPES = ("rms_norm", "layer_norm")
PLACEMENTS = ("pre", "sandwich", "post")
_SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "max_position_embeddings",
)  # fmt: skip
POSITIONS = ("rope", "learned", "alibi", "none")


@dataclasses.dataclass(frozen=True)
class MoeConfig:
    """A mixture of experts: softmax over all experts, the best ``num_experts_per_tok`` of them used.

    ``layers`` says per layer whether it has experts (None: all); ``norm_topk_prob`` lets the chosen weights sum to 1.
    """

    num_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    norm_topk_prob: bool = True
    layers: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        names = ("num_experts", "num_experts_per_tok", "moe_intermediate_size")
        positive(self, *names)
        whole({name: getattr(self, name) for name in names})
        if self.num_experts_per_tok > self.num_experts:
            raise ConfigError(
                f"num_experts_per_tok ({self.num_experts_per_tok}) is more than num_experts ({self.num_experts})."
            )


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Sizes and switches of a transformer, in Hugging Face's words where it has one.

    Args:
        norm_placement: ``pre`` (before attention and feed-forward), ``sandwich`` (before and after), ``post`` (after).
        parallel_residual: attention and feed-forward read the same input; ``shared_norm`` also the same norm.
        qk_norm: None, ``head`` (each head by itself) or ``full`` (the whole projection), of ``qk_norm_type``;
            ``qk_norm_per_head_weight``: each head has a weight of its own.
        attention_scale: multiplies the scores; None is ``head_dim ** -0.5``; a tuple holds one number per layer.
        layer_types: ``full_attention`` or ``sliding_attention`` per layer (None: sliding everywhere if
            ``sliding_window`` is set, else full).
        sliding_rope: RoPE of the sliding layers where it differs; ``rope_layers`` says which layers rotate at all.
        logits_multiplier: multiplies the logits (Granite divides: its ``logits_scaling`` comes in as a reciprocal).
        residual_from_norm: residuals start after the norm (Bloom's ``apply_residual_connection_post_layernorm``).

    Raises:
        ConfigError: a size is not positive, heads do not divide, a word is unknown, lengths of lists differ.
    """

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int = 2048
    norm_type: str = "rms_norm"
    norm_eps: float = 1e-6
    norm_bias: bool = False
    norm_placement: str = "pre"
    parallel_residual: bool = False
    shared_norm: bool = False
    residual_from_norm: bool = False
    hidden_act: str = "silu"
    gated_mlp: bool = True
    mlp_bias: bool = False
    attention_bias: bool = False
    attention_out_bias: bool = False
    qk_norm: str | None = None
    qk_norm_type: str = "rms_norm"
    qk_norm_bias: bool = False
    qk_norm_per_head_weight: bool = False
    attention_scale: float | tuple[float, ...] | None = None
    attn_logit_softcapping: float | None = None
    sliding_window: int | None = None
    layer_types: tuple[str, ...] | None = None
    position_embedding: str = "rope"
    rope: RopeConfig | None = dataclasses.field(default_factory=RopeConfig)
    sliding_rope: RopeConfig | None = None
    rope_layers: tuple[bool, ...] | None = None
    moe: MoeConfig | None = None
    embedding_multiplier: float = 1.0
    embedding_norm: bool = False
    residual_multiplier: float = 1.0
    logits_multiplier: float = 1.0
    final_logit_softcapping: float | None = None
    lm_head_bias: bool = False
    tie_word_embeddings: bool = False
    bos_token_id: int | None = None
    eos_token_id: int | tuple[int, ...] | None = None
    pad_token_id: int | None = None

    def __post_init__(self) -> None:
        positive(self, *_SIZES, "norm_eps")
        whole({name: getattr(self, name) for name in (*_SIZES, "sliding_window")})
        token_ids(bos_token_id=self.bos_token_id, eos_token_id=self.eos_token_id, pad_token_id=self.pad_token_id)
        switches(self)
        self._check_words()
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_attention_heads ({self.num_attention_heads}) must be a multiple of num_key_value_heads "
                f"({self.num_key_value_heads}): each key/value head serves a whole group of query heads."
            )
        for rope in (self.rope, self.sliding_rope):
            self._check_rope(rope)
        self._check_layers()

    def _check_words(self) -> None:
        one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        one_of("norm_type", self.norm_type, NORM_TYPES)
        one_of("qk_norm_type", self.qk_norm_type, NORM_TYPES)
        one_of("norm_placement", self.norm_placement, PLACEMENTS)
        one_of("position_embedding", self.position_embedding, POSITIONS)
        if self.qk_norm is not None:
            one_of("qk_norm", self.qk_norm, ("head", "full"))
        if self.parallel_residual and self.norm_placement != "pre":
            raise ConfigError(f"parallel_residual goes with norm_placement 'pre', not {self.norm_placement!r}.")

    def _check_rope(self, rope: RopeConfig | None) -> None:
        if rope is None or self.position_embedding != "rope":
            return
        dim = self.rotated(rope)
        if dim < 2 or dim % 2:
            raise ConfigError(
                f"RoPE rotates pairs: head_dim x partial_rotary_factor must be even and at least 2; "
                f"found {self.head_dim} x {rope.partial_rotary_factor} = {dim}."
            )
        if dim == 2 and rope.rope_type == "dynamic":
            raise ConfigError("Dynamic RoPE grows its base by the power dim / (dim - 2); 2 rotated entries have none.")
        if rope.short_factor is not None and len(rope.short_factor) != dim // 2:
            raise ConfigError(f"short_factor has {len(rope.short_factor)} numbers; RoPE rotates {dim // 2} pairs.")

    def _check_layers(self) -> None:
        layers = self.num_hidden_layers
        per_layer("layer_types", self.layer_types, layers)
        per_layer("rope_layers", self.rope_layers, layers)
        per_layer("attention_scale", self.attention_scale if isinstance(self.attention_scale, tuple) else None, layers)
        per_layer("moe.layers", self.moe.layers if self.moe else None, layers)
        for word in self.layer_types or ():
            one_of("layer_types", word, LAYER_TYPES)
        if "sliding_attention" in (self.layer_types or ()) and not self.sliding_window:
            raise ConfigError("layer_types asks for sliding_attention but sliding_window is not set.")

    def rotated(self, rope: RopeConfig) -> int:
        """How many of the ``head_dim`` entries a RoPE rotates."""
        return int(self.head_dim * rope.partial_rotary_factor)

    def scale(self, layer: int) -> float:
        """What a layer's attention scores are multiplied with."""
        if isinstance(self.attention_scale, tuple):
            return self.attention_scale[layer]
        return self.head_dim**-0.5 if self.attention_scale is None else self.attention_scale

    def window(self, layer: int) -> int | None:
        """The sliding window of a layer in tokens, or None where it attends to everything before it."""
        kind = self.layer_types[layer] if self.layer_types else "sliding_attention"
        return self.sliding_window if kind == "sliding_attention" else None

    def rope_of(self, layer: int) -> RopeConfig | None:
        """The RoPE of a layer, or None where it does not rotate."""
        if self.position_embedding != "rope" or (self.rope_layers is not None and not self.rope_layers[layer]):
            return None
        return self.sliding_rope if self.sliding_rope is not None and self.window(layer) else self.rope

    def has_experts(self, layer: int) -> bool:
        """Whether a layer's feed-forward is a mixture of experts."""
        return self.moe is not None and (self.moe.layers is None or self.moe.layers[layer])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able values; ``from_dict`` turns them back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelConfig:
        """The inverse of :meth:`to_dict`.

        Raises:
            ConfigError: a field is unknown or missing, or a value is refused.
        """
        try:
            fields = {name: _tuples(value) for name, value in values.items()}
            for name, record in (("rope", RopeConfig), ("sliding_rope", RopeConfig), ("moe", MoeConfig)):
                if fields.get(name) is not None:
                    fields[name] = record(**fields[name])
            return cls(**fields)
        except (TypeError, AttributeError) as error:
            raise ConfigError(f"Not the fields of a ModelConfig: {error}.") from None


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return {name: _tuples(inner) for name, inner in value.items()} if isinstance(value, Mapping) else value
