"""What several kinds are made of: a graph with its ports, the controls of a loop, and the loop that writes a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from workbench.analysis.graph_facts import Port
from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.contracts import contract, contract_of
from workbench.describe.facts import refuse
from workbench.describe.kinds.states import LONGEST, up_to_context
from workbench.describe.sections import add_words, numbered
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.describe.subject import Subject
from workbench.errors import UnsupportedError
from workbench.metadata.document.ports import ComponentContract
from workbench.metadata.document.tensor import TensorContract

POLICY, LIMIT = "token_policy", "request.max_output_tokens"
CONTROLS = {
    "active": ("bool", "package.true"),
    "done": ("bool", "package.false"),
    "accepted_len": ("int64", "package.zero"),
}
"""By what a runtime knows which requests still run: dtype, and the constant that each begins with."""
EOS = "id of the token that ends a text, or several of them"
DECODES = promise("onnx-genai.autoregressive-decode", "1")
_READ = {
    "input_ids": "token_ids",
    "decoder_input_ids": "token_ids",
    "inputs_embeds": "inputs_embeds",
    "attention_mask": "attention_mask",
    "position_ids": "position_ids",
    "encoder_hidden_states": "encoder_hidden_states",
    "input_features": "audio_features",
    "input_values": "audio_features",
}
_GIVEN = {"logits": "logits", "last_hidden_state": "hidden_states", "hidden_states": "hidden_states"}
"""Roles by the names that exporters give to inputs and outputs."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ends:
    """A graph's ports as contracts. The axis of the requests is where the first size of ``main`` stands."""

    inputs: Mapping[str, TensorContract]
    outputs: Mapping[str, TensorContract]

    @classmethod
    def of(cls, subject: Subject, key: str, main: str | None = None, *, aligned: bool = True) -> Ends:
        """Of the graph ``key``; ``main`` is an input with an entry per request, without it the first.

        With ``aligned=False`` no axis is one of requests.

        Raises:
            UnsupportedError: the graph has no input.
        """
        facts = subject.graphs[key]
        if not facts.inputs:
            raise UnsupportedError(f"The graph {subject.artifact(key)!r} takes nothing. Export it with its inputs.")
        first = facts.inputs[main] if main is not None else next(iter(facts.inputs.values()))
        symbol = (first.dims[0] if first.dims else None) if aligned else _NO_AXIS
        sides = (
            {name: _contract(port, symbol) for name, port in side.items()} for side in (facts.inputs, facts.outputs)
        )
        return cls(*sides)

    @property
    def roles(self) -> dict[str, str]:
        """Roles of the ports whose names say them."""
        return {name: _READ[name] for name in self.inputs if name in _READ} | {
            name: _GIVEN[name] for name in self.outputs if name in _GIVEN
        }


_NO_AXIS = "\0"  # no graph calls a dimension so


def _contract(port: Port, symbol: int | str | None) -> TensorContract:
    if port.dims and port.dims[0] == symbol:
        return contract_of(port, batch=0)
    named = isinstance(symbol, str) and symbol in port.dims
    return contract_of(port, batch=port.dims.index(symbol) if named else None)


def add_graph(
    builder: WorkflowBuilder, subject: Subject, key: str, ends: Ends,
    *, name: str = "", roles: Mapping[str, str] | None = None, contract: ComponentContract | None = None,
) -> str:  # fmt: skip
    """A graph of the package with all its ports. A mask that is over no tokens has no role: nobody could make it."""
    said = dict(ends.roles if roles is None else roles)
    if not {"token_ids", "inputs_embeds"} & set(said.values()):
        said = {port: role for port, role in said.items() if role != "attention_mask"}
    return builder.onnx(
        name or key, subject.artifact(key), roles=said, inputs=ends.inputs, outputs=ends.outputs, contract=contract
    )


# --- the loop that writes a text ----------------------------------------------------------------------------
def batch_of(tokens: TensorContract) -> int | str:
    """The size B of ``tokens [B, S]``, a number or a symbol."""
    return tokens.shape[0] if tokens.shape else "batch"


def ids_of(said: int | Sequence[int]) -> tuple[int, ...]:
    """One token id, or several, as several."""
    return (said,) if isinstance(said, int) else tuple(said)


