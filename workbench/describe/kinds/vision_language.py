"""A text with or without a picture: the picture's features stand among the tokens' vectors, and a decoder goes on.

Whether a picture came is a value of its own. A branch asks for it: on one side the picture is prepared and encoded, on
the other nothing is, and only there is the picture not looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir
import pydantic

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract, contract_of
from workbench.describe.facts import fact, first_of, lacks, read_facts, refuse
from workbench.describe.kinds import spelling
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.parts import (
    DECODES,
    EOS,
    Ends,
    add_controls,
    add_graph,
    add_policy,
    add_text_end,
    add_token_cell,
    application_inputs,
    batch_of,
    ids_of,
    text_loop,
)
from workbench.describe.kinds.states import add_cache
from workbench.describe.policy.nothing import nothing
from workbench.describe.state_ports import StatePort, state_ports
from workbench.describe.steps import AnyStep, branch, invoke, sequence
from workbench.describe.subject import Subject
from workbench.errors import UnsupportedError
from workbench.metadata.document.media import ImageProgram, ImageTransform, Preprocessing, ProgramOutput
from workbench.metadata.document.tensor import TensorContract

NAME, ABI, PREPARE, ABSENT = "vision-language", "onnx-genai.image-preprocess", "image_preprocess", "no_image"
VISION, EMBEDDING, DECODER = "vision", "embedding", "decoder"
PRESENT, FEATURES = "request.has_image", "prompt.image_features"
Embed = Callable[[str, str], AnyStep]
"""Tokens and the word before what is made: the step that makes vectors of them."""
_SIDE = "emit_grid_coordinates"
"""A transform that gives not the picture but where its pieces lie. Source: the reference's own image programs."""


@dataclasses.dataclass(frozen=True)
class VisionLanguageFacts:
    """``contents`` says what an input of the vision graph holds, where its name does not."""

    transforms: Sequence[Mapping[str, Any]] = fact(
        'how a picture becomes the inputs of the vision graph, step by step, as in [{"op": "decode_rgb"}, ...]'
    )
    eos_token_id: int | Sequence[int] = fact(EOS)
    image_token_id: int | None = fact("id of the token in whose place a picture's features are put", default=None)
    contents: Mapping[str, str] = fact("what each input of the vision graph holds", default_factory=dict)


def fits(subject: Subject) -> bool:
    """Three graphs, ``vision``, ``embedding`` and ``decoder``."""
    return set(subject.graphs) == {VISION, EMBEDDING, DECODER}


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """The branch, then the decoder's loop on embedded tokens.

    Every step is in the document where small graphs can make all that the decoder takes; else whoever runs it does.
    """
    _write(subject, builder, in_graphs=not _unmade(subject))


def _spell(subject: Subject, builder: WorkflowBuilder) -> None:
    spelling.refuse_unmade(subject.artifact(DECODER), _unmade(subject))
    _write(subject, builder, in_graphs=True)


def _unmade(subject: Subject) -> list[str]:
    """What the decoder takes that neither the embedding nor a small graph makes."""
    facts, ids = subject.graphs[DECODER], subject.graphs[EMBEDDING].inputs.get("input_ids")
    known = {_need(subject, DECODER, "inputs_embeds"), *(port.input for port in _states(subject))}
    tokens = [] if ids is not None and ids.dtype == ir.DataType.INT64 else ["input_ids"]
    return tokens + spelling.unmade(facts, _states(subject), [name for name in facts.inputs if name not in known])


def _states(subject: Subject) -> tuple[StatePort, ...]:
    facts = subject.graphs[DECODER]
    return tuple(port for port in state_ports(facts.inputs, facts.outputs) if port.role and port.output)


def _write(subject: Subject, builder: WorkflowBuilder, *, in_graphs: bool) -> None:
    said = read_facts(NAME, VisionLanguageFacts, subject.facts)
    _the(subject, DECODER, [name for name in subject.graphs[DECODER].outputs if name == "logits"], "output 'logits'")
    # Pictures and their pieces are counted on axes of their own, not by requests.
    vision = Ends.of(subject, VISION, aligned=False)
    embedding = Ends.of(subject, EMBEDDING, _need(subject, EMBEDDING, "input_ids"))
    decoder = Ends.of(subject, DECODER, _need(subject, DECODER, "inputs_embeds"))
    for key, ends in ((VISION, vision), (EMBEDDING, embedding), (DECODER, decoder)):
        add_graph(builder, subject, key, ends, contract=DECODES if key == DECODER and not in_graphs else None)
    tokens = embedding.inputs["input_ids"]
    builder.request("request.input_ids", tokens, "prompt_tokens")
    add_controls(builder, batch_of(tokens))
    add_text_end(subject, builder, NAME, decoder.outputs["logits"], said.eos_token_id, image=said.image_token_id)
    builder.add(_look(subject, builder, said, vision))
    feature = _the(subject, EMBEDDING, [name for name in embedding.inputs if name != "input_ids"], "input for features")
    embeds = _the(subject, EMBEDDING, list(embedding.outputs), "output")

    def embed(ids: str, made: str) -> AnyStep:
        return invoke(EMBEDDING, {"input_ids": ids, feature: FEATURES}, {embeds: f"{made}.inputs_embeds"})

    if in_graphs:
        builder.add(_in_graphs(subject, builder, decoder, tokens, embed, ids_of(said.eos_token_id)))
    else:
        builder.add(_by_runtime(subject, builder, decoder, tokens, embed))


