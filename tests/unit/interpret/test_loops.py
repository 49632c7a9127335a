"""Loops: tested before each round, bounded, with cells that are carried and requests that end before others."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.interpret.documents import (
    STEPS,
    always,
    binding,
    cell,
    counting,
    emit,
    invoke,
    literal,
    loop,
    output,
    workflow,
)
from tests.unit.interpret.violations import ROWS, decoder, decoder_document
from workbench.interpret import Limits, interpret

LOOP = f"{STEPS}[0]"


def rounds_of(run: Any, path: str) -> list[tuple[int, ...]]:
    return [step.iteration for step in run.trace.at(path)]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_loop_has_at_most_so_many_rounds(most: int) -> None:
    run = interpret(counting(rounds=most), ROWS, executors=always(lambda x: x + 1))
    assert run.ok and (run.outputs["last"] == most).all()
    assert rounds_of(run, f"{LOOP}.body.nodes[0]") == [(n,) for n in range(most)]


def test_a_loop_that_ends_at_its_bound_says_so_and_one_that_ends_itself_does_not() -> None:
    run = interpret(counting(rounds=3), ROWS, executors=always(lambda x: x + 1))
    (found,) = run.diagnostics
    assert (found.severity, found.code, found.step, found.iteration) == ("warning", "run.loop-bound", LOOP, (3,))
    ends = {"test.body": lambda feeds: {"y": feeds["x"] + 1, "more": np.array(feeds["x"].max() < 1)}}
    assert interpret(counting(rounds=3), ROWS, executors=ends).diagnostics == ()


def test_the_condition_is_tested_before_the_first_round() -> None:
    document = counting(start=7.0, yes=literal("bool[]", False))
    run = interpret(document, ROWS, executors=always(lambda x: x + 1))
    assert run.ok and (run.outputs["last"] == 7).all()
    assert rounds_of(run, f"{LOOP}.body.nodes[0]") == []


def test_setup_runs_once_and_the_round_is_a_value() -> None:
    seen: list[tuple[float, int]] = []

    def body(feeds: Any) -> Any:
        seen.append((float(feeds["x"][0]), int(feeds["n"])))
        return {"y": feeds["x"] + 10}

    document = workflow(
        [
            loop(
                [invoke("body", {"x": "x", "n": "round"}, {"y": "next.x"})], {}, "yes",
                setup=[invoke("first", {"x": "start"}, {"y": "made"})],
                iteration={"value": "round", "contract": {"dtype": "int64", "rank": 0, "shape": []}},
            ),
            emit("x", "last"),
        ],
        inputs={"start": literal("float32[1]", 5.0), "yes": literal("bool[]", True), "most": literal("int64[1]", 3)},
        outputs={"last": output("float32[1]")},
        components={
            "first": binding({"x": "float32[1]"}, {"y": "float32[1]"}, "test.first"),
            "body": binding({"x": "float32[1]", "n": "int64[]"}, {"y": "float32[1]"}, "test.body"),
        },
        state={"x": cell("float32[1]", "start")},
    )  # fmt: skip
    document["pipeline"]["workflow"]["steps"][0]["carried"] = [{"cell": "x", "initial": "made", "next": "next.x"}]
    run = interpret(document, executors={"test.first": lambda feeds: {"y": feeds["x"] * 2}, "test.body": body})
    assert seen == [(10.0, 0), (20.0, 1), (30.0, 2)]
    assert run.outputs["last"].tolist() == [40.0]
    assert rounds_of(run, f"{LOOP}.setup.nodes[0]") == [()]


def test_requests_that_have_ended_keep_what_they_carry() -> None:
    """Row r goes on for r + 1 rounds; the function adds to every row all the same."""

    def body(feeds: Any) -> Any:
        return {"y": feeds["x"] + 1, "more": feeds["x"][:, 0] < np.arange(len(feeds["x"]))}

    document = counting(rounds=9)
    flow = document["pipeline"]["workflow"]
    flow["inputs"]["yes"] = literal("bool[batch]", True)
    flow["state"]["go"] = cell("bool[batch]", "yes")
    flow["components"]["body"] = binding(
        {"x": "float32[batch, 2]"}, {"y": "float32[batch, 2]", "more": "bool[batch]"}, "test.body"
    )
    run = interpret(document, {"prompt_tokens": [[1], [1], [1]]}, executors={"test.body": body})
    assert run.outputs["last"].tolist() == [[1, 1], [2, 2], [3, 3]]


def test_loops_inside_loops_have_a_round_for_each() -> None:
    inner = loop(
        [invoke("body", {"x": "x"}, {"y": "next.x"}), emit("next.x", "all", "event")], {"x": "next.x"}, "yes", "two"
    )
    document = workflow(
        [loop([inner, emit("x", "last")], {}, "yes", "three")],
        inputs={
            "start": literal("float32[1]", 0.0), "yes": literal("bool[]", True), "two": literal("int64[1]", 2),
            "three": literal("int64[1]", 3),
        },
        outputs={"last": output("float32[1]"), "all": output("float32[1]")},
        components={"body": binding({"x": "float32[1]"}, {"y": "float32[1]"}, "test.body")},
        state={"x": cell("float32[1]", "start")},
    )  # fmt: skip
    run = interpret(document, executors={"test.body": lambda feeds: {"y": feeds["x"] + 1}})
    path = f"{LOOP}.body.nodes[0].body.nodes[0]"
    assert rounds_of(run, path) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert [float(x[0]) for x in run.outputs["all"]] == [1, 2, 1, 2, 1, 2]  # the inner cell starts anew each time
    assert run.outputs["last"].tolist() == [2.0]


# --- ends of a text -------------------------------------------------------------------------------------------------
def test_a_text_ends_at_its_end_or_not_at_all(tmp_path: Path) -> None:
    """The decoder's logits are sin(token) for all tokens alike, so token 0 is the greedy one in every round."""
    document = decoder()(tmp_path)
    whole = interpret(document, ROWS, package_root=tmp_path, max_new_tokens=5, eos_token_ids=())
    assert whole.tokens == ((0,) * 5,) * 2
    ended = interpret(document, ROWS, package_root=tmp_path, max_new_tokens=5, eos_token_ids=[0])
    assert ended.tokens == ((0,), (0,)) and ended.ok  # the end itself is emitted: the request was active
    assert rounds_of(ended, f"{LOOP}.body.nodes[0]") == [(0,)]


