"""``describe``: the document of a package, by the first kind that it is of."""

from __future__ import annotations

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.kinds import KINDS, Kind
from workbench.describe.kinds.base import Writer
from workbench.describe.result import InferenceMetadata
from workbench.describe.subject import Subject
from workbench.errors import UnsupportedError, some, unknown, wrong_type
from workbench.package import Package

POLICIES = ("runtime", "graphs")


def describe(package: Package, *, kind: str | None = None, policy: str = "runtime") -> InferenceMetadata:
    """What a runtime must know of a package, as a workflow: inputs, components, state, steps.

    Args:
        package: graphs, from ``build()``, ``load()`` or a ``Comparison``.
        kind: the kind to describe it as; None takes the first that it is of.
        policy: who chooses tokens and ends rows: the ``runtime`` in its own decode loop, which batches requests, or
            small ``graphs`` of the document, so that every step of it can be followed.

    Raises:
        UnsupportedError: the package is of no kind that is known, or not of the one asked for; the kind leaves
            something to the runtime in any case.
        UnknownNameError: there is no such kind or policy.
        ArgumentError: ``package`` is none.
    """
    if not isinstance(package, Package):
        raise wrong_type("package", package, "a Package", "build(), load() and a Comparison give one.")
    if policy not in POLICIES:
        raise unknown("policy", policy, POLICIES)
    subject = Subject(package)
    chosen, builder = _kind(subject, kind), WorkflowBuilder()
    _writer(chosen, policy)(subject, builder)
    return InferenceMetadata(
        builder.document(), chosen.name, package.name, artifacts=dict(builder.artifacts), models=dict(builder.models),
        notes=tuple(builder.notes),
    )  # fmt: skip


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
    known = {one.name: one for one in KINDS}
    if asked is not None and asked not in known:
        raise unknown("kind", asked, known)
    tried = [known[asked]] if asked is not None else list(KINDS)
    found = next((one for one in tried if one.fits(subject)), None)
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


__all__ = ["describe"]