def _in_graphs(
    subject: Subject,
    builder: WorkflowBuilder,
    decoder: Ends,
    tokens: TensorContract,
    embed: Embed,
    ends: tuple[int, ...],
) -> AnyStep:
    """Embed, decode and choose; masks and positions are made by a small graph."""
    facts, states = subject.graphs[DECODER], _states(subject)
    led = bool(set(spelling.LED) & set(facts.inputs))
    spelled = spelling.Spelling(builder, DECODER, facts, states, ends, led)
    spelled.add_policies()
    spelled.add_state(decoder, batch_of(tokens), "full_attention", reusable=True)

    def run(ids: str, places: Mapping[str, str], made: str) -> list[AnyStep]:
        fed = {"inputs_embeds": f"{made}.inputs_embeds"}
        return [embed(ids, made), *spelled.call(fed, ids, places, made)]

    return spelled.loop(run, "request.input_ids")


def _by_runtime(
    subject: Subject, builder: WorkflowBuilder, decoder: Ends, tokens: TensorContract, embed: Embed
) -> AnyStep:
    """Embed the token, decode, choose; the cache is carried."""
    add_policy(builder, decoder.outputs["logits"], tokens, batch_of(tokens))
    add_token_cell(builder, tokens, "request.input_ids")
    states = _states(subject)
    cells = add_cache(builder, DECODER, states, decoder.inputs) if states else {}
    others = [name for name in decoder.inputs if name != "inputs_embeds" and name not in cells]
    rest = application_inputs(builder, decoder, others)
    outputs = {name: f"step.{name}" for name in decoder.outputs}
    step = invoke(DECODER, {"inputs_embeds": "step.inputs_embeds", **rest, **cells}, outputs)
    return text_loop([embed("token", "step"), step], {cells[p.input]: outputs[str(p.output)] for p in states})


# --- the picture --------------------------------------------------------------------------------------------
def _look(subject: Subject, builder: WorkflowBuilder, said: VisionLanguageFacts, vision: Ends) -> AnyStep:
    """Features of the picture, or none, under one name."""
    encoded = contract("uint8", "bytes", batch=None)
    picture = builder.request("request.image", encoded, "media", required=False, present_as=PRESENT)
    builder.adapter(PREPARE, ABI, "1", {"encoded": encoded}, vision.inputs)
    builder.section("preprocessing", Preprocessing(image=_program(said, vision)))
    output = _the(subject, VISION, list(vision.outputs), "output")
    port = subject.graphs[VISION].outputs[output]
    builder.policy(ABSENT, nothing(port), outputs={output: _empty(subject, output)})
    prepared = {name: f"image.{name}" for name in vision.inputs}
    seen = sequence(
        invoke(PREPARE, {"encoded": picture}, prepared), invoke(VISION, prepared, {output: "image.features"})
    )
    return branch(
        PRESENT, {"true": seen}, default=invoke(ABSENT, {}, {output: "no_image.features"}),
        outputs={FEATURES: ({"true": "image.features"}, "no_image.features")},
    )  # fmt: skip


def _empty(subject: Subject, output: str) -> Any:
    port = subject.graphs[VISION].outputs[output]
    sizes = (0, *(size if isinstance(size, int) else 0 for size in port.dims[1:]))
    return contract(contract_of(port).dtype, *sizes, batch=None)


def _program(said: VisionLanguageFacts, vision: Ends) -> ImageProgram:
    """Every transform reads what the one before made; one that tells where pieces lie stands aside."""
    transforms, picture, places = [], None, None
    for number, words in enumerate(said.transforms):
        wire = f"image.{number}"
        made = _transform(words, picture, wire)
        transforms.append(made)
        picture, places = (picture, wire) if made.op == _SIDE else (wire, places)
    outputs = []
    for name, ends in vision.inputs.items():
        content = said.contents.get(name) or _content(name)
        source = places if content == "grid_dimensions" else picture
        if content is None or source is None:
            what = f"what the input {name!r} of the vision graph holds, and a transform that makes it"
            raise lacks(NAME, "contents", what, dataclasses.asdict(said))
        outputs.append(
            ProgramOutput(name=f"image.{name}", source=source, content=content, dtype=ends.dtype, contract=ends)
        )
    return ImageProgram(transforms=tuple(transforms), outputs=tuple(outputs))


def _transform(words: object, before: str | None, wire: str) -> ImageTransform:
    if not isinstance(words, Mapping) or not isinstance(words.get("op"), str):
        raise refuse(NAME, "transforms", words, 'each is a mapping with the word "op".')
    chain: dict[str, Any] = {"outputs": (wire,), **({"inputs": (before,)} if before else {})}
    try:
        return ImageTransform.model_validate({**words, **chain})
    except pydantic.ValidationError as error:
        raise refuse(NAME, "transforms", dict(words), f"{first_of(error)}.") from None


def _content(name: str) -> str | None:
    return "pixels" if "pixel" in name else "grid_dimensions" if "grid" in name else None


# --- what is what -------------------------------------------------------------------------------------------
def _need(subject: Subject, key: str, port: str) -> str:
    if port not in subject.graphs[key].inputs:
        have = ", ".join(subject.graphs[key].inputs)
        raise UnsupportedError(f"The graph {subject.artifact(key)!r} ({key}) has no input {port!r}; it has {have}.")
    return port


def _the(subject: Subject, key: str, found: list[str], what: str) -> str:
    if len(found) != 1:
        raise UnsupportedError(
            f"The graph {subject.artifact(key)!r} ({key}) must have one {what}; found {', '.join(found) or 'none'}."
        )
    return found[0]


KIND = Kind(
    NAME, "text out of a text and, if there is one, a picture", fits, write,
    components={
        VISION: "from a prepared picture to features",
        EMBEDDING: "from tokens and features to vectors",
        DECODER: "from vectors to logits",
    },
    facts=VisionLanguageFacts, spell=_spell,
)  # fmt: skip
