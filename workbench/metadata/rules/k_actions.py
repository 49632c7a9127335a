"""Group K, rules 128 to 131: contracts of adapters that the format knows, and what each of their actions binds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import AdapterImplementation, Component, ComponentContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.rules.k_components import Components, components
from workbench.metadata.wording import cut, q

_GUIDE_IN, _GUIDE_OUT = ("state", "tokens", "valid_length", "transition_table"), ("next_state", "consumed_length")
_Roles = tuple[tuple[str, ...], tuple[str, ...]]
_ACTIONS: dict[tuple[str, str], dict[str, _Roles]] = {
    ("onnx-genai.grammar-guidance", "1"): {
        "clone": (("state",), ("next_state",)),
        "lookahead": (_GUIDE_IN, (*_GUIDE_OUT, "logits_mask", "forced_tokens", "forced_length")),
        "commit": (_GUIDE_IN, _GUIDE_OUT),
    },
    ("onnx-genai.telemetry", "1"): {
        "start": ((), ("timestamp",)),
        "elapsed": (("timestamp",), ("duration_ms",)),
    },
    ("onnx-genai.parameter-overlay", "1"): {"apply": (("input",), ("output",))},
}
"""Roles that each action reads and gives, by contract."""


def _adapters(workflow: Workflow) -> Components:
    return (found for found in components(workflow) if isinstance(found[2].implementation, AdapterImplementation))


@workflow_rule(128, "The contract of an adapter component is that of its adapter.")
def _same(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in _adapters(workflow):
        found, contract = component.implementation, component.contract
        if not isinstance(found, AdapterImplementation) or contract is None or not contract.id.strip():
            continue
        if contract.version.strip() and (contract.id, contract.version) != (found.abi, found.version):
            message = f"The component {q(name)} is {cut(found.abi)}@{cut(found.version)}, "
            message += f"its contract {cut(contract.id)}@{cut(contract.version)}."
            yield Finding((*path, "contract"), message, "Make id and version those of the adapter.")


@dataclasses.dataclass(frozen=True)
class _Known:
    """A component with a contract that the format knows, and the roles of its action (None for an unknown one)."""

    path: Path
    name: str
    component: Component
    contract: ComponentContract
    actions: dict[str, _Roles]

    @property
    def action(self) -> object:
        return self.contract.parameters.get("action")

    @property
    def roles(self) -> Iterator[tuple[str, bool]]:
        """Role, and whether it is an input, of everything that the action binds."""
        action = self.action
        inputs, outputs = self.actions.get(action, ((), ())) if isinstance(action, str) else ((), ())
        yield from ((role, True) for role in inputs)
        yield from ((role, False) for role in outputs)


def _known(workflow: Workflow) -> Iterator[_Known]:
    for path, name, component in _adapters(workflow):
        contract = component.contract
        actions = _ACTIONS.get((contract.id, contract.version)) if contract else None
        if contract and actions:
            yield _Known((*path, "contract"), name, component, contract, actions)


@workflow_rule(129, "A known contract of an adapter says which of its actions it is.")
def _action(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for known in _known(workflow):
        if not isinstance(known.action, str) or known.action not in known.actions:
            shown = "no action" if known.action is None else f"the action {q(known.action)}"
            message = f"The component {q(known.name)} has {shown}, which {cut(known.contract.id)} does not know."
            hint = f"Write one of {', '.join(known.actions)} as the parameter `action`."
            yield Finding((*known.path, "parameters", "action"), message, hint)


@workflow_rule(130, "A known action binds every role that it needs.")
def _missing(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for known in _known(workflow):
        for role, _ in known.roles:
            if role not in known.contract.bindings:
                message = f"The action {q(known.action)} of {q(known.name)} binds no port to {q(role)}."
                yield Finding((*known.path, "bindings", role), message, "Bind the role.")


@workflow_rule(131, "A known action reads its inputs and gives its outputs.")
def _direction(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for known in _known(workflow):
        ports = known.component.ports
        for role, is_input in known.roles:
            port = known.contract.bindings.get(role)
            right, wrong = (ports.inputs, ports.outputs) if is_input else (ports.outputs, ports.inputs)
            if port is not None and port in wrong and port not in right:
                side = "an input" if is_input else "an output"
                message = f"The role {q(role)} of {q(known.name)} is {side}; the port {q(port)} is not."
                yield Finding((*known.path, "bindings", role), message, f"Bind {side} port.")
