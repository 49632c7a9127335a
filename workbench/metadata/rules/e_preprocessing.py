"""Group E: a preprocessing program and the one adapter invocation that runs it; pictures and sound alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property

from workbench.metadata.context import WORKFLOW, Context, Placed
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.media import AudioProgram, ImageProgram, ProgramOutput
from workbench.metadata.document.ports import AdapterImplementation, Component
from workbench.metadata.document.steps import InvokeStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.dtypes import same_dtype
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import cut, q

_ABIS = {"image": "onnx-genai.image-preprocess", "audio": "onnx-genai.audio-preprocess"}
_VERSION = "1"


@dataclasses.dataclass(frozen=True)
class _Media:
    """Image or audio: its program, and the components that say they run it."""

    word: str
    program: ImageProgram | AudioProgram | None
    adapters: tuple[tuple[str, Component], ...]
    invokes: tuple[Placed, ...]

    @property
    def path(self) -> Path:
        return ("preprocessing", self.word)

    @property
    def outputs(self) -> Iterator[tuple[Path, ProgramOutput]]:
        for index, output in enumerate(self.program.outputs if self.program else ()):
            yield (*self.path, "outputs", index), output

    @cached_property
    def ports(self) -> dict[str, str]:
        """The port that each value of the one invocation comes from."""
        step = self.invokes[0].step if len(self.invokes) == 1 else None
        return {value: port for port, value in step.outputs.items()} if isinstance(step, InvokeStep) else {}

    @property
    def bound(self) -> Iterator[tuple[Path, ProgramOutput, str]]:
        """Outputs that the one invocation makes, with the port that each comes from."""
        for path, output in self.outputs if len(self.adapters) == 1 == len(self.invokes) else ():
            if output.name in self.ports:
                yield path, output, self.ports[output.name]


def _media(context: Context, workflow: Workflow) -> Iterator[_Media]:
    section = context.document.preprocessing
    for word, abi in _ABIS.items():
        adapters = tuple((n, c) for n, c in workflow.components.items() if _runs(c, abi))
        invokes = tuple(placed for name, _ in adapters for placed in context.invokes.get(name, ()))
        yield _Media(word, getattr(section, word) if section else None, adapters, invokes)


def _runs(component: Component, abi: str) -> bool:
    found = component.implementation
    return isinstance(found, AdapterImplementation) and (found.abi, found.version) == (abi, _VERSION)


def _component(name: str) -> Path:
    return (*WORKFLOW, "components", name)


@workflow_rule(35, "An adapter that preprocesses has its program in preprocessing.")
def _program(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for name, _ in media.adapters if media.program is None else ():
            message = f"The component {q(name)} runs preprocessing.{media.word}, which is not there."
            yield Finding(_component(name), message, f"Add preprocessing.{media.word}, or remove the component.")


@workflow_rule(36, "A program is run by exactly one component.")
def _one_adapter(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        if media.program and len(media.adapters) != 1:
            abi = f"{_ABIS[media.word]}@{_VERSION}"
            message = f"{len(media.adapters)} components run preprocessing.{media.word}; it needs one."
            yield Finding(media.path, message, f"Declare one component with the adapter {abi}.")


@workflow_rule(37, "The port `encoded` of a preprocessing adapter takes bytes: uint8 of rank 1.")
def _encoded(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for name, component in media.adapters if media.program else ():
            port = component.ports.inputs.get("encoded")
            if port and (port.dtype, port.rank) != ("uint8", 1):
                message = f"The port 'encoded' of {q(name)} is {cut(port.dtype)} of rank {port.rank}."
                yield Finding((*_component(name), "ports", "inputs", "encoded"), message, "Make it uint8 of rank 1.")


@workflow_rule(38, "A preprocessing adapter has an input port `encoded`.")
def _has_encoded(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for name, component in media.adapters if media.program else ():
            if "encoded" not in component.ports.inputs:
                message = f"The component {q(name)} has no input port 'encoded'."
                yield Finding((*_component(name), "ports", "inputs"), message, "Declare it: uint8 of rank 1.")


@workflow_rule(39, "A preprocessing adapter is invoked exactly once.")
def _one_invoke(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        if media.program and len(media.adapters) == 1 and len(media.invokes) != 1:
            ((name, _),) = media.adapters
            place = media.invokes[1].path if media.invokes else _component(name)
            message = f"The component {q(name)} is invoked {len(media.invokes)} times; its program runs once."
            yield Finding(place, message, "Keep one invocation and read its outputs where they are needed.")


@workflow_rule(40, "An output of a program is not optional.")
def _optional(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for path, output in media.outputs:
            if output.optional:
                message = f"The output {q(output.name)} of preprocessing.{media.word} is optional."
                yield Finding((*path, "optional"), message, "Every value of an invocation is made: drop the word.")


@workflow_rule(41, "An output of a program has a contract.")
def _contract(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for path, output in media.outputs:
            if output.contract is None:
                message = f"The output {q(output.name)} of preprocessing.{media.word} has no contract."
                yield Finding(path, message, "Repeat the contract of the adapter's port.")


@workflow_rule(42, "An output of a program spells its dtype as its contract does.")
def _dtype(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for path, output in media.outputs:
            if output.contract and output.dtype != output.contract.dtype:
                said = cut(output.contract.dtype)
                message = f"The output {q(output.name)} is {cut(output.dtype)}, its contract says {said}."
                yield Finding((*path, "dtype"), message, "Write the same word twice.")


@workflow_rule(43, "An output of a program is a value that the adapter's invocation makes.")
def _is_made(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for path, output in media.outputs if len(media.adapters) == 1 == len(media.invokes) else ():
            if output.name not in media.ports:
                message = f"The invocation of {q(media.adapters[0][0])} makes no value {q(output.name)}."
                yield Finding((*path, "name"), message, "Name a value of the invocation's outputs.")


@workflow_rule(44, "The port that an output of a program comes from is declared by the adapter.")
def _port(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for _, output, port in media.bound:
            ((name, component),) = media.adapters
            if port not in component.ports.outputs:
                message = (
                    f"The component {q(name)} declares no output port {q(port)}, where {q(output.name)} comes from."
                )
                yield Finding((*_component(name), "ports", "outputs"), message, "Declare the port.")


@workflow_rule(45, "An output of a program has the contract of the adapter's port.")
def _same_contract(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for media in _media(context, workflow):
        for path, output, port in media.bound:
            declared = media.adapters[0][1].ports.outputs.get(port)
            # A dtype that differs from the output's own word is rule 42's matter.
            if declared is None or output.contract is None or output.dtype != output.contract.dtype:
                continue
            if not _equal(output.contract, declared):
                message = f"The contract of {q(output.name)} is not that of the port {q(port)}."
                yield Finding((*path, "contract"), message, "Make dtype, rank, shape and batch_layout the same.")


def _equal(a: TensorContract, b: TensorContract) -> bool:
    same = (a.rank, a.shape, a.batch_layout) == (b.rank, b.shape, b.batch_layout)
    return same and same_dtype(a.dtype, b.dtype)
