"""Running a package: one call with its own feeds, or text after a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from workbench.errors import FeedsError, wrong_type
from workbench.package import Package
from workbench.runtime.arrays import as_arrays
from workbench.runtime.limits import check_feeds, check_positions
from workbench.runtime.ort_cpu import OrtCpuSession, SessionSettings
from workbench.runtime.tokens import TokenRunner, greedy

Array = npt.NDArray[Any]


def run(package: Package, feeds: Mapping[str, Any], *, settings: SessionSettings | None = None) -> dict[str, Array]:
    """Run a one-model package once on CPU kernels; outputs by name.

    Raises:
        FeedsError: an input is missing, unknown or does not fit, ``attention_mask`` breaks the package's padding
            contract, or there are more slots than the model has positions.
        ArgumentError: ``package`` is none.
        ExecutionError: ONNX Runtime has no kernel for something in the graph.
    """
    _check_package(package)
    arrays = as_arrays(feeds)
    check_feeds(package.config, arrays, package.padding)
    with OrtCpuSession(package.model, settings) as session:
        return session.run(arrays)


def generate(
    package: Package, prompt: str, *, max_new_tokens: int = 32, settings: SessionSettings | None = None
) -> str:
    """The text that a package's graph likes best after a prompt, without the prompt (greedy, on CPU kernels).

    Raises:
        FeedsError: the package has no tokenizer, the prompt is empty, or it does not fit the model's positions.
        ArgumentError: an argument has a type that is not taken.
        ExecutionError: ONNX Runtime has no kernel for something in the graph.
    """
    _check_package(package)
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int):
        raise wrong_type("max_new_tokens", max_new_tokens, "a whole number")
    if max_new_tokens < 1:
        raise FeedsError(f"max_new_tokens is {max_new_tokens}; it must be at least 1.")
    tokens = package.encode(prompt)
    check_positions(package.config, len(tokens) + max_new_tokens - 1, prompt=len(tokens))
    with OrtCpuSession(package.model, settings) as session:
        made = greedy(TokenRunner(session, package.padding), tokens, max_new_tokens, _stops(package))
    return package.decode(made)


def _check_package(package: object) -> None:
    if not isinstance(package, Package):
        raise wrong_type("package", package, "a Package", "build(), load() and a Comparison give one.")


def _stops(package: Package) -> tuple[int, ...]:
    eos = package.config.eos_token_id if package.config is not None else None
    return () if eos is None else (eos,) if isinstance(eos, int) else eos
