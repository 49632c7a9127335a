"""A comparison as one JSON document: what ``workbench compare --json`` writes, and nothing that is not JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.analysis.parity_report import ParityReport
    from workbench.compare import Comparison
    from workbench.package import Package

FORMAT = "ep-workbench.comparison"
VERSION = 1
VERSIONED = ("ep-workbench", "onnx", "onnx-ir", "onnxscript", "onnxruntime", "numpy", "transformers", "tokenizers")

SCHEMA = """
\b
JSON of --json (format ep-workbench.comparison, format_version 1; NaN is null):
  model                {name, model_type, origin, revision, config}
  versions             {package: version}
  generic              {dtype, nodes}
  execution_providers  {name: {dtype, padding, generic_nodes, nodes, dropped_inputs, planned, skipped, diagnostics}}
  ops                  [{execution_provider, domain, op_type, count}]
  fusions              [{execution_provider, rule, candidates, applied, fact, precondition, unmatched}]
  misses               [{execution_provider, rule, node, scope, kind, reason}]
  parity               {reference, seed, prompts, session_options, rows, summary, verdict}, or null without weights
"""


def comparison_document(comparison: Comparison, parity: ParityReport | None) -> dict[str, Any]:
    """Everything that the comparison knows, in the order of :data:`SCHEMA`."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "model": _model(comparison),
        "versions": {name: metadata.version(name) for name in VERSIONED},
        "generic": {"dtype": "float32", "nodes": len(comparison.generic.graph)},
        "execution_providers": {name: _provider(package) for name, package in comparison.items()},
        "ops": _records(comparison.ops()),
        "fusions": _records(comparison.fusions()),
        "misses": _records(comparison.misses()),
        "parity": None if parity is None else _parity(parity),
    }


def _model(comparison: Comparison) -> dict[str, Any]:
    package = next(iter(comparison.values()))
    source, config = package.source, package.config
    return {
        "name": comparison.name,
        "model_type": source.model_type if source else None,
        "origin": source.origin if source else None,
        "revision": source.revision if source else None,
        "config": config.to_dict() if config else None,
    }


def _provider(package: Package) -> dict[str, Any]:
    report = package.report
    return {
        "dtype": report.dtype,
        "padding": package.padding,
        "generic_nodes": report.nodes_before,
        "nodes": report.nodes_after,
        "dropped_inputs": list(report.dropped_inputs),
        "planned": [{"rule": rule, "because": why} for rule, why in report.planned],
        "skipped": [{"rule": rule, "reason": why} for rule, why in report.skipped],
        "diagnostics": [dataclasses.asdict(found) for found in package.diagnostics],
    }


def _parity(parity: ParityReport) -> dict[str, Any]:
    return {
        "reference": parity.reference,
        "seed": parity.seed,
        "prompts": list(parity.prompts),
        "session_options": dict(parity.session_options),
        "rows": _records(parity),
        "summary": _records(parity.summary()),
        "verdict": parity.verdict,
    }


def _records(result: Any) -> list[dict[str, Any]]:
    """A result's frame, row by row."""
    found: list[dict[str, Any]] = result.to_frame().to_dict(orient="records")
    return found


def to_json(document: Mapping[str, Any] | Sequence[Any]) -> str:
    """The text of a document: UTF-8 characters as they are, NaN and Inf as null, a line at the end."""
    return json.dumps(_plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """Python's own JSON types, whatever numpy or pandas made."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):  # a numpy scalar
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
