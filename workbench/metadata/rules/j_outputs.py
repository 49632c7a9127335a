"""Group J: what a workflow gives: sound with its format, pictures with their range."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.workflow import Media, Workflow, WorkflowOutput
from workbench.metadata.dtypes import is_float
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q

_Outputs = Iterator[tuple[Path, str, WorkflowOutput]]


def _outputs(workflow: Workflow) -> _Outputs:
    for name, output in workflow.outputs.items():
        yield (*WORKFLOW, "outputs", name), name, output


def _media(workflow: Workflow) -> Iterator[tuple[Path, str, Media]]:
    """The formats of outputs; one on an output that is no sound is rule 113's matter alone."""
    for path, name, output in _outputs(workflow):
        if output.media and output.role == "audio":
            yield (*path, "media"), name, output.media


def _zero(workflow: Workflow, field: str) -> Iterator[Finding]:
    for path, name, media in _media(workflow):
        if getattr(media, field) == 0:
            yield Finding((*path, field), f"The output {q(name)} has {field} 0.", "Write its number.")


@workflow_rule(113, "Only sound has a media format.")
def _not_audio(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, output in _outputs(workflow):
        if output.media and output.role != "audio":
            message = f"The output {q(name)} has a media format, but its role is {output.role}."
            yield Finding((*path, "media"), message, "Remove media, or make the role audio.")


@workflow_rule(114, "A sample rate is not zero.")
def _rate(context: Context, workflow: Workflow) -> Iterator[Finding]:
    return _zero(workflow, "sample_rate_hz")


@workflow_rule(115, "The sample rate of a source is not zero.")
def _source_rate(context: Context, workflow: Workflow) -> Iterator[Finding]:
    return _zero(workflow, "source_sample_rate_hz")


@workflow_rule(116, "Sound has a channel.")
def _channels(context: Context, workflow: Workflow) -> Iterator[Finding]:
    return _zero(workflow, "channels")


def _absent(workflow: Workflow, field: str) -> Iterator[Finding]:
    for path, name, media in _media(workflow):
        if getattr(media, field) is None:
            yield Finding((*path, field), f"The output {q(name)} is sound without {field}.", "Write its number.")


@workflow_rule(117, "Sound has a sample rate.")
def _no_rate(context: Context, workflow: Workflow) -> Iterator[Finding]:
    return _absent(workflow, "sample_rate_hz")


@workflow_rule(118, "Sound says how many channels it has.")
def _no_channels(context: Context, workflow: Workflow) -> Iterator[Finding]:
    return _absent(workflow, "channels")


def _wav(workflow: Workflow, stage: str) -> _Outputs:
    for path, name, output in _outputs(workflow):
        if output.role == "audio" and output.media and output.media.container == "wav" and output.stage == stage:
            yield (*path, "contract", "dtype"), name, output


@workflow_rule(119, "A finished WAV file is bytes: uint8.")
def _wav_bytes(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, output in _wav(workflow, "post_adapter"):
        if output.contract.dtype != "uint8":
            message = f"The output {q(name)} is a finished WAV file of dtype {q(output.contract.dtype)}."
            yield Finding(path, message, "Make it uint8, or the stage pre_adapter.")


@workflow_rule(120, "Samples that become a WAV file are floats.")
def _wav_samples(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, output in _wav(workflow, "pre_adapter"):
        if not is_float(output.contract.dtype):
            message = f"The output {q(name)} gives samples of dtype {q(output.contract.dtype)}."
            yield Finding(path, message, "Make it float32, float16 or bfloat16, or the stage post_adapter.")


@workflow_rule(121, "A picture says which range its values have.")
def _no_range(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, output in _outputs(workflow):
        if output.role == "image" and output.value_range is None:
            hint = "Write zero_to_one, negative_one_to_one or zero_to_255."
            yield Finding((*path, "value_range"), f"The picture {q(name)} has no value_range.", hint)


@workflow_rule(122, "Only a picture has a range of values.")
def _range(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, output in _outputs(workflow):
        if output.role != "image" and output.value_range is not None:
            message = f"The output {q(name)} has a value_range, but its role is {output.role}."
            yield Finding((*path, "value_range"), message, "Remove it.")
