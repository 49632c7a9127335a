"""Speculative decoding: a proposer, a target, and what is rolled back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workbench.metadata.document.base import Bare, Closed, Flag, Names, Positive, Text, Uint


class ValueRef(Closed):
    component: Text
    output: Text


class TokenEmbedding(Closed):
    """The table that an embedding is gathered from. A blank ``table`` is a matter of rule 254."""

    component: Text
    table: str


class RecurrenceBinding(Closed):
    state: Text
    input: Text
    output: Text


class Block(Bare):
    kind: Literal["block"] = "block"


class Chained(Closed):
    kind: Literal["chained"]
    token_embedding_input: Text
    logits_output: Text
    recurrent: tuple[RecurrenceBinding, ...] = ()
    folded_carry_output: str | None = None
    folded_carry_seed: ValueRef | None = None
    token_embedding: TokenEmbedding | None = None


Execution = Annotated[Block | Chained, Field(discriminator="kind")]


class Identical(Bare):
    kind: Literal["identical"]


class Subset(Closed):
    kind: Literal["subset"]
    proposer_vocab_size: Uint


class Mapped(Closed):
    kind: Literal["mapped"]
    artifact: str


SpeculativeVocabulary = Annotated[Identical | Subset | Mapped, Field(discriminator="kind")]


class Speculative(Closed):
    proposer: Text
    target: Text
    proposal_execution: Execution = Block()
    port_bindings: Mapping[str, str] = {}
    shared_state: Names = ()
    shared_weights: Names = ()
    vocabulary: SpeculativeVocabulary
    max_proposal_width: Positive
    distribution_preserving: Flag = False
    rollback_state: Names = ()
