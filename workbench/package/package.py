"""The package in memory: a frozen mapping from a graph's key to its ``ir.Model``, and three faces."""

from __future__ import annotations

import dataclasses
import html
import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.config.parts import AnyConfig
from workbench.config.progress import Progress
from workbench.config.source import SourceConfig
from workbench.errors import Diagnostic, FeedsError, WorkbenchError, wrong_type
from workbench.package.manifest import Manifest
from workbench.rules.report import OptimizationReport
from workbench.types import Padding, dtype_word
from workbench.weights.bind import BindReport

if TYPE_CHECKING:
    import pandas as pd

_WITHOUT = "Leave prompts out, so that tokens are drawn from a seed, or give token ids as feeds."
COLUMNS = ["model", "execution_provider", "dtype", "node", "function", "parameter", "nbytes"]


@dataclasses.dataclass(frozen=True, eq=False)
class Package(Mapping[str, ir.Model]):
    """Graphs of one model for one execution provider.

    ``models`` has the key ``model`` in a one-model package. ``generic`` holds the graphs that they came from
    (empty after loading). ``execution_provider`` is empty for a file that the workbench did not make.
    """

    models: Mapping[str, ir.Model]
    generic: Mapping[str, ir.Model] = dataclasses.field(default_factory=dict)
    execution_provider: str = ""
    dtype: ir.DataType | None = None
    config: AnyConfig | None = None
    source: SourceConfig | None = None
    reports: Mapping[str, OptimizationReport] = dataclasses.field(default_factory=dict)
    padding: Padding = "right"
    bind_report: BindReport | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getitem__(self, key: str) -> ir.Model:
        return self.models[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    @property
    def model(self) -> ir.Model:
        """The only model.

        Raises:
            WorkbenchError: the package holds several, or none.
        """
        return _only("model", self.models)

    @property
    def report(self) -> OptimizationReport:
        """The only report of the pipeline.

        Raises:
            WorkbenchError: there are several, or none (a file that the workbench did not make).
        """
        return _only("report", self.reports)

    @property
    def name(self) -> str:
        """The source's name, else that of the graph."""
        if self.source is not None:
            return self.source.name
        return next((model.graph.name or "" for model in self.models.values()), "")

    @property
    def tokenizer(self) -> Path | None:
        """A folder with ``tokenizer.json`` (and, where known, its config and chat template), or None."""
        return self.source.tokenizer if self.source is not None else None

    def encode(self, text: str) -> list[int]:
        """The token ids of a text, with the special tokens that the tokenizer adds by itself.

        Raises:
            FeedsError: the package has no tokenizer.
            ArgumentError: ``text`` is none.
        """
        if not isinstance(text, str):
            raise wrong_type("text", text, "a text")
        return list(self._tokenizer().encode(text).ids)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """The text of token ids.

        Raises:
            FeedsError: the package has no tokenizer, or an id cannot be one.
            ArgumentError: ``ids`` is no list of whole numbers.
        """
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise wrong_type("ids", ids, "a list of token ids")
        numbers = [_token(one) for one in ids]
        return str(self._tokenizer().decode(numbers, skip_special_tokens=skip_special_tokens))

    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        if self.tokenizer is None:
            raise FeedsError(f"{self!r} has no tokenizer (tokenizer.json). {_WITHOUT}")
        try:
            return Tokenizer.from_file(str(self.tokenizer / "tokenizer.json"))
        except Exception as error:  # the tokenizers library raises plain Exception
            raise FeedsError(f"{self.tokenizer / 'tokenizer.json'} cannot be read: {error}.") from None

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False, progress: Progress = None) -> Manifest:
        """Write the package to a folder of its own, whole or not at all.

        The folder holds ``model.onnx``, ``model.onnx.data``, ``manifest.json`` (checksums, versions, plan and
        reports) and, where known, tokenizer files, ``config.json`` and ``generation_config.json``.
        With ``overwrite`` an older package is replaced; at any moment the old or the new one is there, complete.

        Raises:
            SaveError: the folder exists or is not a package, the package has no weights, or the disk refuses.
            WeightsError: a weight cannot be read, or does not fit the dtype.
            ArgumentError: ``folder`` is no path.
        """
        from workbench.package.saving import save

        if not isinstance(folder, str | os.PathLike):
            raise wrong_type("folder", folder, "a path")
        return save(self, Path(folder), overwrite=overwrite, progress=progress)

    def to_frame(self) -> pd.DataFrame:
        """A row per graph: model, execution_provider, dtype, node, function, parameter, nbytes (of the weights)."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=COLUMNS)

    def _rows(self) -> list[list[Any]]:
        dtype = dtype_word(self.dtype) if self.dtype is not None else ""
        return [
            [key, self.execution_provider, dtype, len(model.graph), len(model.functions), *_weights(model)]
            for key, model in self.models.items()
        ]

    def __repr__(self) -> str:
        place = f" for {self.execution_provider}" if self.execution_provider else ""
        dtype = f" {dtype_word(self.dtype)}" if self.dtype is not None else ""
        graphs = ", ".join(f"{key}: {len(model.graph)} nodes" for key, model in self.models.items())
        return f"Package({self.name!r}{place}{dtype}; {graphs or 'no graphs'})"

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_text(cell))}</td>" for cell in row) + "</tr>" for row in self._rows()
        )
        head = "".join(f"<th>{column}</th>" for column in COLUMNS)
        notes = "".join(f"<li>{html.escape(str(found))}</li>" for found in self.diagnostics)
        return (
            f"<div><p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            + (f"<ul>{notes}</ul>" if notes else "")
            + "</div>"
        )


def _token(one: Any) -> int:
    try:
        number = operator.index(one)  # NumPy's whole numbers too
    except TypeError:
        raise wrong_type("each of ids", one, "a token id") from None
    if not 0 <= number < 2**32:
        raise FeedsError(f"{number} is no token id; they are whole numbers from 0.")
    return number


def _only(what: str, found: Mapping[str, Any]) -> Any:
    if len(found) != 1:
        held = f"{len(found)}: {', '.join(found)}" if found else "none"
        raise WorkbenchError(
            f"This package has not one {what} but {held}. Ask for one by its key, package.{what}s[key]."
        )
    return next(iter(found.values()))


def _weights(model: ir.Model) -> tuple[int, int]:
    """(number of parameters, their bytes), from declared shapes: nothing is read."""
    count = size = 0
    for value in model.graph.initializers.values():
        shape = value.const_value.shape if value.const_value is not None else value.shape
        dtype = value.const_value.dtype if value.const_value is not None else value.dtype
        if shape is None or dtype is None or not all(isinstance(length, int) for length in shape):
            continue
        values = math.prod(shape.numpy())
        count += values
        size += values * dtype.bitwidth // 8 if dtype is not ir.DataType.STRING else 0
    return count, size


def _text(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
