"""A decoder with a key/value cache that grows: one graph, called once per token by the runtime's decode loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract_of
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.decoder_ports import check_ports
from workbench.describe.kinds.parts import CONTROLS, DECODES, LIMIT, POLICY, add_limit, add_policy, add_rows, batch_of
from workbench.describe.kinds.states import LONGEST, up_to_context
from workbench.describe.sections import add_model, add_tokenizer, ends_of
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.describe.subject import PAST, CachePair, Subject
from workbench.describe.token_ports import narrow, with_int64_tokens
from workbench.errors import UnsupportedError
from workbench.metadata.document.state import Append, Reuse

COMPONENT = "decoder"
ROLES = {
    "input_ids": "token_ids", "attention_mask": "attention_mask", "position_ids": "position_ids", "logits": "logits",
}  # fmt: skip
FULL, SLIDING = "full_attention", "sliding_attention"


def fits(subject: Subject) -> bool:
    """One graph from tokens to logits whose cache grows and whose layers all see everything."""
    return grows(subject) and kinds_of_attention(subject, subject.cache()) == [FULL]


def grows(subject: Subject) -> bool:
    """A decoder whose cache has no fixed length."""
    return is_decoder(subject) and subject.graphs["model"].capacity(PAST[0]) is None


def is_decoder(subject: Subject, besides: Iterable[str] = ("attention_mask", "position_ids")) -> bool:
    """One graph that takes tokens, a cache and nothing ``besides`` these, and gives logits."""
    if tuple(subject.graphs) != ("model",) or not subject.cache():
        return False
    facts = subject.graphs["model"]
    fed = {"input_ids", *besides, *(pair.past.name for pair in subject.cache())}
    return "input_ids" in facts.inputs and "logits" in facts.outputs and set(facts.inputs) <= fed


def write(subject: Subject, builder: WorkflowBuilder, *, capacity: int | None = None) -> None:
    """One loop: decoder, token policy, emit; the cache is the runtime's. ``capacity``: it has so many slots."""
    check_prompt(subject)
    subject = in_int64(subject, builder)
    add_model(subject, builder, capacity=capacity)
    add_tokenizer(subject, builder)
    say_ends(subject, builder)
    feeds = add_inputs(subject, builder)
    add_components(subject, builder)
    add_cache(subject, builder)
    pairs = subject.cache()
    feeds |= {pair.past.name: cell_of(pair) for pair in pairs}
    made = {pair.present.name: f"next.{cell_of(pair)}" for pair in pairs}
    add_loop(builder, feeds, made, list(map(cell_of, pairs)))


def add_loop(builder: WorkflowBuilder, feeds: Mapping[str, str], made: Mapping[str, str], cells: Iterable[str]) -> None:
    """Decode, choose, emit: the decoder with these inputs, and these outputs beside its logits, carrying ``cells``."""
    controls = {name: f"next.{name}" for name in CONTROLS}
    body: list[AnyStep] = [
        invoke(COMPONENT, feeds, {"logits": "step.logits", **made}),
        invoke(POLICY, {"logits": "step.logits"}, {"token": "step.token", **controls}),
        emit("step.token", "tokens", mode="append", when="active"),
    ]
    builder.add(loop(
        body, continue_when="active", max_iterations=LIMIT, termination="generation_eos",
        carried={cell: f"next.{cell}" for cell in cells} | controls,
    ))  # fmt: skip


def check_prompt(subject: Subject) -> None:
    """The runtime gives a graph the whole prompt, then a token a round, and a mask over all of them.

    Raises:
        UnsupportedError: the graph takes a single token, or always the same number of them; or see ``check_ports``.
    """
    check_ports(subject.graphs["model"], subject.cache())
    ports = subject.graphs["model"].inputs
    if ports["input_ids"].size(1) == 1:
        raise UnsupportedError(
            "This graph takes one token at a time (graph_capture=True), and onnx-genai gives it the whole prompt at "
            "once. Build it without graph_capture."
        )
    sizes = {name: ports[name].size(-1) for name in ("input_ids", "attention_mask", "position_ids") if name in ports}
    for name, size in sizes.items():
        if size is not None:
            raise UnsupportedError(
                f"The graph's {name} is {list(ports[name].dims)}: always {size} long, and onnx-genai gives a prompt of "
                "any length, then a token a round. Export the graph with a name for this axis instead of a number."
            )


