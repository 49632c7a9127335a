"""Workflows that are valid on paper and break a promise when they run: what breaks, at which step, in which round."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.interpret.documents import (
    STEPS,
    always,
    application,
    binding,
    cell,
    counting,
    emit,
    graph,
    invoke,
    literal,
    loop,
    output,
    ports,
    request,
    workflow,
    write_graph,
)  # fmt: skip
from workbench.interpret import Limits

LOOP, BODY = f"{STEPS}[0]", f"{STEPS}[0].body.nodes"
ROWS = {"prompt_tokens": [[5, 6, 7], [8, 9, 1]]}


@dataclasses.dataclass(frozen=True)
class Violation:
    """``make`` writes what is needed into a folder and gives the document."""

    name: str
    code: str
    step: str
    text: str
    make: Callable[[Path], dict[str, Any]]
    round: tuple[int, ...] = ()
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=lambda: ROWS)
    words: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def one_graph(text: str, declared: str, *, out: str = "y", feeds: str = "int64[batch, s]") -> Any:
    """A workflow of one call of an ONNX graph whose output is declared as ``declared``."""

    def make(folder: Path) -> dict[str, Any]:
        write_graph(folder, "g.onnx", text)
        said = {"ports": ports({"ids": feeds}, {out: declared})} if declared else {}
        made = declared or "int64[batch, s]"
        return workflow(
            [invoke("g", {"ids": "rows"}, {out: "made"}), emit("made", "last")],
            inputs={"rows": request("int64[batch, s]", "prompt_tokens")}, outputs={"last": output(made)},
            components={"g": graph("g.onnx", **said)},
        )  # fmt: skip

    return make


_CAST = "(int64[b, s] ids) => (int32[b, s] y) {{ y = Cast<to=6>(ids) }}".replace("{{", "{").replace("}}", "}")
_WIDE = "(int64[b, s] ids) => (int64[b, s, 1] y) { axes = Constant<value_ints=[2]>() y = Unsqueeze(ids, axes) }"
_SAME = "(int64[b, s] ids) => (int64[b, s] y) { y = Identity(ids) }"
_FIRST = (
    "(int64[b, s] ids) => (int64[o, s] y) { a = Constant<value_ints=[0]>() e = Constant<value_ints=[1]>() "
    "y = Slice(ids, a, e, a) }"
)


def two_sizes(folder: Path) -> dict[str, Any]:
    write_graph(
        folder, "g.onnx", "(int64[b, s] ids, int64[b, t] more) => (int64[b, u] y) { y = Concat<axis=1>(ids, more) }"
    )
    return workflow(
        [invoke("g", {"ids": "rows", "more": "more"}, {"y": "made"}), emit("made", "last")],
        inputs={"rows": request("int64[batch, s]", "prompt_tokens"), "more": application("int64[batch, t]", "more")},
        outputs={"last": output("int64[batch, u]")},
        components={"g": graph("g.onnx", ports=ports(
            {"ids": "int64[batch, n]", "more": "int64[batch, n]"}, {"y": "int64[batch, u]"}
        ))},
    )  # fmt: skip


def _grow(by: int) -> Any:
    return always(lambda x: np.concatenate([x, np.ones((len(x), by), x.dtype)], axis=1))


def growing(**inputs: Any) -> Any:
    rule = {"kind": "growing", "axis": 1, "increment": "by", "max": "longest"}
    found = {"by": literal("int64[]", 1), "longest": literal("int64[]", 4), **inputs}
    return lambda _: counting(
        cell_text="float32[batch, n]", recurrence=rule, made="float32[batch, m]", rounds=9, **found
    )


def no_flag(folder: Path) -> dict[str, Any]:
    """The condition comes from a graph whose ports nobody declared, and is a number."""
    write_graph(folder, "g.onnx", "(bool[] x) => (int64[] y) { y = Cast<to=7>(x) }")
    return workflow(
        [loop([emit("yes", "last")], {}, "flag", setup=[invoke("g", {"x": "yes"}, {"y": "flag"})])],
        inputs={"yes": literal("bool[]", True), "most": literal("int64[1]", 5)},
        outputs={"last": output("bool[]")}, components={"g": graph("g.onnx")},
    )  # fmt: skip


def part(length: int) -> Any:
    def make(folder: Path) -> dict[str, Any]:
        write_graph(folder, "g.onnx", _SAME)
        return workflow(
            [invoke("g", {"ids": "rows"}, {"y": "made"}),
             emit("made", "last", "append", valid_length="length")],
            inputs={"rows": request("int64[batch, s]", "prompt_tokens"), "length": literal("int64[batch]", length)},
            outputs={"last": output("int64[batch, s]")},
            components={"g": graph("g.onnx", ports=ports({"ids": "int64[batch, s]"}, {"y": "int64[batch, s]"}))},
        )  # fmt: skip

    return make


def kinds_of_append(_: Path) -> dict[str, Any]:
    """Two values into one output that do not fit behind each other."""
    return workflow(
        [emit("a", "last", "append"), emit("b", "last", "append")],
        inputs={"a": literal("float32[2, 3]", 1.0), "b": literal("float32[4, 3]", 1.0)},
        outputs={"last": output("float32[n, m]")},
    )  # fmt: skip


def no_case(_: Path) -> dict[str, Any]:
    return workflow(
        [{"kind": "branch", "predicate": "which", "cases": {"0": emit("which", "last"), "1": emit("which", "last")}}],
        inputs={"which": request("int64[]", "width")}, outputs={"last": output("int64[]")},
    )  # fmt: skip


# --- a decoder in the loop of the runtime ---------------------------------------------------------------------------
_CACHED = (
    "(int64[b, s] ids, int64[b, t] mask, float[b, p, 4] past) => (float[b, s, 8] logits, float[b, q, 4] present) {{ "
    "f = Cast<to=1>(ids) a = Constant<value_ints=[2]>() u = Unsqueeze(f, a) e = Constant<value_ints=[1, 1, 8]>() "
    "wide = Expand(u, e) {logits} c = Constant<value_ints=[1, 1, 4]>() new = Expand(u, c) "
    "present = {present} }}"
)


def decoder(*, logits: str = "logits = Sin(wide)", present: str = "Concat<axis=1>(past, new)") -> Any:
    """A decoder as ``describe`` writes it: the token and the mask come from the runtime, the cache is the runtime's."""

    def make(folder: Path) -> dict[str, Any]:
        write_graph(folder, "d.onnx", _CACHED.format(logits=logits, present=present))
        return decoder_document()

    return make