def test_the_ends_of_the_tokenizer_facts_count(tmp_path: Path) -> None:
    document = decoder()(tmp_path)
    document["package"] = {"tokenizer": {
        "algorithm": "bpe", "vocab_size": 8, "artifacts": [{"location": "tokenizer.json"}],
        "special_tokens": {"eos": {"id": 5, "content": "a"}, "eos_2": {"id": 0, "content": "b"}},
    }}  # fmt: skip
    assert interpret(document, ROWS, package_root=tmp_path).tokens == ((0,), (0,))


# --- limits of the run ----------------------------------------------------------------------------------------------
def test_a_run_stops_when_its_time_is_over() -> None:
    def slow(feeds: Any) -> Any:
        time.sleep(0.05)
        return {"y": feeds["x"], "more": np.array(True)}

    run = interpret(counting(rounds=10_000), ROWS, executors={"test.body": slow}, limits=Limits(seconds=0.2))
    assert run.status == "stopped"
    assert run.diagnostics[-1].code == "run.limit" and "0.2 s have passed" in run.diagnostics[-1].message
    assert 1 <= len(rounds_of(run, f"{LOOP}.body.nodes[0]")) <= 6


def test_a_run_stops_at_so_many_records() -> None:
    run = interpret(counting(rounds=100), ROWS, executors=always(lambda x: x), limits=Limits(max_steps=10))
    assert run.status == "stopped" and len(run.trace) == 11
    assert "there are 10 records" in run.diagnostics[-1].message