def say_ends(subject: Subject, builder: WorkflowBuilder) -> None:
    """A note where nothing ends a text."""
    if not ends_of(subject):
        builder.notes.append("The model names no end of text: every answer is as long as the request allows.")


def in_int64(subject: Subject, builder: WorkflowBuilder) -> Subject:
    """Tokens in int64, in which the runtime has them (measured with onnx-genai 0.1.0.dev6)."""
    model = subject.package.models["model"]
    if not (names := narrow(model)):
        return subject
    builder.models["model"] = with_int64_tokens(model)
    builder.notes.append(f"The graph takes {', '.join(names)} in int64 and casts them: onnx-genai feeds nothing else.")
    return subject.with_model("model", builder.models["model"])


def cell_of(pair: CachePair) -> str:
    """The state cell of a layer's keys or values."""
    return f"cache.{pair.layer}.{pair.role}"


def add_inputs(subject: Subject, builder: WorkflowBuilder) -> dict[str, str]:
    """Tokens from the request, mask and positions from whoever runs it; returns the value of each of these ports."""
    ports = subject.graphs["model"].inputs
    feeds = {"input_ids": builder.request("request.input_ids", contract_of(ports["input_ids"]), "prompt_tokens")}
    for name in ("attention_mask", "position_ids"):
        if name in ports:
            feeds[name] = builder.application(
                f"application.{name}", contract_of(ports[name]), name, externally_suppliable=True
            )
    add_limit(builder, longest_text(subject))
    return feeds


def longest_text(subject: Subject) -> int:
    """The most tokens of prompt and answer: what the configuration says, without one no bound."""
    return subject.config.max_position_embeddings if subject.config else LONGEST


def add_components(subject: Subject, builder: WorkflowBuilder) -> None:
    """The decoder, whose ports are those of its graph, and the runtime's own way from logits to a token."""
    facts = subject.graphs["model"]
    named = (*facts.inputs, *facts.outputs)
    builder.onnx(
        COMPONENT, subject.artifact("model"), roles={port: role for port, role in ROLES.items() if port in named},
        contract=DECODES,
    )  # fmt: skip
    tokens = contract_of(facts.inputs["input_ids"])
    add_policy(builder, contract_of(facts.outputs["logits"]), tokens, batch_of(tokens))
    add_rows(builder, batch_of(tokens))


def add_cache(subject: Subject, builder: WorkflowBuilder, *, reusable: bool = True) -> None:
    """A cell for the keys and one for the values of each layer, in a group per kind of attention.

    ``reusable``: what a prompt's beginning left in the cache serves another prompt that begins alike.
    """
    pairs, reuse = subject.cache(), Reuse(prefix_reusable=True) if reusable else None
    aliasing = "permitted" if subject.writes_in_place() else None
    for kind in kinds_of_attention(subject, pairs):
        builder.group(kind, kind, "bnsh", sequence_axis=2, update=Append(kind="append"), aliasing=aliasing, reuse=reuse)
    seeds: dict[tuple[object, ...], str] = {}
    for pair in pairs:
        made, kind = contract_of(pair.past), attention_of(subject, pair.layer)
        shape = (made.dtype, made.shape)
        if shape not in seeds:
            name = "package.empty_cache" + (f".{len(seeds)}" if seeds else "")
            seeds[shape] = builder.literal(name, made, 0.0)
        room = None if isinstance(pair.past.size(2), int) else up_to_context(builder, 2, longest_text(subject))
        cell = builder.cell(cell_of(pair), made, seeds[shape], group=kind, recurrence=room)
        builder.alias(kind, COMPONENT, cell, pair.past.name, pair.present.name, role=pair.role, layer=pair.layer)


def attention_of(subject: Subject, layer: int) -> str:
    """``sliding_attention`` where a layer has a window, else ``full_attention``."""
    return SLIDING if subject.window(layer) else FULL


def kinds_of_attention(subject: Subject, pairs: Iterable[CachePair]) -> list[str]:
    """The kinds that the layers are of, in their order."""
    return list(dict.fromkeys(attention_of(subject, pair.layer) for pair in pairs))


def spell(subject: Subject, builder: WorkflowBuilder) -> None:
    """Every step, with policy graphs and none of the runtime's own."""
    from workbench.describe.spelled import spell as spelled  # which is made of the parts above

    spelled(subject, builder)


KIND = Kind("decoder", "text generation with a key/value cache that grows", fits, write, spell)
