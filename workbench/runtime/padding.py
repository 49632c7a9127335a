"""The padding contract: a graph for rows padded on the right is silently wrong for others, so they are refused."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.errors import FeedsError
from workbench.types import Padding

_ANY = "build with padding='any' where the execution provider can carry the mask."
_WHY = (
    "GroupQueryAttention takes each row's real tokens from its front (lengths, not positions), so the logits would be "
    "wrong without any error. Pad on the right, run rows alone, or " + _ANY
)


def check_flags(what: str, attention_mask: npt.NDArray[np.integer]) -> None:
    """Refuse a mask with another meaning than real or not.

    Raises:
        FeedsError: anything but 0 and 1.
    """
    if odd := sorted(set(np.unique(attention_mask).tolist()) - {0, 1}):
        raise FeedsError(f"{what} holds {odd[0]!r}; it must hold 1 for a real token and 0 for padding.")


def check_padding(attention_mask: npt.NDArray[np.integer], padding: Padding, *, past: int) -> None:
    """Refuse a mask that the graph would misread.

    Args:
        attention_mask: [B, T] ones for real tokens.
        padding: the package's contract.
        past: P, how many of the T slots are in the cache already; gaps there come from right-padded prefills.

    Raises:
        FeedsError: anything but 0 and 1; with ``padding="right"``, a row starts with padding, a prefill has padding
            between real tokens, or a step over a cache has padding among its new tokens.
    """
    if attention_mask.size == 0:
        return
    check_flags("attention_mask", attention_mask)
    if padding == "any":
        return
    left = np.flatnonzero(attention_mask[:, 0] == 0)
    if left.size:
        raise FeedsError(
            f"attention_mask row {int(left[0])} starts with 0: left padding. This graph was built with "
            f"padding='right'. {_WHY}"
        )
    if past > 0:
        paused = np.flatnonzero((attention_mask[:, past:] == 0).any(axis=1))
        if paused.size:
            raise FeedsError(
                f"attention_mask row {int(paused[0])} has padding among the new tokens of a step over a cache. This "
                "graph was built with padding='right' and counts a row's real tokens back from its end, so padding "
                "would overwrite the cache. Give each row a real token in every step, or " + _ANY
            )
    else:
        gaps = np.flatnonzero((np.diff(attention_mask.astype(np.int8), axis=1) > 0).any(axis=1))
        if gaps.size:
            raise FeedsError(
                f"attention_mask row {int(gaps[0])} has padding between real tokens. This graph was built with "
                f"padding='right'. {_WHY}"
            )