def test_values_that_have_no_room_are_summarised() -> None:
    run = interpret(counting(), ROWS, executors=always(lambda x: x + 2), limits=Limits(value_bytes=8))
    value = run.trace.value("next.x")[1]
    assert not value.kept and value.shape == (2, 2)
    assert (value.low, value.high, value.mean, value.non_finite) == (4.0, 4.0, 4.0, 0)
    assert (run.outputs["last"] == 6).all()
    full = interpret(counting(), ROWS, executors=always(lambda x: x + 2), limits=Limits(kept_bytes=40))
    seen = [one.value for step in full.trace for one in (*step.reads, *step.writes)]
    kept = {id(value): value.nbytes for value in seen if value.kept}
    assert 0 < sum(kept.values()) <= 40 < sum({id(value): value.nbytes for value in seen}.values())


def test_ctrl_c_leaves_what_has_run() -> None:
    calls: list[int] = []

    def body(feeds: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return {"y": feeds["x"] + 1, "more": np.array(True)}

    run = interpret(counting(rounds=9), ROWS, executors={"test.body": body})
    assert run.status == "interrupted" and not run.ok
    assert run.diagnostics[-1].code == "run.interrupted"
    assert (run.trace[-1].path, run.trace[-1].iteration) == (f"{LOOP}.body.nodes[0]", (2,))
    assert [value.array.max() for value in run.trace.value("next.x")] == [1.0, 2.0]


# --- caches of the runtime ------------------------------------------------------------------------------------------
def test_a_cache_that_gets_new_entries_only_is_put_together_by_the_runtime(tmp_path: Path) -> None:
    """The output has the symbol of the tokens on the cache's axis: the graph gives new entries, the runtime appends."""
    document = decoder(present="Identity(new)")(tmp_path)
    whole = interpret(decoder()(tmp_path), ROWS, package_root=tmp_path)
    decoder(present="Identity(new)")(tmp_path)
    document["pipeline"]["workflow"]["components"]["d"]["ports"] |= {
        side: {name: binding({"p": text}, {})["ports"]["inputs"]["p"] for name, text in words.items()}
        for side, words in {
            "inputs": {"ids": "int64[batch, s]", "mask": "int64[batch, t]", "past": "float32[batch, p, 4]"},
            "outputs": {"logits": "float32[batch, s, 8]", "present": "float32[batch, s, 4]"},
        }.items()
    }
    run = interpret(document, ROWS, package_root=tmp_path)
    assert run.ok, run
    assert [v.shape for v in run.trace.value("kv")] == [(2, n, 4) for n in (0, 3, 4, 5, 6, 6)]
    np.testing.assert_array_equal(run.trace.value("kv")[-1].array, whole.trace.value("kv")[-1].array)


def test_new_entries_are_written_at_their_places(tmp_path: Path) -> None:
    from tests.unit.interpret.documents import write_graph

    write_graph(tmp_path, "d.onnx", (
        "(int64[b, s] ids, int64[b, t] mask, float[b, 8, 4] past, int64[b] at, int64[b] len) => "
        "(float[b, s, 8] logits, float[b, s, 4] present) { f = Cast<to=1>(ids) a = Constant<value_ints=[2]>() "
        "u = Unsqueeze(f, a) e = Constant<value_ints=[1, 1, 8]>() logits = Expand(u, e) "
        "c = Constant<value_ints=[1, 1, 4]>() new = Expand(u, c) present = Identity(new) }"
    ))  # fmt: skip
    update = {
        "kind": "indexed_scatter", "write_indices": "at", "capacity": "room", "write_indices_ports": {"d": "at"},
        "kv_length_ports": {"d": "len"},
    }  # fmt: skip
    document = decoder_document(update, "float32[batch, 8, 4]", room=literal("int64[]", 8))
    document["pipeline"]["workflow"]["state"]["at"] = cell("int64[batch]", "zero")
    run = interpret(document, ROWS, package_root=tmp_path, max_new_tokens=3)
    assert run.ok, run
    calls = run.trace.at(f"{LOOP}.body.nodes[0]")
    fed = [{one.port: one.value.array.tolist() for one in step.reads} for step in calls]
    assert [(one["at"], one["len"]) for one in fed] == [([0, 0], [3, 3]), ([3, 3], [4, 4]), ([4, 4], [5, 5])]
    last = run.trace.value("kv")[-1].array
    assert last[:, :, 0].tolist() == [[5, 6, 7, 0, 0, 0, 0, 0], [8, 9, 1, 0, 0, 0, 0, 0]]  # tokens 0 after the prompt


def test_mask_and_tokens_come_from_the_runtime(tmp_path: Path) -> None:
    given = {"rows": [[5, 6, 7], [8, 9, 0]], "attention_mask": [[1, 1, 1], [1, 1, 0]]}
    run = interpret(decoder()(tmp_path), given, package_root=tmp_path, max_new_tokens=2)
    calls = run.trace.at(f"{LOOP}.body.nodes[0]")
    fed = [{one.port: one for one in step.reads} for step in calls]
    assert [one["mask"].value.array.tolist() for one in fed] == [
        [[1, 1, 1], [1, 1, 0]], [[1, 1, 1, 1], [1, 1, 0, 1]]
    ]  # fmt: skip
    assert fed[0]["mask"].note == "supplied by the runtime: over all tokens so far"
    assert fed[1]["ids"].note == "the tokens of the round before"
    assert fed[1]["ids"].value.array.tolist() == [[int(row[0])] for row in run.outputs["tokens"]]


def test_a_loop_inside_a_decode_loop_ends_nobody(tmp_path: Path) -> None:
    document = decoder()(tmp_path)
    flow = document["pipeline"]["workflow"]
    flow["inputs"] |= {"never": literal("bool[]", False), "zero_d": literal("int64[]", 0)}
    flow["outputs"]["inner"] = output("int64[]")
    flow["steps"][0]["steps"].insert(1, loop([emit("zero_d", "inner")], {}, "never"))
    run = interpret(document, ROWS, package_root=tmp_path, max_new_tokens=3)
    assert run.ok and run.tokens == ((0, 0, 0), (0, 0, 0))


def test_two_texts_one_after_the_other_begin_anew(tmp_path: Path) -> None:
    """The second loop has an empty cache again: mask, tokens and who is live start from the beginning."""
    document = decoder()(tmp_path)
    flow = document["pipeline"]["workflow"]
    second = copy.deepcopy(flow["steps"][0])
    for step in second["steps"]:
        step["outputs"] = {port: f"second.{name}" for port, name in step.get("outputs", {}).items()}
    second["steps"][1]["inputs"] = {"logits": "second.step.logits"}
    second["steps"][2] = emit("second.step.token", "tokens", "append", when="active")
    second["carried"] = [{"cell": one["cell"], "next": f"second.{one['next']}"} for one in second["carried"]]
    cases = {str(case).lower(): {"kind": "sequence", "steps": [step]} for case, step in ((True, flow["steps"][0]),)}
    flow["inputs"]["first"] = literal("bool[]", True)
    flow["steps"] = [{"kind": "branch", "predicate": "first", "cases": cases}, second]
    run = interpret(document, ROWS, package_root=tmp_path, eos_token_ids=[0])
    assert run.ok, run
    assert run.tokens == ((0, 0), (0, 0))
    calls = [step for step in run.trace if step.component == "d"]
    assert [one.value.shape for step in calls for one in step.reads if one.port == "mask"] == [(2, 3), (2, 3)]


def test_rows_padded_on_the_right_choose_from_their_last_token(tmp_path: Path) -> None:
    from tests.unit.interpret.documents import write_graph

    # logits [b, s, 8]: the token itself is the likeliest
    write_graph(tmp_path, "d.onnx", (
        "(int64[b, s] ids, int64[b, t] mask, float[b, p, 4] past) => (float[b, s, 8] logits, float[b, q, 4] present) { "
        "d = Constant<value_int=8>() v = Constant<value_floats=[0.0, 1.0]>() logits = OneHot(ids, d, v) "
        "f = Cast<to=1>(ids) a = Constant<value_ints=[2]>() u = Unsqueeze(f, a) c = Constant<value_ints=[1, 1, 4]>() "
        "new = Expand(u, c) present = Concat<axis=1>(past, new) }"
    ))  # fmt: skip
    given = {"rows": [[5, 6, 7], [3, 4, 0]], "attention_mask": [[1, 1, 1], [1, 1, 0]]}
    run = interpret(decoder_document(), given, package_root=tmp_path, max_new_tokens=3)
    assert run.tokens == ((7, 7, 7), (4, 4, 4))
