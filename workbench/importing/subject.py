"""A folder as the kinds of ``describe`` look at one: a graph whose ports have the names that they know, and sizes from
the folder's config.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.describe.subject import PAST, Subject
from workbench.package import Package

if TYPE_CHECKING:
    import onnx_ir as ir

_WIDTH, _HEADS = "model.decoder.head_size", "model.decoder.num_key_value_heads"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What a config says of the model, in the words of Hugging Face; None where it is silent."""

    vocab_size: int
    max_position_embeddings: int
    head_dim: int | None
    num_attention_heads: int | None
    num_key_value_heads: int | None
    bos_token_id: int | None
    eos_token_id: tuple[int, ...]
    pad_token_id: int | None


@dataclasses.dataclass(frozen=True, eq=False)
class FolderSubject(Subject):
    """The decoder of a folder, ``values`` of its config by path, and the file that the document is to name.

    ``other`` is what the file is called once another graph takes the place of the folder's own.
    """

    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    file: str = ""
    other: str = ""

    @property
    def config(self) -> Any:
        """Sizes alone: the words of a whole model are not in such a folder."""
        cache, said = self.cache(), self.values
        return Sizes(
            vocab_size=said["model.vocab_size"],
            max_position_embeddings=said["model.context_length"],
            head_dim=said.get(_WIDTH) or cache[0].past.size(-1),
            num_attention_heads=said.get("model.decoder.num_attention_heads"),
            num_key_value_heads=said.get(_HEADS) or cache[0].past.size(1),
            bos_token_id=said.get("model.bos_token_id"),
            eos_token_id=tuple(said.get("model.eos_token_id", ())),
            pad_token_id=said.get("model.pad_token_id"),
        )

    def with_model(self, key: str, model: ir.Model) -> Subject:
        return dataclasses.replace(self, package=Package({key: model}), file=self.other)

    def artifact(self, key: str) -> str:
        return self.file

    def window(self, layer: int, key: str = "model") -> int | None:
        """As the graph has it, else as the config says: an entry without layers is about all of them."""
        ops = self.graphs["model"].cache_ops(PAST[0]).get(layer, ())
        found = next((op.window for op in ops if op.window), None)
        listed = self.values.get("model.decoder.sliding_window.layers")
        said = self.values.get("model.decoder.sliding_window.window_size")
        return found or (said if not listed or layer in listed else None)

    def writes_in_place(self, key: str = "model") -> bool:
        """As far as the graph can; a config that keeps two buffers is believed."""
        return super().writes_in_place(key) and self.values.get("search.past_present_share_buffer") is not False
