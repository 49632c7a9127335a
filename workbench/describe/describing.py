"""``describe``: the document of a package, by the first kind that it is of."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.described_package import DescribedPackage, check_facts
from workbench.describe.kinds import KINDS, Kind, kind_named
from workbench.describe.kinds.base import Writer
from workbench.describe.result import InferenceMetadata
from workbench.describe.subject import Subject
from workbench.describe.written import written
from workbench.errors import UnsupportedError, some, unknown, wrong_type
from workbench.package import Package

POLICIES = ("runtime", "graphs")


def describe(
    package: Package | DescribedPackage,
    *,
    kind: str | None = None,
    policy: str = "runtime",
    facts: Mapping[str, Any] | None = None,
) -> InferenceMetadata:
    """What a runtime must know of a package, as a workflow: inputs, components, state, steps.

    Args:
        package: graphs, from ``build()``, ``load()`` or a ``Comparison``; or a ``DescribedPackage`` of others' graphs.
        kind: the kind to describe it as; None takes the first that it is of.
        policy: who chooses tokens and ends rows: the ``runtime`` in its own decode loop, which batches requests, or
            small ``graphs`` of the document, so that every step of it can be followed.
        facts: what the graphs do not tell, in the words of the kind (``{"pooling": "mean"}`` of an encoder).

    Raises:
        UnsupportedError: the package is of no kind that is known, or not of the one asked for; its graphs do not fit
            together; the kind leaves something to the runtime in any case.
        UnknownNameError: there is no such kind, policy or fact.
        ConfigError: a fact is missing, or the graphs contradict it.
        ArgumentError: ``package`` is none.
    """
    if policy not in POLICIES:
        raise unknown("policy", policy, POLICIES)
    subject, asked = _subject(package, kind, facts)
    chosen, builder = _kind(subject, asked), WorkflowBuilder()
    check_facts(chosen, subject.facts)
    with written(f"The workflow of {subject.package!r} as {chosen.name}"):
        _writer(chosen, policy)(subject, builder)
    return checked(InferenceMetadata(
        builder.document(), chosen.name, subject.package.name, artifacts=dict(builder.artifacts),
        models=dict(builder.models), notes=tuple(builder.notes),
    ))  # fmt: skip


def checked(made: InferenceMetadata) -> InferenceMetadata:
    """The document, if it keeps every rule: graphs that do not fit together make one that does not.

    Raises:
        UnsupportedError: it breaks one.
    """
    broken = made.validate().errors
    if broken:
        more = f" ({len(broken) - 1} more)" if len(broken) > 1 else ""
        raise UnsupportedError(
            f"{made.name!r} cannot be described as {made.kind}, its graphs do not fit together: {broken[0].message} "
            f"({broken[0].code}){more}. Compare dtypes, shapes and names of their inputs and outputs, and export them "
            "again."
        )
    return made


def _subject(package: object, kind: str | None, facts: Mapping[str, Any] | None) -> tuple[Subject, str | None]:
    """The package with all that was said of it, and the kind that was asked for."""
    if facts is not None and not isinstance(facts, Mapping):
        raise wrong_type("facts", facts, "a mapping from the name of a fact to its value")
    if isinstance(package, DescribedPackage):
        said = {**package.facts, **(facts or {})}
        return Subject(package.package, said, package.artifacts), kind or package.kind
    if not isinstance(package, Package):
        hint = "build(), load() and a Comparison give one; Package({'model': graph}) holds a graph."
        raise wrong_type("package", package, "a Package", hint)
    return Subject(package, {} if facts is None else facts), kind


def _writer(kind: Kind, policy: str) -> Writer:
    if policy == "runtime":
        return kind.write
    if kind.spell is None:
        raise UnsupportedError(
            f"policy='graphs': the workflow of the kind {kind.name!r} is written for the runtime's own loop alone. "
            "Leave policy out."
        )
    return kind.spell


def _kind(subject: Subject, asked: str | None) -> Kind:
    tried = [kind_named(asked)] if asked is not None else list(KINDS)
    fitting = [one for one in tried if one.fits(subject)]
    # Of several the one that takes the facts that were said: a decoder takes none, one with adapters is told of them.
    found = next((one for one in fitting if _takes(one, subject)), next(iter(fitting), None))
    if found is None:
        ends = [
            f"{key}: {some(list(facts.inputs), 4)} -> {some(list(facts.outputs), 3)}"
            for key, facts in subject.graphs.items()
        ]
        wanted = "; ".join(f"{one.name} ({one.about})" for one in tried)
        raise UnsupportedError(
            f"{subject.package!r} cannot be described as {wanted}. Its graphs: {'; '.join(ends) or 'none'}. "
            "Build a model whose task is one of these."
        )
    return found


def _takes(kind: Kind, subject: Subject) -> bool:
    known = {field.name for field in dataclasses.fields(kind.facts)} if kind.facts is not None else set()
    return set(subject.facts) <= known


__all__ = ["describe"]
