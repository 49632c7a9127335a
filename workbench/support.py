"""``support``: can this model be built for this provider in this dtype, and what would be less than hoped for?

The answer is not a table of names: a skeleton is built from the facts, and what the plan and the report say is the
answer. Nothing is read but the model's configuration.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import onnx_ir as ir

from workbench.build import ModelLike, recipe_for
from workbench.ep import ExecutionProvider, get_ep
from workbench.errors import Diagnostic, FusionError, LegalityError, UnsupportedError
from workbench.package import Package
from workbench.rules.report import Miss, OptimizationReport
from workbench.types import OpId, Padding, dtype_word, parse_dtype

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["supported", "supported with notes", "refused"]
CONFIDENCE = ("measured", "recorded", "documented")
"""From the surest fact to the least sure."""


@dataclasses.dataclass(frozen=True)
class Support:
    """What can be said before anything is built with weights.

    ``reasons`` are sentences: of a refusal, or notes on what the graph does without. ``plan`` names the rules that
    would be applied, with their counts. ``quantized`` says in which form weights and cache may be quantized for the
    provider (nothing here quantizes). ``evidence`` is the least sure kind of fact that the graph relies on (empty for
    portable forms and refusals).
    """

    model: str
    execution_provider: str
    dtype: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    evidence: str = ""
    quantized: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.verdict != "refused"

    def __repr__(self) -> str:
        number = len(self.reasons)
        notes = f", {number} note{'s' * (number > 1)}" if self.verdict == "supported with notes" else ""
        verdict = self.verdict.removesuffix(" with notes")
        return f"Support({self.model} on {self.execution_provider} in {self.dtype}: {verdict}{notes})"

    def to_dict(self) -> dict[str, Any]:
        """Every field, for JSON."""
        return dataclasses.asdict(self)

    def to_frame(self) -> pd.DataFrame:
        """A row per reason, one row without where there is none: model, provider, dtype, verdict, reason."""
        import pandas as pd

        head = [self.model, self.execution_provider, self.dtype, self.verdict]
        return pd.DataFrame(
            [[*head, reason] for reason in self.reasons or ("",)],
            columns=["model", "execution_provider", "dtype", "verdict", "reason"],
        )

    def _repr_html_(self) -> str:
        import html

        reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in self.reasons)
        plan = f"<p>Plan: {html.escape(', '.join(self.plan))}</p>" if self.plan else ""
        forms = f"<p>Quantized: {html.escape('; '.join(self.quantized))}</p>" if self.quantized else ""
        return f"<div><p><b>{html.escape(repr(self))}</b></p><ul>{reasons}</ul>{plan}{forms}</div>"


def support(
    model: ModelLike, execution_provider: str = "cpu", dtype: str | None = None, *, padding: Padding = "right"
) -> Support:
    """Say whether a model can be built for an execution provider, without its weights.

    ``model`` is whatever ``build`` takes. ``dtype`` None is the provider's default. A refusal is an answer, not an
    error.

    Raises:
        UnknownNameError: unknown model, execution provider or dtype.
        ConfigError: the model's configuration cannot be read.
    """
    ep = get_ep(execution_provider)
    compute = parse_dtype(dtype) if dtype is not None else ep.default_dtype
    recipe = recipe_for(model, module_class=None, load_weights=False)
    name = _name(model, recipe.config.model_type)
    try:
        package = recipe.package(ep, compute, padding=padding)
    except (UnsupportedError, LegalityError, FusionError) as refusal:
        return Support(name, ep.name, dtype_word(compute), "refused", (str(refusal),))
    notes = _notes(package)
    return Support(
        name,
        ep.name,
        dtype_word(compute),
        "supported with notes" if notes else "supported",
        notes,
        tuple(part for report in package.reports.values() for part in _plan(report)),
        _evidence(package, ep),
        _quantized(ep),
    )


def _name(model: ModelLike, model_type: str) -> str:
    return model if isinstance(model, str) and len(model) < 80 else model_type


def _quantized(ep: ExecutionProvider) -> tuple[str, ...]:
    """The forms that the provider takes, one sentence each."""
    weights = [f"{part}: {fact} ({fact.confidence})" for part, fact in ep.quantized.items()]
    cache = ep.quantized_cache
    return (*weights, *([f"{cache} ({cache.confidence})"] if cache is not None else []))


def _plan(report: OptimizationReport) -> list[str]:
    return [f"{rule.rule} {rule.applied} of {rule.candidates}" for rule in report.rules if rule.candidates]


def _notes(package: Package) -> tuple[str, ...]:
    """Misses and partial rewrites counted by reason, then what the legality check found."""
    notes = []
    for report in package.reports.values():
        for rule in report.rules:
            of = f"of {rule.candidates}"
            notes += [f"{rule.rule} left {n} {of}: {reason}" for reason, n in _counted(rule.misses)]
            notes += [f"{rule.rule} in {n} {of}: {reason}" for reason, n in _counted(rule.partial)]
        notes += [_said(finding) for finding in report.diagnostics if finding.severity != "info"]
    return tuple(notes)


def _counted(misses: tuple[Miss, ...]) -> list[tuple[str, int]]:
    return list(collections.Counter(miss.reason for miss in misses).items())


def _said(finding: Diagnostic) -> str:
    return f"{finding.message}. {finding.hint}".strip()


def _evidence(package: Package, ep: ExecutionProvider) -> str:
    """How sure the least sure fact is that a node of the graph relies on."""
    if not ep.ort_provider:
        return ""
    used = {
        fact.confidence
        for graph in package.models.values()
        for node in ir.traversal.RecursiveGraphIterator(graph.graph)
        if (fact := ep.kernels.get(OpId(node.op_type, node.domain))) is not None
    }
    return max(used, key=CONFIDENCE.index, default="")


__all__ = ["Support", "support"]
