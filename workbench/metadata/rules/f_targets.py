"""Group F, rules 54 to 65: the initializers that adapters may change."""

from __future__ import annotations

import math
from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.adapters import Target, TargetSlice
from workbench.metadata.dtypes import is_float
from workbench.metadata.registry import Finding, rule
from workbench.metadata.wording import q

_TARGETS: Path = ("adapters", "target_manifest", "targets")
_NAMES = ("id", "component", "initializer", "node_name", "output_name")
FLOAT_HINT = "Write float32, float16 or bfloat16."
ALPHA_HINT = "Write a finite number above zero."


def good_alpha(alpha: float) -> bool:
    return math.isfinite(alpha) and alpha > 0


def _targets(context: Context) -> Iterator[tuple[Path, Target]]:
    adapters = context.document.adapters
    for index, target in enumerate(adapters.target_manifest.targets if adapters else ()):
        yield (*_TARGETS, index), target


@rule(54, "semantic", "A target names itself, its component, initializer, node and output.")
def _blank(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        for field in _NAMES:
            if not getattr(target, field).strip():
                yield Finding((*path, field), f"The {field} of a target is blank.", "Write its exact name.")


@rule(55, "semantic", "Every target has an id of its own.")
def _same_id(context: Context) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, target in _targets(context):
        if target.id in seen and target.id.strip():
            yield Finding((*path, "id"), f"A target before has the id {q(target.id)} too.", "Give it another id.")
        seen.add(target.id)


@rule(
    56, "semantic", "Every target changes a place of its own: component, initializer and slice (role, offset, width)."
)
def _same_place(context: Context) -> Iterator[Finding]:
    seen: dict[tuple[object, ...], str] = {}
    for path, target in _targets(context):
        part = target.output_slice
        place = (target.component, target.initializer, part and (part.role, part.offset, part.width))
        if place in seen:
            message = f"The target {q(target.id)} changes the same place as {q(seen[place])}."
            yield Finding(path, message, "Drop one of the two, or slice the output.")
        seen.setdefault(place, target.id)


@rule(57, "semantic", "A target has input and output features.")
def _features(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        for field in ("input_features", "output_features"):
            if getattr(target, field) == 0:
                yield Finding((*path, field), f"The target {q(target.id)} has no {field}.", "Write their number.")


@rule(58, "semantic", "The activations of a target are floats.")
def _dtype(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        if not is_float(target.activation_dtype):
            message = f"The target {q(target.id)} has activations of dtype {q(target.activation_dtype)}."
            yield Finding((*path, "activation_dtype"), message, FLOAT_HINT)


@rule(59, "semantic", "The rank of a target is not zero.")
def _rank(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        if target.rank == 0:
            message = f"The target {q(target.id)} has rank 0."
            yield Finding((*path, "rank"), message, "Write at least 1, or leave it out for any rank.")


@rule(60, "semantic", "The alpha of a target is finite and above zero.")
def _alpha(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        if target.alpha is not None and not good_alpha(target.alpha):
            yield Finding((*path, "alpha"), f"The target {q(target.id)} has alpha {target.alpha:g}.", ALPHA_HINT)


@rule(61, "semantic", "A slice has a role and a width, and lies inside the output.")
def _slice(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        if target.output_slice:
            for field, wrong in _slice_faults(target, target.output_slice):
                message = f"The slice of the target {q(target.id)} {wrong}."
                yield Finding((*path, "output_slice", field), message, "Correct the slice.")


def _slice_faults(target: Target, part: TargetSlice) -> Iterator[tuple[str, str]]:
    if not part.role.strip():
        yield "role", "has a blank role"
    if part.width == 0:
        yield "width", "is of width 0"
    if part.rank == 0:
        yield "rank", "has rank 0"
    if part.alpha is not None and not good_alpha(part.alpha):
        yield "alpha", f"has alpha {part.alpha:g}"
    if target.output_features and part.offset + part.width > target.output_features:
        yield "width", f"ends at {part.offset + part.width}, after the {target.output_features} output features"


@rule(62, "semantic", "The graph inputs a, b and scale of a target are names, and different ones.")
def _graph_inputs(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        found = target.graph_inputs
        names = [name for name in (found.a, found.b, found.scale) if name is not None] if found else []
        if any(not name.strip() for name in names) or len(set(names)) < len(names):
            message = f"The target {q(target.id)} has the graph inputs {', '.join(map(q, names))}."
            yield Finding((*path, "graph_inputs"), message, "Give each a name of its own.")


@rule(63, "semantic", "The component of a target is one of the workflow.")
def _component(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        if context.workflow and target.component.strip() and target.component not in context.workflow.components:
            message = f"The target {q(target.id)} changes the component {q(target.component)}, which is not there."
            yield Finding((*path, "component"), message, "Name a component of the workflow.")


@rule(64, "semantic", "Without a workflow the component of a target is `model`.")
def _model(context: Context) -> Iterator[Finding]:
    for path, target in _targets(context):
        if context.workflow is None and target.component.strip() and target.component != "model":
            message = f"The target {q(target.id)} names the component {q(target.component)}, and there is no workflow."
            yield Finding((*path, "component"), message, "Write `model`, or add pipeline.workflow.")


@rule(65, "semantic", "There is a target to change.")
def _no_targets(context: Context) -> Iterator[Finding]:
    adapters = context.document.adapters
    if adapters and not adapters.target_manifest.targets:
        yield Finding(_TARGETS, "There are no targets, so no adapter can apply.", "Add the initializers to change.")
