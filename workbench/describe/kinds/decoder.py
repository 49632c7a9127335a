"""A decoder with a key/value cache that grows: one graph, called once per token by the runtime's decode loop."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.contracts import contract, contract_of
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.states import LONGEST, up_to_context
from workbench.describe.sections import add_model, add_tokenizer, ends_of
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.describe.subject import PAST, CachePair, Subject
from workbench.describe.token_ports import narrow, with_int64_tokens
from workbench.errors import UnsupportedError
from workbench.metadata.document.state import Append, Reuse

COMPONENT, POLICY = "decoder", "token_policy"
ROLES = {
    "input_ids": "token_ids", "attention_mask": "attention_mask", "position_ids": "position_ids", "logits": "logits",
}  # fmt: skip
FULL, SLIDING = "full_attention", "sliding_attention"
_CONTROLS = {
    "active": ("bool", "package.true"),
    "done": ("bool", "package.false"),
    "accepted_len": ("int64", "package.zero"),
}


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
    given = {"logits": "step.logits"} | {pair.present.name: f"next.{cell_of(pair)}" for pair in pairs}
    controls = {name: f"next.{name}" for name in _CONTROLS}
    body: list[AnyStep] = [
        invoke(COMPONENT, feeds, given),
        invoke(POLICY, {"logits": "step.logits"}, {"token": "step.token", **controls}),
        emit("step.token", "tokens", mode="append", when="active"),
    ]
    carried = {cell_of(pair): f"next.{cell_of(pair)}" for pair in pairs} | controls
    builder.add(loop(
        body, continue_when="active", max_iterations="request.max_output_tokens", termination="generation_eos",
        carried=carried,
    ))  # fmt: skip


def check_prompt(subject: Subject) -> None:
    """The runtime gives a graph the whole prompt.

    Raises:
        UnsupportedError: the graph takes a single token.
    """
    if subject.graphs["model"].inputs["input_ids"].size(1) == 1:
        raise UnsupportedError(
            "This graph takes one token at a time (graph_capture=True), and onnx-genai gives it the whole prompt at "
            "once. Build it without graph_capture."
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
    limit, longest = contract("int64", 1, batch=None), longest_of(subject)
    builder.request("request.max_output_tokens", limit, "max_output_tokens", default=longest)
    return feeds


def longest_of(subject: Subject) -> int:
    """The most tokens of prompt and answer; no bound where no configuration names one."""
    return subject.config.max_position_embeddings if subject.config else LONGEST


def add_components(subject: Subject, builder: WorkflowBuilder) -> None:
    """The decoder, whose ports are those of its graph, and the runtime's own way from logits to a token."""
    facts = subject.graphs["model"]
    named = (*facts.inputs, *facts.outputs)
    builder.onnx(
        COMPONENT, subject.artifact("model"), roles={port: role for port, role in ROLES.items() if port in named},
        contract=promise("onnx-genai.autoregressive-decode", "1"),
    )  # fmt: skip
    tokens = contract_of(facts.inputs["input_ids"])
    made = {name: contract(dtype, "batch_size") for name, (dtype, _) in _CONTROLS.items()}
    builder.binding(
        POLICY, promise("onnx-genai.token-policy", "1.0"), {"logits": contract_of(facts.outputs["logits"])},
        {"token": tokens, **made},
    )  # fmt: skip
    builder.output("tokens", tokens, "tokens")
    for name, dtype, value in (("true", "bool", True), ("false", "bool", False), ("zero", "int64", 0)):
        builder.literal(f"package.{name}", contract(dtype, "batch_size"), value)
    for name, (dtype, start) in _CONTROLS.items():
        builder.cell(name, contract(dtype, "batch_size"), start)
    builder.serve(active="active", done="done", accepted_len="accepted_len")


def add_cache(subject: Subject, builder: WorkflowBuilder) -> None:
    """A cell for the keys and one for the values of each layer, in a group per kind of attention."""
    pairs = subject.cache()
    aliasing = "permitted" if subject.writes_in_place() else None
    for kind in kinds_of_attention(subject, pairs):
        builder.group(
            kind, kind, "bnsh", sequence_axis=2, update=Append(kind="append"), aliasing=aliasing,
            reuse=Reuse(prefix_reusable=True),
        )  # fmt: skip
    seeds: dict[tuple[object, ...], str] = {}
    for pair in pairs:
        made, kind = contract_of(pair.past), attention_of(subject, pair.layer)
        shape = (made.dtype, made.shape)
        if shape not in seeds:
            name = "package.empty_cache" + (f".{len(seeds)}" if seeds else "")
            seeds[shape] = builder.literal(name, made, 0.0)
        room = None if isinstance(pair.past.size(2), int) else up_to_context(builder, 2, longest_of(subject))
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
