"""What :func:`diff` is given: a model from whatever holds one, its label, and the settings of its package."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from workbench.errors import wrong_type
from workbench.package.unreadable import of_proto
from workbench.types import dtype_word

ALLOWED = "an ir.Model, an onnx.ModelProto, the path of an ONNX file or folder, a Package of one model or an Optimized"


@dataclasses.dataclass(frozen=True)
class Given:
    """A model, what to call it, and what its package says beside the graph (empty for a bare graph)."""

    model: ir.Model
    label: str
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    is_package: bool = False


def take(argument: str, found: Any) -> Given:
    """The model that an argument holds.

    Raises:
        ArgumentError: it holds none.
        WorkbenchError: a package of several models; a file that cannot be read.
    """
    if isinstance(found, ir.Model):
        return Given(found, found.graph.name or argument)
    if isinstance(found, onnx.ModelProto):
        return Given(of_proto(argument, found), found.graph.name or argument)
    if isinstance(found, str | os.PathLike):
        return _stored(Path(found))
    if isinstance(found, Mapping) and hasattr(found, "models"):
        return _package(found)
    model, report = getattr(found, "model", None), getattr(found, "report", None)
    if isinstance(model, ir.Model):
        return Given(model, getattr(report, "execution_provider", "") or argument)
    raise wrong_type(argument, found, ALLOWED)


def _stored(path: Path) -> Given:
    """A file, our package's folder, or a folder of another builder that holds one graph; named as it lies on disk."""
    from workbench.package import load

    place = path
    if os.path.isdir(path) and not (path / "manifest.json").is_file():
        graphs = sorted(path.glob("*.onnx"))
        plain = path / "model.onnx"
        place = plain if plain in graphs else graphs[0] if len(graphs) == 1 else path
    found = _package(load(place))
    name = path.name if path.is_dir() else path.stem if path.stem != "model" else path.resolve().parent.name
    return dataclasses.replace(found, label=name or str(path))


def _package(package: Any) -> Given:
    settings = _settings(package) if package.execution_provider or package.config is not None else {}
    label = package.execution_provider or package.name or "model"
    return Given(package.model, label, settings, is_package=bool(settings))


def _settings(package: Any) -> dict[str, str]:
    """What is set beside the graph and changes what one may do with it."""
    dropped = [name for report in package.reports.values() for name in report.dropped_inputs]
    found = {
        "execution_provider": package.execution_provider,
        "dtype": dtype_word(package.dtype) if package.dtype is not None else "",
        "padding": package.padding,
        "dropped_inputs": ", ".join(dropped),
        "source": package.source.name if package.source is not None else "",
    }
    words = package.config.to_dict() if package.config is not None else {}
    return found | {f"model.{key}": _text(value) for key, value in _leaves(words)}


def _leaves(words: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """``rope.theta`` and the like: one setting a line."""
    found: list[tuple[str, Any]] = []
    for key, value in words.items():
        found += _leaves(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
