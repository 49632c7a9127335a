"""What a model can take: tokens of its vocabulary, and no more positions than its tables have rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import FeedsError
from workbench.runtime.padding import check_padding
from workbench.types import Padding

_GROWING = ("dynamic",)
"""Kinds of RoPE whose tables are made while running, for as many positions as there are."""


def check_feeds(config: Any, feeds: Mapping[str, npt.NDArray[Any]], padding: Padding) -> None:
    """Refuse tokens, masks and lengths that a text generator would misread; other graphs (no config) are let be.

    Raises:
        FeedsError: see :func:`check_tokens`, :func:`check_positions` and ``check_padding``.
    """
    ids, mask = feeds.get("input_ids"), feeds.get("attention_mask")
    if config is None or ids is None:
        return
    check_tokens(config, ids)
    if mask is not None and mask.ndim == 2 and ids.ndim == 2:
        check_padding(mask, padding, past=mask.shape[1] - ids.shape[1])
        # Where RoPE is inside the attention every slot needs its row of the tables, else only what is rotated does.
        slots = mask.shape[1] if padding == "right" else max(ids.shape[1], int(mask.sum(axis=1).max(initial=0)))
        check_positions(config, slots)


def check_tokens(config: Any, ids: npt.NDArray[Any]) -> None:
    """Refuse ids that are no token: a graph would count a negative one from the end of the vocabulary.

    Raises:
        FeedsError: an id below 0, or not below ``vocab_size``.
    """
    size = getattr(config, "vocab_size", None)
    if size is not None and np.issubdtype(ids.dtype, np.integer):
        check_ids("input_ids", ids, size)


def check_prompt(ids: npt.NDArray[Any], size: int | None, what: str = "The prompt") -> None:
    """Refuse a prompt without a token, and ids that are none of ``size``.

    Raises:
        FeedsError: no token, or see :func:`check_ids`.
    """
    if not ids.size:
        raise FeedsError(f"{what} has no tokens; give a longer one.")
    check_ids(what, ids, size)


def check_ids(what: str, ids: npt.NDArray[Any], size: int | None) -> None:
    """Refuse ids that are no token of a vocabulary of ``size``; None where that is not known.

    Raises:
        FeedsError: an id below 0, or not below ``size``.
    """
    odd = ids[(ids < 0) | (ids >= size)] if size is not None else ids[ids < 0]
    if odd.size:
        allowed = f"0 to {size - 1}" if size is not None else "0 or more"
        raise FeedsError(
            f"{what} holds {int(odd.flat[0])}; tokens of this model are {allowed}. Give ids of its own tokenizer."
        )


def _has_tables(config: Any) -> bool:
    """Whether positions are looked up in a table with a row for each; encoders look up learned ones."""
    kind, rope = getattr(config, "position_embedding", "learned"), getattr(config, "rope", None)
    return kind == "learned" or (kind == "rope" and rope is not None and rope.rope_type not in _GROWING)


def check_positions(config: Any, count: int, *, prompt: int | None = None) -> None:
    """Refuse what is longer than the model's tables of positions.

    ``count`` positions are needed in all; ``prompt`` of them, where it is given, are the prompt's, the others those of
    new tokens.

    Raises:
        FeedsError: the model has fewer positions.
    """
    most = getattr(config, "max_position_embeddings", None)
    if most is None or not _has_tables(config) or count <= most:
        return
    what = f"{count} positions are needed"
    if prompt is not None and count > prompt:
        what += f" (a prompt of {prompt} tokens and {count - prompt} new ones)"
    raise FeedsError(
        f"{what}, and the model has {most} (max_position_embeddings). Shorten the prompt or ask for fewer tokens."
    )
