"""The scope walk: who makes a value, who reads it, where it can be seen; and what was decided about it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.metadata.edits import add, all_of, put
from tests.unit.metadata.faults_m import literal
from tests.unit.metadata.faults_n_loops import growing
from tests.unit.metadata.fixtures import base, fixtures
from workbench.metadata import RULES, load, validate
from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.scope import TOP, Scope, scope_of

ALIGNED, SHARED = {"kind": "request_aligned", "axis": 0}, {"kind": "shared"}
LOOP = (*TOP, 0)
AGAIN = {"kind": "invoke", "component": "policy", "inputs": {"scores": "big"},
         "outputs": {"tok": "t.tok", "go": "t.go", "end": "t.end", "n": "t.n"}}  # fmt: skip
BIG = literal("big", "float32", ["batch", "seq", 258], 0.0, ALIGNED)


def edited(name: str, *edits: Any) -> Any:
    document = base(name)
    all_of(*edits)(document)
    return document


def scope(name: str, *edits: Any) -> Scope:
    return Context(load(edited(name, *edits) if edits else base(name))).scope


# --- who makes a value ----------------------------------------------------------------------------------
def test_an_input_is_seen_everywhere_and_is_its_own_step() -> None:
    (prompt,) = scope("dec").by_name["prompt"]
    assert (prompt.producer, prompt.where, prompt.tick) == ("input", "top", -1)
    assert prompt.path == prompt.step == (*WORKFLOW, "inputs", "prompt")
    assert prompt.contract is not None and prompt.contract.dtype == "int64"


def test_a_value_comes_out_of_a_port() -> None:
    (scores,) = scope("dec").by_name["s.scores"]
    assert (scores.producer, scores.component, scores.port) == ("invoke", "lm", "scores")
    assert scores.path == (*LOOP, "steps", 0, "outputs", "scores") and scores.step == (*LOOP, "steps", 0)
    assert scores.scope == scores.seen_in == (*LOOP, "steps") and scores.where == "body"
    assert scores.contract is not None and scores.contract.shape == ("batch", "seq", 258)


def test_a_carried_cell_is_one_value_in_the_loop_and_another_after_it() -> None:
    inside, after = scope("dec").by_name["active"]
    assert (inside.producer, inside.where, inside.sources) == ("carry", "body", ("yes", "n.active"))
    assert (after.producer, after.where, after.sources) == ("loop", "top", ("n.active",))
    assert [use.how for use in inside.uses] == ["condition", "when"]
    assert [use.how for use in after.uses] == ["serving"]


def test_a_carried_cell_starts_from_initial_where_there_is_one() -> None:
    assert scope("dec", put("steps[0].carried[2].initial", "no")).by_name["active"][0].sources[0] == "no"


def test_the_number_of_a_round_and_a_presence_are_values() -> None:
    (number,) = scope("image").by_name["t"]
    assert (number.producer, number.where) == ("iteration", "body")
    (presence,) = scope("branch").by_name["has_picture"]
    assert (presence.producer, presence.sources) == ("presence", ("picture",))
    assert presence.contract is not None and (presence.contract.dtype, presence.contract.rank) == ("bool", 0)
    assert presence.first is not None and presence.first.how == "predicate"


def test_a_branch_joins_values_of_its_cases() -> None:
    found = scope("branch")
    (joined,) = found.by_name["feat"]
    (case,) = found.by_name["a.feat"]
    (default,) = found.by_name["b.feat"]
    assert (joined.producer, joined.sources, joined.where) == ("branch", ("a.feat", "b.feat"), "top")
    assert case.scope == (*TOP, 0, "cases", "true") and default.scope == (*TOP, 0, "default")
    assert case.where == default.where == "case"
    assert case.contract == joined.contract


def test_what_a_setup_defines_is_seen_around_its_loop() -> None:
    (made,) = scope("dec", BIG, put("steps[0].setup", [AGAIN])).by_name["t.tok"]
    assert (made.where, made.scope, made.seen_in) == ("setup", (*LOOP, "setup"), TOP)


def test_a_sequence_is_no_scope_and_cases_may_be_called_like_lists() -> None:
    (made,) = scope("dec", BIG, add("steps", {"kind": "sequence", "steps": [AGAIN]})).by_name["t.n"]
    assert made.scope == TOP and made.step == (*TOP, 1, "steps", 0)
    branch = {"kind": "branch", "predicate": "p", "cases": {"setup": AGAIN, "steps": AGAIN}}
    found = scope("dec", BIG, literal("p", "bool", [], True), add("steps", branch))
    assert [value.where for value in found.by_name["t.n"]] == ["case", "case"]


def test_a_port_that_the_graph_alone_knows_gives_no_contract() -> None:
    (scores,) = scope("dec", put("comp.lm.ports", {"roles": {"ids": "token_ids"}})).by_name["s.scores"]
    assert scores.contract is None


# --- who reads it ---------------------------------------------------------------------------------------
def test_readers_stand_in_the_order_of_the_walk() -> None:
    (start,) = scope("dec").by_name["kv0"]
    assert [use.path for use in start.uses] == [(*WORKFLOW, "state", cell, "initializer") for cell in ("k0", "v0")]
    assert start.consumers == (LOOP,)
    (token,) = scope("dec").by_name["s.tok"]
    assert token.first == token.last and token.last is not None
    assert token.last.path == (*LOOP, "steps", 2, "value") and token.tick < token.last.tick


def test_what_is_carried_on_is_read_after_the_last_step() -> None:
    (after,) = scope("dec").by_name["n.k0"]
    assert after.last is not None and (after.last.how, after.last.step) == ("next", LOOP)
    assert after.last.tick == len(Context(load(base("dec"))).steps) - 1


def test_ticks_count_the_steps_of_the_context() -> None:
    context = Context(load(base("image")))
    for value in context.scope.values:
        if value.producer == "invoke":
            assert context.steps[value.tick].path == value.step


def test_unknown_reads_are_kept() -> None:
    found = scope("dec", put("steps[0].steps[0].inputs.mask", "nope"))
    ((name, use),) = found.unknown
    assert name == "nope" and use.path == (*LOOP, "steps", 0, "inputs", "mask")


@pytest.mark.parametrize("name", ["dec", "branch", "static", "spec", "fold", "lora", "asr", "image"])
def test_every_value_of_a_scope_has_one_definition(name: str) -> None:
    found = scope(name)
    seen = [(value.name, value.seen_in) for value in found.values]
    assert len(seen) == len(set(seen)) and not found.unknown
    assert found.top == {value.name: value for value in found.values if value.seen_in == TOP}


def test_the_same_document_gives_the_same_scope() -> None:
    workflow = Context(load(base("dec"))).workflow
    assert workflow is not None and scope_of(workflow) == scope_of(workflow)
    assert repr(scope_of(workflow)) == "Scope(24 values, 0 unknown reads)"
    assert repr(scope_of(workflow).by_name["s.tok"][0]) == "Value('s.tok' from policy.tok, body, 1 uses)"


def test_documents_ask_the_walk_for_findings_of_every_kind_of_step() -> None:
    numbers = {d.rule for f in fixtures() if f.kind == "invalid" for d in validate(f.path)}
    assert {199, 204, 216, 227} <= numbers  # the walk has been asked


# --- hints ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("s.tok", "a scope that does not reach here"),
        ("accepted", "later, or in a scope"),
        ("promt", "Is 'prompt' meant?"),
        ("zzzzzzzz", "Define it before"),
    ],
)
def test_an_unknown_name_gets_a_hint(name: str, said: str) -> None:
    found = validate(edited("dec", put("steps[0].max_iterations", name)))
    assert found.codes == ("N199",) and said in found[0].hint


def test_a_cell_that_no_loop_carries_is_no_value() -> None:
    cell = base("dec")["pipeline"]["workflow"]["state"]["done"]
    found = validate(edited("dec", put("state.idle", cell), put("serving.done", "idle")))
    assert found.codes == ("M192",) and "a loop that carries it" in found[0].hint


def test_rule_98_speaks_before_197() -> None:
    document = edited("dec", put("steps[0].steps[1].component", "sampler"))
    assert validate(document).codes == ("G98",)
    assert Context(load(document)).scope.findings(197) and RULES[197].lowered


# --- what was decided -----------------------------------------------------------------------------------
def test_an_invocation_does_not_compare_batch_layouts() -> None:
    assert not validate(edited("dec", put("comp.policy.ports.inputs.scores.batch_layout", SHARED)))


def test_batching_looks_at_values_of_the_top_level_alone() -> None:
    layout = {"kind": "request_expanded", "axis": 0, "factor": 1}
    assert not validate(edited("dec", put("comp.policy.ports.outputs.tok.batch_layout", layout)))
    assert validate(edited("image", put("comp.vae.ports.outputs.img.batch_layout", layout))).codes == ("O235",)


def test_a_prefix_is_one_of_the_last_axis_whatever_axis_the_emit_names() -> None:
    edits = [put("comp.verify.ports.outputs.tok.shape", [4, 5]), put("out.tokens.contract.shape", [4, 6])]
    for axis in (None, 0, 1):
        assert not validate(edited("spec", *edits, put("steps[0].steps[3].axis", axis)))


def test_an_increment_is_one_number_for_all_requests() -> None:
    assert not validate(edited("dec", growing()))
    assert validate(edited("dec", growing(increment="zero"))).codes == ("N211",)


def test_a_setup_runs_around_its_loop() -> None:
    setup = put("steps[0].setup", [AGAIN])
    assert not validate(edited("dec", BIG, setup, put("steps[0].carried[2].initial", "t.go")))
    assert not validate(edited("dec", BIG, setup, put("serving.done", "t.end")))
    assert validate(edited("dec", BIG, setup, add("steps", AGAIN))).codes == ("N204",)


def test_no_entry_per_request_is_known_of_a_value_without_contract() -> None:
    edits = [put("comp.policy.implementation", {"kind": "onnx", "artifact": "p.onnx"}), put("comp.policy.ports", {})]
    assert validate(edited("dec", *edits)).codes == ("N227",)


def test_names_of_shared_state_are_not_looked_up() -> None:
    assert not validate(edited("spec", put("speculative.shared_state", ["nothing"])))