def add_rows(builder: WorkflowBuilder, batch: int | str) -> None:
    """Cells and constants by which a runtime knows which rows of a batch still run."""
    for name, dtype, value in (("true", "bool", True), ("false", "bool", False), ("zero", "int64", 0)):
        builder.literal(f"package.{name}", contract(dtype, batch), value)
    for name, (dtype, start) in CONTROLS.items():
        builder.cell(name, contract(dtype, batch), start)
    builder.serve(active="active", done="done", accepted_len="accepted_len")


def add_controls(builder: WorkflowBuilder, batch: int | str) -> None:
    """Which rows still run, and the most tokens that a request may ask for."""
    add_rows(builder, batch)
    add_limit(builder, LONGEST)


def add_limit(builder: WorkflowBuilder, longest: int) -> None:
    """The most tokens that a request may ask for; it may leave that out and then means ``longest``."""
    builder.request(LIMIT, contract("int64", 1, batch=None), "max_output_tokens", default=longest)


def add_policy(builder: WorkflowBuilder, logits: TensorContract, tokens: TensorContract, batch: int | str) -> None:
    """The runtime's own way from scores to a token, and the tokens that it gives."""
    made = {name: contract(dtype, batch) for name, (dtype, _) in CONTROLS.items()}
    builder.binding(POLICY, promise("onnx-genai.token-policy", "1.0"), {"logits": logits}, {"token": tokens, **made})
    builder.output("tokens", tokens, "tokens")


def add_token_cell(builder: WorkflowBuilder, tokens: TensorContract, first: str) -> str:
    """What the next step reads: at first a whole text, then the one token that the step before chose."""
    return builder.cell("token", tokens, first, recurrence=up_to_context(builder, 1))


def add_text_end(
    subject: Subject, builder: WorkflowBuilder, kind: str, logits: TensorContract, said: int | Sequence[int],
    **others: int | None,
) -> None:  # fmt: skip
    """The ids that end a text, for a package without a configuration, and what its tokenizer's file tells.

    ``others`` are more special tokens by their meaning.

    Raises:
        ConfigError: ``said`` are no ids of the vocabulary.
        UnsupportedError: the graph does not say how large its vocabulary is.
    """
    classes = logits.shape[-1] if logits.shape else None
    if not isinstance(classes, int):
        raise UnsupportedError(
            f"The graph does not fix the size of its vocabulary: logits {logits.shape}. Export it so."
        )
    ends = ids_of(said)
    if not ends or not all(0 <= one < classes for one in ends):
        raise refuse(kind, "eos_token_id", said, f"it is an id from 0 to {classes - 1}, or several.")
    more = {name: one for name, one in others.items() if one is not None}
    add_words(subject, builder, classes, dict(numbered(ends)) | more)


def text_loop(steps: list[AnyStep], carried: Mapping[str, str], logits: str = "step.logits") -> AnyStep:
    """Steps that end in scores, then the policy, and a token for the caller; the token is the next step's."""
    controls = {name: f"next.{name}" for name in CONTROLS}
    body: list[AnyStep] = [
        *steps,
        invoke(POLICY, {"logits": logits}, {"token": "next.token", **controls}),
        emit("next.token", "tokens", mode="append", when="active"),
    ]
    return loop(
        body, continue_when="active", max_iterations=LIMIT, termination="generation_eos",
        carried={"token": "next.token", **carried, **controls},
    )  # fmt: skip


def application_inputs(builder: WorkflowBuilder, ends: Ends, names: list[str], prefix: str = "") -> dict[str, str]:
    """Ports that whoever runs the package feeds under their own names, such as a mask; the value of each port."""
    return {
        port: builder.application(
            f"application.{prefix}{port}", ends.inputs[port], prefix + port, externally_suppliable=True
        )
        for port in names
    }


def mask_inputs(builder: WorkflowBuilder, ends: Ends, names: list[str]) -> dict[str, str]:
    """Masks over what an encoder reads. Nobody need give one: a text or a sound alone is not padded, so all is real."""
    return {port: builder.application(f"application.{port}", ends.inputs[port], port, default=1) for port in names}


__all__ = [
    "CONTROLS", "DECODES", "EOS", "LIMIT", "LONGEST", "POLICY", "Ends", "add_controls", "add_graph",
    "add_limit", "add_policy", "add_rows", "add_text_end", "add_token_cell", "application_inputs", "batch_of", "ids_of",
    "mask_inputs", "text_loop",
]  # fmt: skip
