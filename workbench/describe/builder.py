"""``WorkflowBuilder``: a workflow collected part by part, then put together with the capabilities that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import onnx_ir as ir

from workbench.describe.steps import AnyStep, given
from workbench.describe.written import written
from workbench.errors import ArgumentError, unknown
from workbench.metadata.capabilities import derived
from workbench.metadata.context import Context
from workbench.metadata.document import Document
from workbench.metadata.document.ports import (
    AdapterImplementation,
    BindingImplementation,
    Component,
    ComponentContract,
    ComponentPorts,
    Implementation,
    OnnxImplementation,
)
from workbench.metadata.document.state import (
    Effect,
    Invariant,
    PortAlias,
    Recurrence,
    Serving,
    StateCell,
    StateGroup,
    StateService,
)
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import (
    ApplicationSource,
    ArtifactSource,
    LiteralSource,
    Manifest,
    OpaqueRole,
    Pipeline,
    RequestSource,
    RuntimeRole,
    RuntimeRoleName,
    Workflow,
    WorkflowInput,
    WorkflowOutput,
)
from workbench.metadata.reading import Loaded

SCHEMA_VERSION = "v1"
_OPAQUE = OpaqueRole(kind="opaque")
Contracts = Mapping[str, TensorContract]
_NONE: Mapping[str, Any] = {}


class WorkflowBuilder:
    """Inputs, outputs, components, cells, groups and steps under names of their own; each method gives the name back.

    Only what is said ends up in the document: defaults are left out. ``artifacts`` holds the graphs that were made
    for the workflow itself, by file name; ``models`` those that take the place of a graph of the package, by its key.
    """

    def __init__(self) -> None:
        self.inputs: dict[str, WorkflowInput] = {}
        self.outputs: dict[str, WorkflowOutput] = {}
        self.components: dict[str, Component] = {}
        self.state: dict[str, StateCell] = {}
        self.effects: dict[str, Effect] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        self.steps: list[AnyStep] = []
        self.sections: dict[str, Any] = {}
        self.artifacts: dict[str, ir.Model] = {}
        self.models: dict[str, ir.Model] = {}
        self.notes: list[str] = []
        self._serving: dict[str, str] = {}
        self._abis: dict[str, str] = {}

    # --- inputs and outputs -----------------------------------------------------------------------------------
    def request(self, name: str, contract: TensorContract, role: str, *, default: Any = None, **more: Any) -> str:
        """A value that comes with the request and plays a role the runtime knows; without a default it must come.

        Raises:
            UnknownNameError: no such role.
        """
        if role not in get_args(RuntimeRoleName):
            raise unknown("role of an input", role, get_args(RuntimeRoleName))
        made = RuntimeRole(kind="runtime", version="1.0", role=role)  # type: ignore[arg-type]  # checked above
        return self._input(name, contract, made, RequestSource(kind="request"), default, more)

    def application(self, name: str, contract: TensorContract, called: str, *, default: Any = None, **more: Any) -> str:
        """A value that whoever runs the package computes under a name of its own, such as ``attention_mask``."""
        return self._input(name, contract, _OPAQUE, ApplicationSource(kind="application", name=called), default, more)

    def literal(self, name: str, contract: TensorContract, value: Any) -> str:
        """A constant: one number for every entry, or all entries in order."""
        return self._input(name, contract, _OPAQUE, LiteralSource(kind="literal"), value, {})

    def file(self, name: str, contract: TensorContract, path: str) -> str:
        """A value that lies in a file of the package."""
        return self._input(name, contract, _OPAQUE, ArtifactSource(kind="artifact", path=path), None, {})

    def _input(
        self, name: str, contract: TensorContract, role: Any, source: Any, default: Any, more: Mapping[str, Any]
    ) -> str:
        words: dict[str, Any] = {"required": False, "default": default} if default is not None else {}
        with written(f"The input {name!r}"):
            made = WorkflowInput(contract=contract, role=role, source=source, **{**words, **more})
        return self._add(self.inputs, "an input", name, made)

    def output(self, name: str, contract: TensorContract, role: str, *, stage: str = "pre_adapter", **more: Any) -> str:
        """A value that the workflow gives."""
        with written(f"The output {name!r}"):
            made = WorkflowOutput(contract=contract, role=role, stage=stage, **more)  # type: ignore[arg-type]  # pydantic checks the words
        return self._add(self.outputs, "an output", name, made)

    # --- components -------------------------------------------------------------------------------------------
    def onnx(
        self,
        name: str,
        artifact: str,
        *,
        roles: Mapping[str, str] = _NONE,
        inputs: Contracts = _NONE,
        outputs: Contracts = _NONE,
        contract: ComponentContract | None = None,
        **more: Any,
    ) -> str:
        """A graph. Without contracts of its ports they are those of the graph; ``roles`` maps a port to its role."""
        with written(f"The component {name!r}"):
            implementation = OnnxImplementation(kind="onnx", artifact=artifact)
        return self._component(name, implementation, inputs, outputs, roles, contract, more)

    def policy(self, name: str, model: ir.Model, contract: ComponentContract | None = None, **more: Any) -> str:
        """A small graph that was made for this workflow; it becomes a file of the package, named after itself."""
        self.artifacts[file := f"policy.{name}.onnx"] = model
        return self.onnx(name, file, contract=contract, **more)

    def binding(
        self, name: str, contract: ComponentContract, inputs: Contracts, outputs: Contracts, **more: Any
    ) -> str:
        """Something that the runtime itself does."""
        return self._component(name, BindingImplementation(kind="binding"), inputs, outputs, _NONE, contract, more)

    def adapter(
        self, name: str, abi: str, version: str, inputs: Contracts, outputs: Contracts,
        *, artifact: str | None = None, contract: ComponentContract | None = None, **more: Any,
    ) -> str:  # fmt: skip
        """Something that a library of the runtime does, pinned to its version."""
        with written(f"The component {name!r}"):
            implementation = AdapterImplementation(**given(kind="adapter", abi=abi, version=version, artifact=artifact))
        self._abis[abi] = version
        return self._component(name, implementation, inputs, outputs, _NONE, contract, more)

    def _component(
        self, name: str, implementation: Implementation, inputs: Contracts, outputs: Contracts,
        roles: Mapping[str, str], contract: ComponentContract | None, more: Mapping[str, Any],
    ) -> str:  # fmt: skip
        ports = given(inputs=dict(inputs), outputs=dict(outputs), roles=dict(roles))
        with written(f"The component {name!r}"):
            words = given(contract=contract, ports=ComponentPorts(**ports) if ports else None)
            made = Component(implementation=implementation, **words, **more)
        return self._add(self.components, "a component", name, made)

    # --- state ------------------------------------------------------------------------------------------------
    def cell(
        self,
        name: str,
        contract: TensorContract,
        initializer: str,
        *,
        group: str | None = None,
        recurrence: Recurrence | None = None,
        scope: str = "invocation",
        **more: Any,
    ) -> str:
        """A value that a loop carries. A cell of a group belongs to the runtime until the invocation ends."""
        owned = {"management": "runtime", "release_boundary": "invocation", "service_group": group} if group else {}
        words = {
            "contract": contract, "scope": scope, "initializer": initializer,
            "recurrence": recurrence or Invariant(kind="invariant"), **owned, **more,
        }  # fmt: skip
        with written(f"The state cell {name!r}"):
            made = StateCell(**words)
        return self._add(self.state, "a state cell", name, made)

    def group(self, name: str, kind: str, layout: str, **words: Any) -> str:
        """Cells that the runtime keeps together; their ports are added by :meth:`alias`."""
        return self._add(self.groups, "a state group", name, {"kind": kind, "layout": layout, **given(**words)})

    def alias(self, group: str, component: str, cell: str, input: str, output: str | None = None, **words: Any) -> None:
        """How a component sees a cell: past in, present out; ``words`` are access, role and layer."""
        if group not in self.groups:
            raise unknown("state group", group, self.groups)
        ports = self.groups[group].setdefault("ports", {}).setdefault(component, {})
        with written(f"The ports of the state cell {cell!r}"):
            ports[cell] = PortAlias(**given(input=input, output=output, **words))

    def effect(self, name: str, retry: str, safety: Any = None) -> str:
        """A domain of side effects."""
        with written(f"The effect {name!r}"):
            made = Effect(**given(retry=retry, speculation_safety=safety))
        return self._add(self.effects, "an effect", name, made)

    def serve(self, *, active: str, done: str, accepted_len: str | None = None) -> None:
        """The values by which a runtime knows which requests still run."""
        self._serving = given(active=active, done=done, accepted_len=accepted_len)

    # --- the whole --------------------------------------------------------------------------------------------
    def add(self, *steps: AnyStep) -> None:
        """Steps of the workflow, in their order."""
        self.steps += steps

    def section(self, name: str, value: Any) -> None:
        """A section beside the workflow: ``model``, ``package``, ``generation``, ``profiles``, ...

        Raises:
            UnknownNameError: the document has no such section.
        """
        known = [field for field in Document.model_fields if field not in ("schema_version", "pipeline")]
        if name not in known:
            raise unknown("section", name, known)
        self.sections[name] = value

    def document(self) -> Document:
        """Everything so far, with the capabilities that it uses.

        Raises:
            ArgumentError: a step, a section or a state group is none.
        """
        with written("The workflow"):
            made = self._document(())
            return self._document(tuple(sorted(derived(Context(Loaded(plain(made)))))))  # in the order of a conversion

    def _document(self, capabilities: tuple[str, ...]) -> Document:
        manifest = Manifest(**given(adapter_abis=self._abis, capabilities=capabilities))
        parts = given(
            inputs=self.inputs, outputs=self.outputs, state=self.state, effects=self.effects, serving=self._served()
        )
        workflow = Workflow(manifest=manifest, components=self.components, steps=tuple(self.steps), **parts)
        return Document(schema_version=SCHEMA_VERSION, pipeline=Pipeline(workflow=workflow), **self.sections)

    def _served(self) -> Serving | None:
        if not self._serving:
            return None
        groups = {name: StateGroup(**words) for name, words in self.groups.items()}
        return Serving(**self._serving, state_service=StateService(groups=groups))

    def _add(self, kept: dict[str, Any], what: str, name: str, value: Any) -> str:
        if name in kept:
            raise ArgumentError(f"The workflow has {what} {name!r} already. Give this one another name.")
        kept[name] = value
        return name


def promise(id: str, version: str, **words: Any) -> ComponentContract:
    """What a component promises to do: id, version, and the words of ``ComponentContract`` (bindings, parameters)."""
    return ComponentContract(id=id, version=version, **given(**words))


def plain(document: Document) -> dict[str, Any]:
    """The document as plain data: what was said and nothing else."""
    data: dict[str, Any] = document.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return data


__all__ = ["SCHEMA_VERSION", "WorkflowBuilder", "plain", "promise"]
