"""A decoder whose requests choose low-rank adapters: what may be changed, by which files, and who wants which.

Each row of a batch says how many adapters it takes, which and how strongly. The runtime adds
``scale * alpha / rank * B * A * x`` to the output of the node of each weight that an adapter changes.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract
from workbench.describe.facts import fact, read_facts, refuse
from workbench.describe.kinds import decoder, static_cache, windows
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.lora_targets import Place, places
from workbench.describe.peft import CONFIG, WEIGHTS, Change, PeftAdapter, read_peft
from workbench.describe.steps import given
from workbench.describe.subject import Subject
from workbench.errors import UnsupportedError, some
from workbench.metadata.document.adapters import (
    AdapterArtifact,
    Adapters,
    Provenance,
    Selection,
    Target,
    TargetBinding,
    TargetManifest,
    TargetSlice,
    Weight,
)

NAME, APPLICATION, LOADER = "lora", "onnx-genai.adapters@1", "onnx-genai.adapters.hf-peft@1"
Folders = Mapping[str, str | os.PathLike[str]]


@dataclasses.dataclass(frozen=True)
class LoraFacts:
    """``max_adapters`` None: as many as there are."""

    adapters: Folders = fact("folders of adapters as PEFT saves them, by the names that requests will choose them by")
    max_adapters: int | None = fact("how many adapters one request may take", default=None)
    version: str = fact("the version of the adapters", default="1")


def fits(subject: Subject) -> bool:
    """A decoder for which adapters were named."""
    return "adapters" in subject.facts and decoder.is_decoder(subject)


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """The decoder's workflow as it is, with the selection among its inputs."""
    said = read_facts(NAME, LoraFacts, subject.facts)
    adapters = _read(said.adapters)
    base = next(kind for kind in _decoders() if kind.fits(subject))
    base.write(dataclasses.replace(subject, facts={}), builder)
    found = _places(subject, adapters)
    width = len(adapters) if said.max_adapters is None else said.max_adapters
    if width < 1:
        raise refuse(NAME, "max_adapters", width, "a whole number from 1 is wanted.")
    artifacts = {name: _artifact(i, name, said.version, one) for i, (name, one) in enumerate(adapters.items())}
    builder.section("adapters", Adapters(
        target_manifest=TargetManifest(targets=tuple(_target(module, place) for module, place in found.items())),
        selection=_selection(builder, width), application_capability=APPLICATION, artifacts=artifacts,
    ))  # fmt: skip
    for name in adapters:
        builder.notes.append(f"The files of the adapter {name!r} belong below adapters/{name}/: {CONFIG}, {WEIGHTS}.")


def _decoders() -> tuple[Kind, ...]:
    """The kinds of decoder, in the order in which they are tried."""
    return decoder.KIND, windows.KIND, static_cache.KIND


def _read(said: Folders) -> dict[str, PeftAdapter]:
    if not said:
        raise refuse(NAME, "adapters", dict(said), "name one at least.")
    for name in said:
        if not name.strip() or set(name) & set("/\\") or name in (".", ".."):
            raise refuse(NAME, "adapters", name, "a name becomes a folder below adapters/; letters and digits do.")
    return {name: read_peft(folder) for name, folder in said.items()}


def _places(subject: Subject, adapters: Mapping[str, PeftAdapter]) -> dict[str, Place]:
    """Where in the graph each module lies that an adapter changes."""
    known = places(subject.package.model)
    found: dict[str, Place] = {}
    for name, adapter in adapters.items():
        for change in adapter.changes:
            place = known.get(change.module)
            if place is None:
                raise UnsupportedError(
                    f"The adapter {name!r} changes {change.module!r}, and the graph has no weight of this name that a "
                    f"MatMul reads. It has {some(known)}."
                )
            _fits(name, change, place)
            found[change.module] = place
    return found


def _fits(name: str, change: Change, place: Place) -> None:
    widths = (place.width_in, place.width)
    if (change.width_in, change.width_out) != widths:
        raise UnsupportedError(
            f"The adapter {name!r} changes {change.module!r} from {change.width_in} to {change.width_out} features; "
            f"the graph's weight goes from {widths[0]} to {widths[1]}. It was trained for another model."
        )


# --- the section --------------------------------------------------------------------------------------------
def _selection(builder: WorkflowBuilder, width: int) -> Selection:
    """Who wants which: adapters in order, how many of them count, and how strongly each."""
    made = {
        "segments": builder.request("request.adapter_segments", contract("int64", "batch", width), "adapter_segments"),
        "adapter_counts": builder.request("request.adapter_counts", contract("int64", "batch"), "adapter_counts"),
        "scales": builder.request("request.adapter_scales", contract("float32", "batch", width), "adapter_scales"),
    }
    return Selection(**made, max_adapters=width)


def _target(module: str, place: Place) -> Target:
    part = TargetSlice(role=place.role, offset=place.offset, width=place.width) if place.is_part else None
    return Target(**given(
        id=module, component=decoder.COMPONENT, initializer=place.initializer, layer_index=place.layer,
        node_name=place.node, output_name=place.output, activation_dtype=place.dtype,
        input_features=place.width_in, output_features=place.width_out, output_slice=part,
    ))  # fmt: skip


def _artifact(index: int, name: str, version: str, adapter: PeftAdapter) -> AdapterArtifact:
    weight = Weight(
        location=f"adapters/{name}/{WEIGHTS}", config_location=f"adapters/{name}/{CONFIG}", format="hf_peft",
        loader_capability=LOADER, scale_encoding="alpha_over_rank",
    )  # fmt: skip
    bindings = tuple(_binding(adapter, change) for change in adapter.changes)
    provenance = Provenance(**given(producer="peft", source=adapter.base))
    return AdapterArtifact(
        index=index, identity=name, version=version, rank=adapter.rank, alpha=adapter.alpha, dtype=adapter.dtype,
        provenance=provenance, weights=(weight,), bindings=bindings,
    )  # fmt: skip


def _binding(adapter: PeftAdapter, change: Change) -> TargetBinding:
    rank = change.rank if change.rank != adapter.rank else None
    alpha = change.alpha if change.alpha != adapter.alpha else None
    return TargetBinding(**given(target=change.module, weight_key=change.key, rank=rank, alpha=alpha))


KIND = Kind(
    NAME, "text generation with adapters that a request chooses", fits, write,
    components={"model": "the decoder, from tokens to logits"}, facts=LoraFacts,
)  # fmt: skip
