"""Group F, rules 66 to 94: adapters, their weights, and what they bind."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.adapters import AdapterArtifact, Target, TargetBinding, Weight
from workbench.metadata.dtypes import is_float
from workbench.metadata.registry import Finding, rule
from workbench.metadata.rules.f_targets import ALPHA_HINT, FLOAT_HINT, good_alpha
from workbench.metadata.wording import cut, q

_LOADERS = {
    "json": "onnx-genai.adapters.json@1", "ort_genai": "onnxruntime.lora-adapter@1",
    "hf_peft": "onnx-genai.adapters.hf-peft@1", "safetensors": "onnx-genai.adapters.safetensors@1",
}  # fmt: skip
_Artifacts = Iterator[tuple[Path, str, AdapterArtifact]]


def _artifacts(context: Context) -> _Artifacts:
    adapters = context.document.adapters
    for name, artifact in adapters.artifacts.items() if adapters else ():
        yield ("adapters", "artifacts", name), name, artifact


def _weights(context: Context) -> Iterator[tuple[Path, str, Weight]]:
    for path, name, artifact in _artifacts(context):
        for index, weight in enumerate(artifact.weights):
            yield (*path, "weights", index), name, weight


def _bindings(context: Context) -> Iterator[tuple[Path, AdapterArtifact, TargetBinding]]:
    for path, _, artifact in _artifacts(context):
        for index, binding in enumerate(artifact.bindings):
            yield (*path, "bindings", index), artifact, binding


def _targets(context: Context) -> dict[str, Target]:
    adapters = context.document.adapters
    return {target.id: target for target in adapters.target_manifest.targets} if adapters else {}


# --- the artifact itself --------------------------------------------------------------------------------
@rule(66, "semantic", "An adapter has an identity and a version.")
def _identity(context: Context) -> Iterator[Finding]:
    for path, name, artifact in _artifacts(context):
        for field in ("identity", "version"):
            if not getattr(artifact, field).strip():
                yield Finding((*path, field), f"The adapter {q(name)} has a blank {field}.", "Write one.")


@rule(67, "semantic", "Provenance names the producer; source and revision are not blank where they are given.")
def _provenance(context: Context) -> Iterator[Finding]:
    for path, name, artifact in _artifacts(context):
        for field in ("producer", "source", "revision"):
            value = getattr(artifact.provenance, field, None)
            if value is not None and not value.strip():
                message = f"The provenance of the adapter {q(name)} has a blank {field}."
                yield Finding((*path, "provenance", field), message, "Write it, or leave it out.")


@rule(68, "semantic", "Every adapter has an index of its own.")
def _same_index(context: Context) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    for path, name, artifact in _artifacts(context):
        if artifact.index in seen:
            message = f"The adapters {q(seen[artifact.index])} and {q(name)} both have the index {artifact.index}."
            yield Finding((*path, "index"), message, "Number the adapters 0, 1, 2 and so on.")
        seen.setdefault(artifact.index, name)


@rule(69, "semantic", "No two adapters are the same identity and version.")
def _same_identity(context: Context) -> Iterator[Finding]:
    seen: dict[tuple[str, str], str] = {}
    for path, name, artifact in _artifacts(context):
        key = (artifact.identity, artifact.version)
        if key in seen and all(word.strip() for word in key):
            message = f"The adapters {q(seen[key])} and {q(name)} are both {cut(key[0])}@{cut(key[1])}."
            yield Finding((*path, "identity"), message, "Drop one, or give it another version.")
        seen.setdefault(key, name)


@rule(70, "semantic", "The rank of an adapter is not zero.")
def _rank(context: Context) -> Iterator[Finding]:
    for path, name, artifact in _artifacts(context):
        if artifact.rank == 0:
            yield Finding((*path, "rank"), f"The adapter {q(name)} has rank 0.", "Write at least 1.")


@rule(71, "semantic", "The alpha of an adapter is finite and above zero.")
def _alpha(context: Context) -> Iterator[Finding]:
    for path, name, artifact in _artifacts(context):
        if not good_alpha(artifact.alpha):
            yield Finding((*path, "alpha"), f"The adapter {q(name)} has alpha {artifact.alpha:g}.", ALPHA_HINT)


@rule(72, "semantic", "The numbers of an adapter are floats.")
def _dtype(context: Context) -> Iterator[Finding]:
    for path, name, artifact in _artifacts(context):
        if not is_float(artifact.dtype):
            yield Finding((*path, "dtype"), f"The adapter {q(name)} has dtype {q(artifact.dtype)}.", FLOAT_HINT)


@rule(94, "semantic", "The indices of adapters are 0, 1, 2 and so on, without a gap.")
def _gaps(context: Context) -> Iterator[Finding]:
    found = {artifact.index: (path, name) for path, name, artifact in _artifacts(context)}
    if not found or max(found) == len(found) - 1:
        return
    path, name = found[max(found)]
    message = f"The adapter {q(name)} has the index {max(found)}, but there are only {len(found)} indices."
    yield Finding((*path, "index"), message, "Number the adapters from 0 without a gap.")


# --- weights --------------------------------------------------------------------------------------------
@rule(73, "semantic", "An adapter has weights.")
def _no_weights(context: Context) -> Iterator[Finding]:
    for path, name, artifact in _artifacts(context):
        if not artifact.weights:
            yield Finding((*path, "weights"), f"The adapter {q(name)} has no weights.", "Name a file of weights.")


@rule(74, "semantic", "An adapter has each format of weights once.")
def _same_format(context: Context) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for path, name, weight in _weights(context):
        if (name, weight.format) in seen:
            message = f"The adapter {q(name)} has weights of the format {weight.format} twice."
            yield Finding((*path, "format"), message, "Keep one of the two files.")
        seen.add((name, weight.format))


def _path_fault(location: str, name: str) -> str | None:
    """Why a path is not one below the folder of an adapter."""
    home = f"adapters/{name}/"
    if location.startswith(("/", "\\")) or (len(location) > 1 and location[1] == ":"):
        return f"is absolute: {q(location)}"
    if ".." in location.replace("\\", "/").split("/"):
        return f"climbs up by '..': {q(location)}"
    return None if location.startswith(home) else f"is not below {cut(home)}: {q(location)}"


@rule(75, "semantic", "Weights lie below adapters/ALIAS/ in the package.")
def _location(context: Context) -> Iterator[Finding]:
    for path, name, weight in _weights(context):
        wrong = _path_fault(weight.location, name)
        if wrong:
            hint = f"Write a path that starts with adapters/{cut(name)}/."
            yield Finding((*path, "location"), f"The location of the weights {wrong}.", hint)


@rule(76, "semantic", "The loader of weights is named.")
def _blank_loader(context: Context) -> Iterator[Finding]:
    for path, _, weight in _weights(context):
        if not weight.loader_capability.strip():
            hint = f"Write {_LOADERS[weight.format]}."
            yield Finding((*path, "loader_capability"), "The loader_capability is blank.", hint)


@rule(77, "semantic", "The loader of weights is the one of their format.")
def _loader(context: Context) -> Iterator[Finding]:
    for path, _, weight in _weights(context):
        wanted = _LOADERS[weight.format]
        if weight.loader_capability.strip() and weight.loader_capability != wanted:
            message = f"Weights of the format {weight.format} name the loader {q(weight.loader_capability)}."
            yield Finding((*path, "loader_capability"), message, f"Write {wanted}.")


def _scaled_by(context: Context, format_: str, wanted: str) -> Iterator[Finding]:
    for path, _, weight in _weights(context):
        if weight.format == format_ and weight.scale_encoding != wanted:
            message = f"Weights of the format {format_} say that their scale is {weight.scale_encoding}."
            yield Finding((*path, "scale_encoding"), message, f"Write {wanted}.")


@rule(78, "semantic", "Weights in hf_peft have the scale alpha_over_rank.")
def _peft_scale(context: Context) -> Iterator[Finding]:
    return _scaled_by(context, "hf_peft", "alpha_over_rank")


@rule(79, "semantic", "Weights in ort_genai have their scale baked in.")
def _ort_scale(context: Context) -> Iterator[Finding]:
    return _scaled_by(context, "ort_genai", "baked")


@rule(80, "semantic", "Weights in hf_peft name their configuration, and no others do.")
def _config(context: Context) -> Iterator[Finding]:
    for path, _, weight in _weights(context):
        if (weight.format == "hf_peft") == (weight.config_location is not None):
            continue
        if weight.config_location is None:
            message, hint = "Weights of the format hf_peft have no config_location.", "Name their adapter_config.json."
        else:
            message, hint = f"Weights of the format {weight.format} have a config_location.", "Remove it."
        yield Finding((*path, "config_location"), message, hint)


@rule(81, "semantic", "A configuration lies below adapters/ALIAS/ in the package.")
def _config_location(context: Context) -> Iterator[Finding]:
    for path, name, weight in _weights(context):
        wrong = _path_fault(weight.config_location, name) if weight.config_location is not None else None
        if wrong:
            hint = f"Write a path that starts with adapters/{cut(name)}/."
            yield Finding((*path, "config_location"), f"The location of the configuration {wrong}.", hint)


# --- bindings -------------------------------------------------------------------------------------------
@rule(82, "semantic", "An adapter binds a target.")
def _no_bindings(context: Context) -> Iterator[Finding]:
    for path, name, artifact in _artifacts(context):
        if not artifact.bindings:
            yield Finding((*path, "bindings"), f"The adapter {q(name)} binds nothing.", "Bind a target.")


@rule(83, "semantic", "A binding names its target and its weight.")
def _blank_binding(context: Context) -> Iterator[Finding]:
    for path, _, binding in _bindings(context):
        for field in ("target", "weight_key"):
            if not getattr(binding, field).strip():
                yield Finding((*path, field), f"The {field} of a binding is blank.", "Write its name.")


def _twice(context: Context, field: str) -> Iterator[tuple[Path, str, str]]:
    for path, name, artifact in _artifacts(context):
        seen: set[str] = set()
        for index, binding in enumerate(artifact.bindings):
            value = getattr(binding, field)
            if value in seen and value.strip():
                yield (*path, "bindings", index, field), name, value
            seen.add(value)


@rule(84, "semantic", "The bindings of an adapter read different weights.")
def _same_weight(context: Context) -> Iterator[Finding]:
    for path, name, key in _twice(context, "weight_key"):
        yield Finding(path, f"The adapter {q(name)} binds the weight {q(key)} twice.", "Name another weight.")


@rule(93, "semantic", "An adapter binds a target once.")
def _same_target(context: Context) -> Iterator[Finding]:
    for path, name, target in _twice(context, "target"):
        yield Finding(path, f"The adapter {q(name)} binds the target {q(target)} twice.", "Keep one binding.")


# Without any target, rule 65 has told why.
@rule(85, "semantic", "What an adapter binds is a target of the manifest.", unless=(65,))
def _unknown_target(context: Context) -> Iterator[Finding]:
    targets = _targets(context)
    for path, _, binding in _bindings(context):
        if binding.target.strip() and binding.target not in targets:
            message = f"The target {q(binding.target)} is not in the manifest."
            yield Finding((*path, "target"), message, "Add it to adapters.target_manifest.targets, or name another.")


@rule(86, "semantic", "Weights in ort_genai bind targets with graph inputs.")
def _graph_inputs(context: Context) -> Iterator[Finding]:
    targets = _targets(context)
    for path, artifact, binding in _bindings(context):
        target = targets.get(binding.target)
        if target and target.graph_inputs is None and any(w.format == "ort_genai" for w in artifact.weights):
            message = f"The target {q(binding.target)} has no graph_inputs, which weights in ort_genai are fed through."
            yield Finding((*path, "target"), message, "Add graph_inputs to the target.")


@rule(87, "semantic", "The rank of a binding is not zero.")
def _binding_rank(context: Context) -> Iterator[Finding]:
    for path, _, binding in _bindings(context):
        if binding.rank == 0:
            message = f"The binding of {q(binding.target)} has rank 0."
            yield Finding((*path, "rank"), message, "Write at least 1, or leave it out.")


@rule(88, "semantic", "The alpha of a binding is finite and above zero.")
def _binding_alpha(context: Context) -> Iterator[Finding]:
    for path, _, binding in _bindings(context):
        if binding.alpha is not None and not good_alpha(binding.alpha):
            yield Finding(
                (*path, "alpha"), f"The binding of {q(binding.target)} has alpha {binding.alpha:g}.", ALPHA_HINT
            )


def _against(context: Context, field: str, *, of_slice: bool) -> Iterator[Finding]:
    """Rank or alpha of bindings against what the target or its slice asks for; bad numbers are others' matter."""
    targets = _targets(context)
    for path, artifact, binding in _bindings(context):
        target = targets.get(binding.target)
        policy = getattr(target.output_slice if target and of_slice else target, field, None)
        own = getattr(binding, field)
        value = getattr(artifact, field) if own is None else own
        if policy is None or value == policy or not (good_alpha(value) and good_alpha(policy)):
            continue
        what = "slice" if of_slice else "target"
        message = f"The {field} of {q(binding.target)} is {value:g}; its {what} asks for {policy:g}."
        yield Finding((*path, *(() if own is None else (field,))), message, f"Make the {field} the same.")


@rule(89, "semantic", "The rank of a binding is the one that its target asks for.")
def _target_rank(context: Context) -> Iterator[Finding]:
    return _against(context, "rank", of_slice=False)


@rule(90, "semantic", "The alpha of a binding is the one that its target asks for.")
def _target_alpha(context: Context) -> Iterator[Finding]:
    return _against(context, "alpha", of_slice=False)


@rule(91, "semantic", "The rank of a binding is the one that the slice asks for.")
def _slice_rank(context: Context) -> Iterator[Finding]:
    return _against(context, "rank", of_slice=True)


@rule(92, "semantic", "The alpha of a binding is the one that the slice asks for.")
def _slice_alpha(context: Context) -> Iterator[Finding]:
    return _against(context, "alpha", of_slice=True)
