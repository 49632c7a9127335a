"""What the runtime of an autoregressive decoder supplies: the tokens of a round, attention mask, positions, places.

A decoder component (contract ``onnx-genai.autoregressive-decode``) whose token port reads the prompt in a loop gets
the prompt in its first call and the tokens of the policy in each later one: the document names the source of the
tokens, not their way back. Mask and positions come from the tokens where nothing else gives them.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from workbench.interpret.arrays import Array
from workbench.runtime.tokens import TokenStep

DECODE = "onnx-genai.autoregressive-decode"


@dataclasses.dataclass(eq=False)
class Decoding:
    """One decoder in the course of a run. ``step`` is its last call; None before the first."""

    step: TokenStep | None = None

    def begin(self, rows: int, width: int, ids: Array | None, mask: Array | None) -> TokenStep:
        """The next call with ``[B, S]`` tokens. The first takes the mask that is given, or ones."""
        tokens = ids if ids is not None else np.zeros((rows, width), np.int64)
        ones = np.ones((rows, width), np.int64)
        if self.step is None:
            whole = ones if mask is None else mask.astype(np.int64)
        else:
            whole = np.concatenate([self.step.attention_mask, ones], axis=1)
        self.step = TokenStep(tokens, whole)
        return self.step

    @property
    def slots_before(self) -> Array:
        """``[B]`` how many slots of the cache were filled before the last call."""
        assert self.step is not None
        rows, total = self.step.attention_mask.shape
        return np.full(rows, total - self.step.input_ids.shape[1], np.int64)

    @property
    def slots_after(self) -> Array:
        """``[B]`` how many are after it."""
        assert self.step is not None
        rows, total = self.step.attention_mask.shape
        return np.full(rows, total, np.int64)


def positions(step: TokenStep, rank: int) -> Array:
    """``[B, S]``; of rank 3 the same for each of three axes, as for text alone: ``[3, B, S]``."""
    found = step.position_ids
    return np.stack([found] * 3) if rank == 3 else found
