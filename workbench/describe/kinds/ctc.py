"""Sound to characters without a loop: an encoder scores every frame, and a profile says how scores become a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract
from workbench.describe.facts import fact, read_facts, refuse
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.parts import Ends, add_graph, application_inputs, mask_inputs
from workbench.describe.steps import AnyStep, emit, given, invoke
from workbench.describe.subject import Subject
from workbench.metadata.document.media import AudioOutput, AudioProgram, AudioTransform, Preprocessing
from workbench.metadata.document.profiles import Decoding, Profile, Vocabulary
from workbench.metadata.document.tensor import TensorContract

NAME, COMPONENT, ABI = "ctc", "encoder", "onnx-genai.audio-preprocess"
_VOCABULARY = "the text of each class, in the order of the classes"


@dataclasses.dataclass(frozen=True)
class CtcFacts:
    """With ``sample_rate`` the request brings a sound file and the runtime makes samples of it."""

    blank_id: int = fact("the class that stands for no character")
    vocabulary: Sequence[str] = fact(_VOCABULARY)
    word_delimiter: str | None = fact("the class that stands between words", default=None)
    ignored_tokens: Sequence[str] = fact("classes that leave no text", default=())
    sample_rate: int | None = fact("samples a second of the waveform, in Hz", default=None)
    normalize: bool = fact("whether a waveform is brought to mean 0 and variance 1", default=False)


def fits(subject: Subject) -> bool:
    """One graph from numbers to logits of rank 3, one row of scores a frame."""
    if tuple(subject.graphs) != ("model",) or not subject.graphs["model"].inputs:
        return False
    facts = subject.graphs["model"]
    first = next(iter(facts.inputs.values()))
    scores = facts.outputs.get("logits")
    return first.dtype is not None and first.dtype.is_floating_point() and scores is not None and len(scores.dims) == 3


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """Sound, encoder, scores; and the profile."""
    said = read_facts(NAME, CtcFacts, subject.facts)
    ends = Ends.of(subject, "model")
    _check(said, ends)
    add_graph(builder, subject, "model", ends, name=COMPONENT)
    main, *others = ends.inputs
    steps: list[AnyStep] = []
    value = _sound(builder, said, ends, main, steps)
    masks = mask_inputs(builder, ends, [port for port in others if port.endswith("mask")])
    rest = application_inputs(builder, ends, [port for port in others if port not in masks])
    feeds = {main: value} | masks | rest
    steps.append(invoke(COMPONENT, feeds, {name: f"encoder.{name}" for name in ends.outputs}))
    lengths = _lengths(ends)
    for name in ("logits", lengths):
        if name is not None:
            builder.output(name, ends.outputs[name], "tensor")
            steps.append(emit(f"encoder.{name}", name))
    builder.add(*steps)
    builder.section("profiles", {"transcription": _profile(said, lengths)})


def _check(said: CtcFacts, ends: Ends) -> None:
    shape = ends.outputs["logits"].shape or ()
    classes, known = shape[-1] if shape else None, list(said.vocabulary)
    if isinstance(classes, int) and classes != len(known):
        raise refuse(NAME, "vocabulary", known, f"it has {len(known)} texts, the graph scores {classes} classes.")
    if not 0 <= said.blank_id < len(known):
        raise refuse(NAME, "blank_id", said.blank_id, f"it is a class, 0 to {len(known) - 1}.")
    for text in (said.word_delimiter, *said.ignored_tokens):
        if text is not None and text not in known:
            raise refuse(NAME, "word_delimiter or ignored_tokens", text, "it is no text of the vocabulary.")


def _lengths(ends: Ends) -> str | None:
    """The output with the number of frames of each row: whole numbers, one a row."""
    found = [name for name, made in ends.outputs.items() if made.rank == 1 and made.dtype.startswith("int")]
    return found[0] if len(found) == 1 else None


def _sound(builder: WorkflowBuilder, said: CtcFacts, ends: Ends, main: str, steps: list[AnyStep]) -> str:
    """Samples as the request brings them, or out of a sound file by the runtime's adapter."""
    made = ends.inputs[main]
    if said.sample_rate is None:
        return builder.request(f"request.{main}", made, "media")
    encoded = contract("uint8", "bytes", batch=None)
    sound = builder.request("request.audio", encoded, "media")
    builder.adapter("audio_preprocess", ABI, "1", {"encoded": encoded}, {main: made})
    value = f"audio.{main}"
    steps.append(invoke("audio_preprocess", {"encoded": sound}, {main: value}))
    builder.section("preprocessing", Preprocessing(audio=_program(said, value, made)))
    return value


def _program(said: CtcFacts, value: str, made: TensorContract) -> AudioProgram:
    transforms = [
        AudioTransform(op="decode", outputs=("audio.decoded",)),
        AudioTransform(
            op="resample", sample_rate=said.sample_rate, inputs=("audio.decoded",), outputs=("audio.samples",)
        ),
    ]
    if said.normalize:
        transforms.append(
            AudioTransform(
                op="zero_mean_unit_variance", epsilon=1e-7, inputs=("audio.samples",), outputs=("audio.even",)
            )
        )
    last = transforms[-1].outputs
    assert last is not None
    output = AudioOutput(name=value, source=last[0], content="waveform", dtype=made.dtype, contract=made)
    return AudioProgram(transforms=tuple(transforms), outputs=(output,))


def _profile(said: CtcFacts, lengths: str | None) -> Profile:
    """Blank and repeated classes are dropped: the definition of CTC. With lengths, padding is told from sound."""
    vocabulary = Vocabulary(**given(
        source="inline", size=len(said.vocabulary), tokens=tuple(said.vocabulary), word_delimiter=said.word_delimiter,
        ignored_tokens=tuple(said.ignored_tokens),
    ))  # fmt: skip
    decoding = Decoding(**given(
        kind="ctc", blank_id=said.blank_id, collapse_repeats=True, time_axis=1, class_axis=2, lengths=lengths,
        vocabulary=vocabulary,
    ))  # fmt: skip
    outputs = {"logits": "logits", **({lengths: lengths} if lengths else {})}
    sensitive = "padding_sensitive" if lengths else None
    return Profile(**given(
        kind="transcription", version="1.0", outputs=outputs, batch_invariance=sensitive, decoding=decoding
    ))  # fmt: skip


KIND = Kind(
    NAME, "text out of sound, frame by frame", fits, write,
    components={"model": "the encoder, from samples or features to logits"}, facts=CtcFacts,
)  # fmt: skip
