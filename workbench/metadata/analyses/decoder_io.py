"""``decoder_io``: which ports of which component a decoder is fed by, read from roles and state groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from workbench.metadata.analyses.opening import Source, opened
from workbench.metadata.analyses.tables import Table
from workbench.metadata.document.ports import Component, PortRole
from workbench.metadata.document.state import Aliasing, IndexedScatter, PortAlias, StateGroup
from workbench.metadata.document.workflow import Workflow

SELF_ATTENTION = ("full_attention", "sliding_attention", "multi_latent_attention")
_LAYOUTS = {
    "bnsh": "head_major_bnsh", "head_major_bnsh": "head_major_bnsh",
    "bsnh": "seq_major_bsnh", "seq_major_bsnh": "seq_major_bsnh",
}  # fmt: skip
_STRICT: tuple[Aliasing, ...] = ("forbidden", "required", "permitted")  # the first of several holds for all
_ROLES = (None, "key", "value", "combined")
_FIELDS: dict[str, tuple[PortRole, str]] = {
    "token_input": ("token_ids", "inputs"), "inputs_embeds_input": ("inputs_embeds", "inputs"),
    "attention_mask_input": ("attention_mask", "inputs"), "position_ids_input": ("position_ids", "inputs"),
    "encoder_hidden_states_input": ("encoder_hidden_states", "inputs"),
    "audio_features_input": ("audio_features", "inputs"), "logits_output": ("logits", "outputs"),
    "hidden_output": ("hidden_states", "outputs"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class StaticCache:
    """A cache of fixed capacity that the component writes into at given places."""

    key_cache_inputs: tuple[str, ...]
    key_cache_outputs: tuple[str, ...]
    value_cache_inputs: tuple[str, ...]
    value_cache_outputs: tuple[str, ...]
    write_indices_input: str
    kv_sequence_length_input: str


@dataclasses.dataclass(frozen=True, repr=False)
class DecoderIo(Table):
    """The ABI of a decoder. Lists of past and present are paired by position, in the order of layers."""

    component: str
    token_input: str | None = None
    inputs_embeds_input: str | None = None
    attention_mask_input: str | None = None
    position_ids_input: str | None = None
    encoder_hidden_states_input: str | None = None
    audio_features_input: str | None = None
    logits_output: str | None = None
    hidden_output: str | None = None
    kv_inputs: tuple[str, ...] = ()
    kv_outputs: tuple[str, ...] = ()
    cross_kv_inputs: tuple[str, ...] = ()
    cross_kv_outputs: tuple[str, ...] = ()
    state_pairs: tuple[tuple[str, str], ...] = ()
    aliasing: str | None = None
    kv_layout: str | None = None
    kv_ownership: str | None = None
    sequence_source: str | None = None
    static_cache: StaticCache | None = None
    COLUMNS = ("what", "port")

    def to_dict(self) -> dict[str, Any]:
        """What is known, as plain data, without the component's name."""
        found: dict[str, Any] = {}
        for field in dataclasses.fields(self)[1:]:
            value = getattr(self, field.name)
            if field.name == "state_pairs":
                value = [{"input": before, "output": after} for before, after in value]
            elif isinstance(value, StaticCache):
                value = {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(value).items()}
            if value not in (None, (), []):
                found[field.name] = list(value) if isinstance(value, tuple) else value
        return found

    def rows(self) -> list[dict[str, Any]]:
        found = []
        for what, value in self.to_dict().items():
            for one in value if isinstance(value, list) else [value]:
                found.append({"what": what, "port": one})
        return found

    def __repr__(self) -> str:
        fed = self.sequence_source or "tokens and embeddings"
        pairs = f"{len(self.kv_inputs)} kv, {len(self.cross_kv_inputs)} cross, {len(self.state_pairs)} state"
        return f"DecoderIo({self.component!r} by {fed}; {pairs}; {self.kv_layout or 'layout unknown'})"