def decoder_document(update: Any = None, cache: str = "float32[batch, p, 4]", **inputs: Any) -> dict[str, Any]:
    alias = {"input": "past", "output": "present", "role": "combined"}
    group = {
        "kind": "full_attention", "sequence_axis": 1, "layout": "bsh", "update": update or {"kind": "append"},
        "ports": {"d": {"kv": alias}},
    }  # fmt: skip
    if update:
        group |= {"logical_lengths": "at", "aliasing": "permitted"}
    controls = {"active": ("bool", "yes"), "done": ("bool", "no"), "taken": ("int64", "zero")}
    state = {name: cell(f"{word}[batch]", start) for name, (word, start) in controls.items()}
    state["kv"] = cell(cache, "empty", management="runtime", release_boundary="invocation", service_group="kv")
    policy = binding({"logits": "float32[batch, s, 8]"}, {
        "token": "int64[batch, s]", "active": "bool[batch]", "done": "bool[batch]", "accepted_len": "int64[batch]",
    }, "onnx-genai.token-policy")  # fmt: skip
    made = {"token": "step.token", "active": "n.active", "done": "n.done", "accepted_len": "n.taken"}
    return workflow(
        [loop([
            invoke("d", {"ids": "rows", "mask": "mask", "past": "kv"}, {"logits": "step.logits", "present": "n.kv"}),
            invoke("policy", {"logits": "step.logits"}, made),
            emit("step.token", "tokens", "append", when="active"),
        ], {"kv": "n.kv", "active": "n.active", "done": "n.done", "taken": "n.taken"}, "active",
            termination="generation_eos")],
        inputs={
            "rows": request("int64[batch, s]", "prompt_tokens"),
            "mask": application("int64[batch, t]", "attention_mask"),
            "most": request("int64[1]", "max_output_tokens", required=False, default=4),
            "yes": literal("bool[batch]", True), "no": literal("bool[batch]", False),
            "zero": literal("int64[batch]", 0), "empty": literal(cache, 0.0), **inputs,
        },
        outputs={"tokens": output("int64[batch, s]", "tokens")},
        components={
            "d": graph("d.onnx", contract={"id": "onnx-genai.autoregressive-decode", "version": "1"},
                       ports={"roles": {"ids": "token_ids", "mask": "attention_mask", "logits": "logits"}}),
            "policy": policy,
        },
        state=state,
        serving={"active": "active", "done": "done", "accepted_len": "taken",
                 "state_service": {"groups": {"kv": group}}},
    )  # fmt: skip


_SCATTERED = (
    "(int64[b, s] ids, int64[b, t] mask, float[b, 5, 4] past, int64[b] at, int64[b] len) => "
    "(float[b, s, 8] logits, float[b, 5, 4] present) { f = Cast<to=1>(ids) a = Constant<value_ints=[2]>() "
    "u = Unsqueeze(f, a) e = Constant<value_ints=[1, 1, 8]>() wide = Expand(u, e) logits = Sin(wide) "
    "present = Identity(past) }"
)


def scattered(folder: Path) -> dict[str, Any]:
    """A buffer of five places: the prompt takes three, two tokens follow, and a third has none."""
    write_graph(folder, "d.onnx", _SCATTERED)
    update = {
        "kind": "indexed_scatter", "write_indices": "at", "capacity": "room", "write_indices_ports": {"d": "at"},
        "kv_length_ports": {"d": "len"},
    }  # fmt: skip
    document = decoder_document(update, "float32[batch, 5, 4]", room=literal("int64[]", 5))
    document["pipeline"]["workflow"]["state"]["at"] = cell("int64[batch]", "zero")
    return document


