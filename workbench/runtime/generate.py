"""Running a package: one call with its own feeds, or text after a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import FeedsError
from workbench.package import Package
from workbench.runtime.ort_cpu import OrtCpuSession, SessionSettings
from workbench.runtime.padding import check_padding
from workbench.runtime.tokens import TokenRunner, greedy

Array = npt.NDArray[Any]


def run(package: Package, feeds: Mapping[str, Any], *, settings: SessionSettings | None = None) -> dict[str, Array]:
    """Run a one-model package once on CPU kernels; outputs by name.

    Raises:
        FeedsError: an input is missing or unknown, or ``attention_mask`` breaks the package's padding contract.
        ExecutionError: ONNX Runtime has no kernel for something in the graph.
    """
    arrays = {name: np.asarray(value) for name, value in feeds.items()}
    mask, ids = arrays.get("attention_mask"), arrays.get("input_ids")
    if mask is not None and ids is not None and mask.ndim == 2 and ids.ndim == 2:
        check_padding(mask, package.padding, past=mask.shape[1] - ids.shape[1])
    with OrtCpuSession(package.model, settings) as session:
        return session.run(arrays)


def generate(
    package: Package, prompt: str, *, max_new_tokens: int = 32, settings: SessionSettings | None = None
) -> str:
    """The text that a package's graph likes best after a prompt, without the prompt (greedy, on CPU kernels).

    Raises:
        FeedsError: the package has no tokenizer, or the prompt is empty.
        ExecutionError: ONNX Runtime has no kernel for something in the graph.
    """
    tokens = package.encode(prompt)
    if max_new_tokens < 1:
        raise FeedsError(f"max_new_tokens is {max_new_tokens}; it must be at least 1.")
    with OrtCpuSession(package.model, settings) as session:
        made = greedy(TokenRunner(session, package.padding), tokens, max_new_tokens, _stops(package))
    return package.decode(made)


def _stops(package: Package) -> tuple[int, ...]:
    eos = package.config.eos_token_id if package.config is not None else None
    return () if eos is None else (eos,) if isinstance(eos, int) else eos
