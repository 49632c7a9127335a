"""One call with inputs of the user's own, for graphs that are no text generators or for a case of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.parity import ParityCase
from workbench.errors import FeedsError, some
from workbench.runtime.arrays import as_arrays, cast_exactly
from workbench.runtime.padding import check_padding
from workbench.runtime.scenario import Run
from workbench.runtime.tokens import Session, TokenStep
from workbench.types import Padding

Array = npt.NDArray[Any]
GIVEN = ParityCase("feeds", "one call with the inputs that were given")


class Feeds:
    """Inputs by name, given to each graph in the dtypes that it wants; ``logits`` (or the first output) is compared.

    Raises:
        FeedsError: not a mapping of names to arrays, or nothing in it.
    """

    def __init__(self, feeds: Mapping[str, Any]) -> None:
        self._feeds = as_arrays(feeds)
        if not self._feeds:
            raise FeedsError(f"feeds must map input names to arrays; found {type(feeds).__name__} {feeds!r:.80}.")

    def record(self, session: Session) -> tuple[Run, ...]:
        """Run the reference."""
        missing = sorted(set(session.inputs) - set(self._feeds))
        odd = sorted(set(self._feeds) - set(session.inputs))
        if missing or odd:
            raise FeedsError(
                f"feeds must name the inputs of the generic graph ({some(session.inputs)}); missing: {some(missing)}; "
                f"unknown: {some(odd)}."
            )
        return self._run(session, "any")

    def replay(self, session: Session, runs: Sequence[Run], padding: Padding) -> tuple[Run, ...]:
        """The same call on another graph; inputs that it dropped are left out."""
        return self._run(session, padding)

    def _run(self, session: Session, padding: Padding) -> tuple[Run, ...]:
        step = self._step()
        past = step.attention_mask.shape[1] - step.input_ids.shape[1]
        check_padding(step.attention_mask, padding, past=past)
        taken = {name: array for name, array in self._feeds.items() if name in session.inputs}
        feeds = {name: cast_exactly(name, array, session.inputs[name].type) for name, array in taken.items()}
        output = "logits" if "logits" in session.outputs else session.outputs[0]
        found = session.run(feeds, [output])[output].astype(np.float32)
        if found.ndim != 3:
            raise FeedsError(f"Output {output!r} has shape {found.shape}; parity compares [B, S, V] logits.")
        return (Run((GIVEN,), (self._fitted(step, found),), (found,), output),)

    def _step(self) -> TokenStep:
        ids = self._feeds.get("input_ids", next(iter(self._feeds.values())))
        ids = ids if ids.ndim == 2 else np.zeros((1, 1), np.int64)
        mask = self._feeds.get("attention_mask", np.ones_like(ids))
        return TokenStep(ids, mask if mask.ndim == 2 else np.ones_like(ids))

    def _fitted(self, step: TokenStep, found: Array) -> TokenStep:
        """Every position counts where the given mask does not speak of the output's own positions."""
        if step.valid.shape == found.shape[:2]:
            return step
        ones = np.ones(found.shape[:2], np.int64)
        return TokenStep(ones, ones)