VIOLATIONS = (
    Violation("dtype", "run.dtype", f"{STEPS}[0]", "g.y is int32[2, 3], and its contract says int64",
              one_graph(_CAST, "int64[batch, s]")),
    Violation("rank", "run.rank", f"{STEPS}[0]", "g.y has 3 axes (int64[2, 3, 1]), and its contract says 2",
              one_graph(_WIDE, "int64[batch, s]")),
    Violation("dimension", "run.dimension", f"{STEPS}[0]", "g.y has 3 entries on axis 1 (int64[2, 3]), and its "
              "contract says 4", one_graph(_SAME, "int64[batch, 4]")),
    Violation("symbol", "run.symbol", f"{STEPS}[0]", "'n' is 2 in g.more and 3 in g.ids, within one call", two_sizes,
              inputs={**ROWS, "more": [[1, 2], [3, 4]]}),
    Violation("missing-output", "run.missing-output", f"{STEPS}[0]", "'g' did not give 'z'; it gave y",
              one_graph(_SAME, "", out="z")),
    Violation("rows", "run.rows", f"{STEPS}[0]", "g.y is int64[1, 3]: 1 entries on its request axis 0, and "
              "this run has 2",
              one_graph(_FIRST, "int64[batch, s]")),
    Violation("invariant", "run.invariant", LOOP, "The cell 'x' is invariant on axis 1, and went from [2, 0] to [2, 1]",
              lambda _: counting(cell_text="float32[batch, n]", made="float32[batch, m]", start=(),
                                 n=application("int64[n]", "n")),
              round=(0,), inputs={**ROWS, "start": np.zeros((2, 0), np.float32), "n": np.zeros(0, np.int64)},
              words={"executors": _grow(1)}),
    Violation("growth", "run.growth", LOOP, "The cell 'x' grows by 1 on axis 1 each round, and went from 0 to 2",
              growing(), round=(0,), words={"executors": _grow(2)}),
    Violation("beyond-max", "run.beyond-max", LOOP, "The cell 'x' has 5 entries on axis 1, and at most 4 are allowed",
              growing(), round=(4,), words={"executors": _grow(1)}),
    Violation("predicate", "run.predicate", LOOP, "'flag' says whether the loop goes on, and is int64[]", no_flag,
              round=(0,), inputs={}),
    Violation("loop-bound", "run.loop-bound", LOOP, "The loop has run 2 rounds, the most that this run allows "
              "(Limits.max_rounds); the document allows 3", lambda _: counting(), round=(2,),
              words={"executors": always(lambda x: x + 1), "limits": Limits(max_rounds=2)}),
    Violation("negative-bound", "run.loop-bound", LOOP, "'most' is the most rounds of the loop, and is -1",
              lambda _: counting(rounds=-1)),
    Violation("valid-length", "run.valid-length", f"{STEPS}[1]", "'length' is 4 for request 0, and 'made' has 3 "
              "entries", part(4)),
    Violation("below-zero", "run.valid-length", f"{STEPS}[1]", "'length' is -1 for request 0", part(-1)),
    Violation("append", "run.emit", f"{STEPS}[1]", "'last' holds float32[2, 3] for a request, and float32[4, 3] cannot",
              kinds_of_append, inputs={}),
    Violation("case", "run.case", f"{STEPS}[0]", "'which' is 7, and the branch has the cases 0, 1 and no default",
              no_case, inputs={"width": 7}),
    Violation("no-logit", "run.non-finite", f"{BODY}[1]", "No logit of request 0 is finite", round=(0,),
              make=decoder(logits="o = Sub(wide, wide) logits = Div(o, o)")),
    Violation("cache-lost", "run.growth", f"{BODY}[0]", "The cache 'kv' took 1 tokens, and went from 3 to 1 on axis 1",
              decoder(present="Identity(new)"), round=(1,)),
    Violation("scatter", "run.scatter", f"{BODY}[0]", "Request 0 writes 1 entries from place 5 on into 'kv', which "
              "has room for 5", scattered, round=(3,)),
    Violation("outside", "run.component", f"{STEPS}[0]", "The file '../g.onnx' lies outside the package",
              lambda folder: _renamed(one_graph(_SAME, "int64[batch, s]")(folder), "../g.onnx")),
    Violation("executor", "run.component", BODY + "[0]", "The binding 'body' (contract test.body@1) cannot be run here",
              lambda _: counting(), round=(0,)),
    Violation("raises", "run.component", BODY + "[0]", "The executor of 'body' raised ZeroDivisionError", round=(0,),
              make=lambda _: counting(), words={"executors": {"test.body": lambda _: 1 / 0}}),
    Violation("input", "run.input", "pipeline.workflow.inputs", "The input 'rows' is required and not given (its role "
              "is prompt_tokens)", lambda _: counting(), inputs={}),
)  # fmt: skip


def _renamed(document: dict[str, Any], artifact: str) -> dict[str, Any]:
    document["pipeline"]["workflow"]["components"]["g"]["implementation"]["artifact"] = artifact
    return document


__all__ = ["BODY", "LOOP", "ROWS", "VIOLATIONS", "Violation", "decoder", "decoder_document", "loop"]
