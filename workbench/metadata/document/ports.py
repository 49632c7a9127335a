"""Components of a workflow: what implements them, their ports and their contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workbench.metadata.document.base import Bare, Closed, Equivalence, Flag, Names, Scalar, Uint
from workbench.metadata.document.tensor import TensorContract

PortRole = Literal[
    "token_ids", "inputs_embeds", "attention_mask", "position_ids", "logits", "hidden_states",
    "encoder_hidden_states", "audio_features",
]  # fmt: skip


class OnnxImplementation(Closed):
    kind: Literal["onnx"]
    artifact: str


class AdapterImplementation(Closed):
    kind: Literal["adapter"]
    abi: str
    version: str
    artifact: str | None = None


class BindingImplementation(Bare):
    kind: Literal["binding"]


Implementation = Annotated[
    OnnxImplementation | AdapterImplementation | BindingImplementation, Field(discriminator="kind")
]


class ComponentPorts(Closed):
    inputs: Mapping[str, TensorContract] = {}
    outputs: Mapping[str, TensorContract] = {}
    roles: Mapping[str, PortRole] = {}


class ComponentContract(Closed):
    """What a component promises to do: id, version, and which port plays which role in it."""

    id: str
    version: str
    equivalence: Equivalence = "semantic"
    bindings: Mapping[str, str] = {}
    parameters: Mapping[str, Scalar] = {}


class RowScope(Closed):
    axis: Uint
    stateful: Flag = False


class Component(Closed):
    implementation: Implementation
    ports: ComponentPorts = ComponentPorts()
    contract: ComponentContract | None = None
    application_overridable: Flag = False
    effects: Names = ()
    row_scope: RowScope | None = None
    cache_affects_state: Names = ()

    @property
    def is_onnx(self) -> bool:
        return isinstance(self.implementation, OnnxImplementation)

    @property
    def infers_ports(self) -> bool:
        """Whether the ports are the graph's own: an ONNX component that declares none."""
        return self.is_onnx and not self.ports.inputs and not self.ports.outputs