def decoder_io(source: Source, *, dialect: str = "auto") -> DecoderIo | None:
    """The ABI of the one decoder of a document; None where there is none, or more than one."""
    context = opened(source, dialect)
    if context.workflow is None:
        return None
    found = [name for name in context.workflow.components if _is_decoder(context.workflow, name)]
    return _of(context.workflow, found[0]) if len(found) == 1 else None


def _groups(workflow: Workflow, component: str) -> list[tuple[str, StateGroup]]:
    """The state groups that bind a component, by name."""
    if workflow.serving is None:
        return []
    groups = workflow.serving.state_service.groups
    return [(name, groups[name]) for name in sorted(groups) if component in groups[name].ports]


def _is_decoder(workflow: Workflow, name: str) -> bool:
    roles = workflow.components[name].ports.roles.values()
    attends = any(group.kind in SELF_ATTENTION for _, group in _groups(workflow, name))
    return ("token_ids" in roles or "inputs_embeds" in roles) and ("logits" in roles or attends)


def _port(component: Component, role: PortRole, side: str) -> str | None:
    """The one port of a role; of several the one that the port map declares."""
    found = [port for port, said in component.ports.roles.items() if said == role]
    if len(found) > 1:
        declared = component.ports.inputs if side == "inputs" else component.ports.outputs
        found = [port for port in found if port in declared]
    return found[0] if len(found) == 1 else None


def aliases_of(group: StateGroup, component: str) -> list[tuple[str, PortAlias]]:
    """Cells and aliases of a component: by layer, then role; without a layer by place in the order of names."""
    by_name = enumerate(sorted(group.ports.get(component, {}).items()))
    ordered = [
        ((place if alias.layer is None else alias.layer, _ROLES.index(alias.role), place), cell, alias)
        for place, (cell, alias) in by_name
    ]
    return [(cell, alias) for _, cell, alias in sorted(ordered, key=lambda entry: entry[0])]


def _of(workflow: Workflow, name: str) -> DecoderIo:
    component, groups = workflow.components[name], _groups(workflow, name)
    own = [group for _, group in groups if group.kind in SELF_ATTENTION]
    found: dict[str, Any] = {field: _port(component, role, side) for field, (role, side) in _FIELDS.items()}
    kv, cross = list(_pairs(own, name)), list(_pairs([g for _, g in groups if g.kind == "cross_attention"], name))
    tokens, embeds = found["token_input"], found["inputs_embeds_input"]
    return DecoderIo(
        name, **found,
        kv_inputs=tuple(before for before, _ in kv), kv_outputs=tuple(after for _, after in kv),
        cross_kv_inputs=tuple(before for before, _ in cross), cross_kv_outputs=tuple(after for _, after in cross),
        state_pairs=tuple(_pairs([g for _, g in groups if g.kind == "recurrent"], name)),
        aliasing=min((group.aliasing for group in own), key=_STRICT.index, default=None),
        kv_layout=next((_LAYOUTS[g.layout] for g in own if g.layout in _LAYOUTS), None),
        kv_ownership="owned" if kv else "shared",
        sequence_source=("token_ids" if tokens else "inputs_embeds") if bool(tokens) != bool(embeds) else None,
        static_cache=next((c for group in own if (c := _static(group, name)) is not None), None),
    )  # fmt: skip


def _pairs(groups: list[StateGroup], component: str) -> Iterator[tuple[str, str]]:
    """Past and present of every alias that is read and written."""
    for group in groups:
        for _, alias in aliases_of(group, component):
            if alias.access == "read_write" and alias.output is not None:
                yield alias.input, alias.output


def _static(group: StateGroup, component: str) -> StaticCache | None:
    update = group.update
    if not isinstance(update, IndexedScatter):
        return None
    at, length = update.write_indices_ports.get(component), update.kv_length_ports.get(component)
    keys = [alias for _, alias in aliases_of(group, component) if alias.role == "key"]
    values = [alias for _, alias in aliases_of(group, component) if alias.role == "value"]
    if at is None or length is None or not keys or len(keys) != len(values):
        return None
    return StaticCache(*_sides(keys), *_sides(values), at, length)


def _sides(aliases: list[PortAlias]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(a.input for a in aliases), tuple(a.output for a in aliases if a.output is not None)
