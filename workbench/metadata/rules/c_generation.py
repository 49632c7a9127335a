"""Group C: which words of generation a request may override."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.package import GenerationOverride
from workbench.metadata.document.workflow import RequestSource, RuntimeRole
from workbench.metadata.registry import Finding, rule
from workbench.metadata.wording import q

_OVERRIDES: Path = ("generation", "overrides")


def _overrides(context: Context) -> Iterator[tuple[Path, str, GenerationOverride]]:
    generation = context.document.generation
    for name, override in generation.overrides.items() if generation else ():
        yield (*_OVERRIDES, name), name, override


@rule(17, "semantic", "An override names the word that it overrides.")
def _blank(context: Context) -> Iterator[Finding]:
    for path, name, _ in _overrides(context):
        if not name.strip():
            yield Finding(path, "An override has a blank name.", "Name the word of generation, top_k for example.")


@rule(18, "semantic", "Overrides stand beside a workflow, whose inputs they set.")
def _no_workflow(context: Context) -> Iterator[Finding]:
    if context.workflow is None and any(True for _ in _overrides(context)):
        message = "generation.overrides sets inputs of a workflow, and there is no workflow."
        yield Finding(_OVERRIDES, message, "Add pipeline.workflow, or remove the overrides.")


@rule(19, "semantic", "The input of an override is an input of the workflow.")
def _undeclared(context: Context) -> Iterator[Finding]:
    for path, name, override in _overrides(context):
        if context.workflow and override.input not in context.workflow.inputs:
            message = f"The override {q(name)} sets the input {q(override.input)}, which the workflow does not have."
            yield Finding((*path, "input"), message, "Name an input of pipeline.workflow.inputs.")


@rule(20, "semantic", "The input of an override comes from the request and has a runtime role.")
def _source(context: Context) -> Iterator[Finding]:
    for path, name, override in _overrides(context):
        entry = context.workflow.inputs.get(override.input) if context.workflow else None
        if entry is None or (isinstance(entry.source, RequestSource) and isinstance(entry.role, RuntimeRole)):
            continue
        message = f"The override {q(name)} sets {q(override.input)}, which no request fills by a runtime role."
        hint = "Give the input `source: {kind: request}` and a runtime role, or override another one."
        yield Finding((*path, "input"), message, hint)


@rule(21, "semantic", "The minimum of an override is not above its maximum.")
def _range(context: Context) -> Iterator[Finding]:
    for path, name, override in _overrides(context):
        limits = override.constraint
        if limits is None or limits.minimum is None or limits.maximum is None:
            continue
        if limits.minimum > limits.maximum:
            message = f"The override {q(name)} has the minimum {limits.minimum:g} above its maximum {limits.maximum:g}."
            yield Finding((*path, "constraint"), message, "Exchange or correct the two.")
