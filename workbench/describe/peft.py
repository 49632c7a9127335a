"""A low-rank adapter as the PEFT library saves it: which modules it changes, with which rank and weight.

Source: PEFT's ``adapter_config.json`` (r, lora_alpha, rank_pattern, alpha_pattern, use_rslora, use_dora) and the names
in its ``adapter_model.safetensors``; weights are not read, only their names and shapes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import ModelFileError, UnsupportedError, WeightsError, some, wrong_type
from workbench.types import dtype_word
from workbench.weights.safetensors import Entry, read_header

CONFIG, WEIGHTS, PREFIX = "adapter_config.json", "adapter_model.safetensors", "base_model.model."
_PART = re.compile(r"(?P<module>.+)\.lora_(?P<side>[AB])\.weight")
_REFUSED = {
    "use_rslora": "scales by alpha over the root of the rank; a workflow scales by alpha over rank",
    "use_dora": "scales the base weight itself",
    "modules_to_save": "brings whole weights besides the low-rank ones",
}


@dataclasses.dataclass(frozen=True)
class Change:
    """One module: ``a`` is ``[rank, width_in]``, ``b`` is ``[width_out, rank]``."""

    module: str
    key: str
    rank: int
    alpha: float
    width_in: int
    width_out: int


@dataclasses.dataclass(frozen=True)
class PeftAdapter:
    """An adapter's folder; ``changes`` are in the order of their names."""

    rank: int
    alpha: float
    dtype: str
    base: str | None
    changes: tuple[Change, ...]


def read_peft(folder: str | os.PathLike[str]) -> PeftAdapter:
    """What a folder of PEFT says.

    Raises:
        ModelFileError: there is no config, or it is none of a LoRA adapter.
        WeightsError: the weights cannot be read, or a module has only one of its two matrices.
        UnsupportedError: the adapter does more than add a product of two matrices.
        ArgumentError: ``folder`` is no path.
    """
    if not isinstance(folder, str | os.PathLike):
        raise wrong_type("the folder of an adapter", folder, "a path")
    root = Path(folder)
    words = _config(root)
    for word, why in _REFUSED.items():
        if words.get(word):
            raise UnsupportedError(f"The adapter in {root.name!r} has {word}={words[word]!r}: it {why}.")
    if words.get("bias", "none") != "none":
        raise UnsupportedError(f"The adapter in {root.name!r} has bias={words['bias']!r}; biases cannot be selected.")
    entries = read_header(root / WEIGHTS)
    changes = _changes(root, words, entries)
    dtypes = sorted({dtype_word(entry.dtype) for entry in entries})
    if len(dtypes) != 1:
        raise UnsupportedError(f"The adapter in {root.name!r} mixes dtypes: {some(dtypes)}. Save it in one.")
    base = words.get("base_model_name_or_path")
    return PeftAdapter(
        words["r"], float(words["lora_alpha"]), dtypes[0], base if isinstance(base, str) else None, changes
    )


def _config(root: Path) -> Mapping[str, Any]:
    try:
        words = json.loads((root / CONFIG).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{str(root)!r} holds no adapter: {CONFIG} cannot be read ({error}).") from None
    rank, alpha = (words.get("r"), words.get("lora_alpha")) if isinstance(words, dict) else (None, None)
    if not _is_number(rank, int) or not _is_number(alpha, int | float):
        raise ModelFileError(f"{CONFIG} in {root.name!r} is none of LoRA: r is {rank!r}, lora_alpha is {alpha!r}.")
    return words


def _is_number(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and value > 0


def _changes(root: Path, words: Mapping[str, Any], entries: tuple[Entry, ...]) -> tuple[Change, ...]:
    sides: dict[str, dict[str, tuple[int, ...]]] = {}
    for entry in entries:
        part = _PART.fullmatch(entry.name)
        if part is None or len(entry.shape) != 2:
            raise UnsupportedError(
                f"The adapter in {root.name!r} has the weight {entry.name!r}, which is none of LoRA's."
            )
        sides.setdefault(part["module"], {})[part["side"]] = entry.shape
    if not sides:
        raise WeightsError(f"The adapter in {root.name!r} has no weights.")
    return tuple(_change(root, words, key, sides[key]) for key in sorted(sides))


def _change(root: Path, words: Mapping[str, Any], key: str, sides: Mapping[str, tuple[int, ...]]) -> Change:
    module = key.removeprefix(PREFIX)
    rank = int(_pattern(root, words, "rank_pattern", module, words["r"]))
    alpha = float(_pattern(root, words, "alpha_pattern", module, words["lora_alpha"]))
    a, b = sides.get("A"), sides.get("B")
    if a is None or b is None or a[0] != b[1] or a[0] != rank:
        raise WeightsError(
            f"The adapter in {root.name!r} changes {module!r} by A {a} and B {b}; A [{rank}, in] and B [out, {rank}] "
            "are wanted."
        )
    return Change(module, key, rank, alpha, a[1], b[0])


def _pattern(root: Path, words: Mapping[str, Any], word: str, module: str, otherwise: Any) -> Any:
    """The number of the first pattern that fits: a regular expression of a module's name, or of the end of it.

    Source: PEFT's ``get_pattern_key``.
    """
    patterns = words.get(word)
    for pattern, value in patterns.items() if isinstance(patterns, dict) else ():
        try:
            fits = re.fullmatch(rf"(.*\.)?({pattern})", module) is not None
        except re.error:
            raise ModelFileError(f"{CONFIG} in {root.name!r}: {word} has {pattern!r}, no regular expression.") from None
        if fits and not _is_number(value, int | float):
            raise ModelFileError(f"{CONFIG} in {root.name!r}: {word} of {pattern!r} is {value!r}, no number above 0.")
        if fits:
            return value
    return otherwise


__all__ = ["CONFIG", "WEIGHTS", "Change", "PeftAdapter", "read_peft"]
