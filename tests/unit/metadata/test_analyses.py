"""What the analyses say of our own documents, and their faces."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.metadata.edits import at, copied, drop, put
from tests.unit.metadata.fixtures import Fixture, base, fixtures, needs_shared, of_kind
from workbench import errors
from workbench.metadata import (
    cache_dependencies,
    convert,
    decoder_io,
    derived_capabilities,
    diff,
    opened,
    predicted_islands,
    state_lifetimes,
    value_table,
)

ANALYSES: list[Callable[..., Any]] = [
    value_table, state_lifetimes, derived_capabilities, decoder_io, cache_dependencies, predicted_islands,
]  # fmt: skip


# --- faces ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_every_result_has_its_faces(fixture: Fixture, analysis: Callable[..., Any]) -> None:
    found = analysis(fixture.path)
    if found is None:
        assert analysis is decoder_io
        return
    assert repr(found) == repr(analysis(fixture.path)) and "\n" not in repr(found) and len(repr(found)) < 200
    assert found._repr_html_().startswith("<table>") and found._repr_html_().count("<tr>") == len(found.rows()) + 1
    assert list(found.to_frame().columns) == list(found.COLUMNS) and len(found.to_frame()) == len(found.rows())
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(found, dataclasses.fields(found)[0].name, ())


@pytest.mark.parametrize("analysis", ANALYSES)
def test_names_of_a_document_are_escaped(analysis: Callable[..., Any]) -> None:
    data = _renamed(base("dec"), {"k0": "<k0>", "lm": "<lm>", "n.k0": "<n>"})
    found = analysis(data)._repr_html_()
    assert "<k0>" not in found and "<lm>" not in found and "<n>" not in found


def _renamed(data: Any, names: dict[str, str]) -> Any:
    if isinstance(data, dict):
        return {names.get(key, key): _renamed(value, names) for key, value in data.items()}
    if isinstance(data, list):
        return [_renamed(item, names) for item in data]
    return names.get(data, data) if isinstance(data, str) else data


@pytest.mark.parametrize("analysis", ANALYSES)
def test_both_dialects_give_the_same(analysis: Callable[..., Any]) -> None:
    data = base("static")
    assert analysis(convert(data, "v1").data, dialect="v1") == analysis(data) == analysis(opened(data))


@pytest.mark.parametrize("analysis", ANALYSES)
def test_what_does_not_parse_is_one_error(analysis: Callable[..., Any]) -> None:
    with pytest.raises(errors.ModelFileError, match=r"pipeline.workflow.steps.*validate"):
        analysis({"pipeline": {"workflow": {"manifest": {}, "components": {}}}})
    with pytest.raises(errors.ModelFileError, match="cannot be read.*twice"):
        analysis('{"a": 1, "a": 2}')
    with pytest.raises(errors.UnknownNameError, match="Unknown dialect 'pr82'"):
        analysis({}, dialect="pr82")


@pytest.mark.parametrize("analysis", [value_table, state_lifetimes, predicted_islands])
def test_a_document_without_a_workflow_is_told(analysis: Callable[..., Any]) -> None:
    with pytest.raises(errors.ModelFileError, match="no pipeline.workflow"):
        analysis({"model": {}})


@pytest.mark.parametrize("fixture", of_kind("invalid"))
def test_a_broken_document_is_analysed_as_far_as_it_goes(fixture: Fixture) -> None:
    for analysis in ANALYSES:
        try:
            analysis(fixture.path)
        except errors.ModelFileError:
            assert fixture.stage != "semantic" or opened(fixture.path).workflow is None


# --- values ---------------------------------------------------------------------------------------------
def test_values_have_maker_readers_and_scope() -> None:
    table = value_table(base("dec"))
    (scores,) = table.of("s.scores")
    assert (scores.maker, scores.users, scores.value.where) == ("lm.scores", ("policy.scores",), "body")
    assert scores.contract == "float32[batch, seq, 258] request_aligned"
    inside, after = table.of("active")
    assert inside.users == ("condition of loop", "emit tokens (when)") and inside.maker == "carry (yes, n.active)"
    assert after.users == ("serving.active",) and after.value.where == "top"
    (kv0,) = table.of("kv0")
    assert kv0.users == ("start of k0", "start of v0")
    assert table.of("n.k0")[0].users == ("next of k0",)
    assert table.unknown == () and "done" in table.unused
    row = next(row for row in table.rows() if row["name"] == "s.scores")
    assert row["first_use"] == row["last_use"] == "steps[0].steps[1].inputs.scores"
    assert row["path"] == "pipeline.workflow.steps[0].steps[0].outputs.scores"


def test_unknown_reads_are_listed() -> None:
    data = base("dec")
    put("steps[0].steps[1].inputs.scores", "nowhere")(data)
    ((name, use),) = value_table(data).unknown
    assert (name, use.path[-1]) == ("nowhere", "scores")


def test_branches_and_presences_are_values() -> None:
    table = value_table(base("branch"))
    assert table.of("has_picture")[0].maker == "presence of picture"
    assert table.of("feat")[0].maker == "branch (a.feat, b.feat)"


# --- state ----------------------------------------------------------------------------------------------
def test_a_cells_life() -> None:
    lives = {one.cell: one for one in state_lifetimes(base("dec")).entries}
    k0, active = lives["k0"], lives["active"]
    (carriage,) = k0.carried
    assert (carriage.start, carriage.next, carriage.maker) == ("kv0", "n.k0", "lm.nk")
    assert (k0.group, k0.kind, k0.update, k0.aliasing) == ("kv", "full_attention", "append", "permitted")
    assert [str(alias) for alias in k0.aliases] == ["lm.pk->nk key layer 0"] and k0.ends == "with the invocation"
    assert active.group is None and active.carried[0].readers == ("pipeline.workflow.serving.active",)


def test_layers_pair_keys_and_values() -> None:
    assert state_lifetimes(base("dec")).layers("kv", "lm") == {0: {"key": "k0", "value": "v0"}}
    assert state_lifetimes(base("dec")).layers("kv", "policy") == {}


def test_a_scattered_cache_says_where_it_writes() -> None:
    entry = next(one for one in state_lifetimes(base("static")).entries if one.group)
    assert (entry.cell, entry.update, entry.aliasing) == ("kc", "indexed_scatter at cursor of cap", "required")


def test_a_cell_ends_at_its_boundary() -> None:
    data = base("dec")
    put("state.k0.release_boundary", "row")(data)
    put("state.done.scope", "session")(data)
    ends = {one.cell: one.ends for one in state_lifetimes(data).entries}
    assert (ends["k0"], ends["v0"], ends["done"]) == ("with the row", "with the invocation", "with the session")


def test_a_cell_that_no_loop_carries() -> None:
    data = base("dec")
    drop("steps[0].carried[0]")(data)
    lives = state_lifetimes(data)
    assert "1 never carried" in repr(lives)


# --- capabilities, decoder, cache -----------------------------------------------------------------------
def test_capabilities_have_their_reason() -> None:
    data = base("dec")
    data["required_capabilities"] = ["kv_cache", "mine"]
    data["pipeline"]["workflow"]["manifest"]["capabilities"].remove("typed_emit")
    found = {one.word: one for one in derived_capabilities(data).entries}
    assert found["typed_emit"].where == "pipeline.workflow.steps[0].steps[2]"
    assert derived_capabilities(data).unlisted == ("typed_emit",)
    assert found["kv_cache"].built_in and found["kv_cache"].required and not found["kv_cache"].used
    assert not found["mine"].built_in and found["mine"].where == "required_capabilities[1]"


def test_two_decoders_are_none() -> None:
    data = base("dec")
    copied("comp.lm", "comp.other")(data)
    assert decoder_io(data) is None
    assert decoder_io({"model": {}}) is None


def test_of_two_ports_of_a_role_the_declared_one_is_taken() -> None:
    data = base("dec")
    put("comp.lm.ports.roles.more", "attention_mask")(data)
    found = decoder_io(data)
    assert found is not None and found.attention_mask_input == "mask"
    drop("comp.lm.ports.inputs.mask")(data)
    found = decoder_io(data)
    assert found is not None and found.attention_mask_input is None


def test_layers_order_the_caches_not_their_names() -> None:
    data = base("dec")
    groups = at(data, "groups.kv.ports.lm")
    groups["a9"] = {"input": "late", "output": "late.out", "role": "key", "layer": 5}
    groups["z1"] = {"input": "borrowed", "output": "same", "role": "value", "layer": 5, "access": "read_only"}
    found = decoder_io(data)
    assert (
        found is not None and found.kv_inputs == ("pk", "pv", "late") and found.kv_outputs == ("nk", "nv", "late.out")
    )


@pytest.mark.parametrize(
    ("words", "strictest"),
    [
        (("permitted", "required"), "required"),
        (("required", "forbidden"), "forbidden"),
        (("permitted",) * 2, "permitted"),
    ],
)
def test_the_strictest_aliasing_holds(words: tuple[str, str], strictest: str) -> None:
    data = base("dec")
    copied("groups.kv", "groups.more")(data)
    put("groups.kv.aliasing", words[0])(data)
    put("groups.more.aliasing", words[1])(data)
    found = decoder_io(data)
    assert found is not None and found.aliasing == strictest


def test_a_cache_fact_says_why_it_is_there() -> None:
    found = cache_dependencies(base("image"))
    because = {entry.text: entry.because for entry in found.entries}
    assert because["component:vae=onnx:vae.onnx"].startswith("emit into picture <- value out.img <- component vae")
    assert because["input:img.px"].endswith("supplied from outside img.px")
    assert found.why("nothing") == ()


def test_what_nothing_depends_on_is_no_cache_fact() -> None:
    data = base("dec")
    idle = {"implementation": {"kind": "binding"}, "cache_affects_state": ["x"]}
    put("comp.idle", idle)(data)
    assert "component:idle=binding" not in cache_dependencies(data).facts
    data["pipeline"]["workflow"]["steps"].insert(0, {"kind": "invoke", "component": "idle", "outputs": {"o": "late"}})
    assert "external_state:x" not in cache_dependencies(data).facts
    put("state.active.initializer", "late")(data)
    assert {"component:idle=binding", "external_state:x"} <= set(cache_dependencies(data).facts)


def test_only_what_affects_generation_is_a_fact_of_a_profile() -> None:
    data = base("dec")
    put("profiles.chat.generation_affecting", False)(data)
    assert [one.kind for one in cache_dependencies(data).entries] == ["component", "component"]


# --- islands --------------------------------------------------------------------------------------------
def _chain(edit: Callable[[Any], None] = lambda data: None) -> Any:
    """Three graphs after each other."""
    port = {"dtype": "float32", "rank": 1, "shape": ["batch"]}
    given = {"contract": port, "role": {"kind": "opaque"}, "source": {"kind": "application", "name": "in"}}
    graph = {
        "implementation": {"kind": "onnx", "artifact": "g.onnx"},
        "ports": {"inputs": {"x": port}, "outputs": {"y": port}},
    }
    steps = [
        {"kind": "invoke", "component": name, "inputs": {"x": before}, "outputs": {"y": after}}
        for name, before, after in (("a", "in", "v1"), ("b", "v1", "v2"), ("c", "v2", "v3"))
    ]
    workflow = {
        "manifest": {"capabilities": ["workflow_ssa"]},
        "inputs": {"in": given},
        "components": {name: copy.deepcopy(graph) for name in "abc"}, "steps": steps,
    }  # fmt: skip
    data = {"pipeline": {"workflow": workflow}}
    edit(data)
    return data


def test_neighbouring_graphs_are_an_island() -> None:
    (run,) = predicted_islands(_chain()).islands
    assert (run.components, run.first, run.ended_by) == (("a", "b", "c"), 0, "the end of the list")
    assert predicted_islands(_chain()).is_prediction and "prediction" in repr(predicted_islands(_chain()))


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (put("comp.c.implementation", {"kind": "binding"}), "it is no graph (binding)"),
        (put("comp.c.effects", ["e"]), "it has effects (e)"),
        (put("comp.c.contract", {"id": "onnx-genai.token-sampler", "version": "1"}), "is not the per-row one"),
        (put("steps[2]", {"kind": "sequence", "steps": [{"kind": "invoke", "component": "c"}]}), "a sequence step"),
    ],
)  # fmt: skip
def test_what_ends_an_island(edit: Callable[[Any], None], why: str) -> None:
    (run,) = predicted_islands(_chain(edit)).islands
    assert run.components == ("a", "b") and why in run.ended_by


def test_a_graph_alone_is_no_island() -> None:
    found = predicted_islands(_chain(put("comp.b.effects", ["e"])))
    assert found.islands == () and len(found.runs) == 2 and [name for _, name, _ in found.alone] == ["b"]


def test_a_per_row_policy_may_join() -> None:
    contract = {"id": "onnx-genai.token-sampler", "version": "2",
                "parameters": {"batching": "per_row", "inactive_rows": "preserve"}}  # fmt: skip
    data = _chain(put("comp.b.contract", contract))
    assert len(predicted_islands(data).islands[0].components) == 3
    put("comp.b.ports.inputs.x.batch_layout", {"kind": "request_aligned", "axis": 0})(data)
    put("comp.b.ports.inputs.x.shape", ["rows"])(data)
    assert predicted_islands(data).islands == ()


def test_a_graph_that_writes_into_a_cache_stands_alone() -> None:
    found = predicted_islands(base("static"))
    assert any("writes into the cache" in why for _, _, why in found.alone)


@needs_shared
def test_islands_of_a_real_document() -> None:
    path = next(f.path for f in fixtures() if f.name == "repo-onnx_genai_workflows-vlm.yaml")
    found = predicted_islands(path)
    assert [len(run.components) for run in found.islands] == [6, 8, 4]
    assert sum(len(run.overridable) for run in found.islands) >= 1


# --- difference -----------------------------------------------------------------------------------------
def test_equal_meanings_have_no_difference() -> None:
    a, b = base("dec"), base("dec")
    b["pipeline"]["workflow"]["inputs"]["prompt"]["required"] = True
    b["pipeline"]["workflow"]["manifest"]["capabilities"].reverse()
    found = diff(a, b)
    assert found.is_empty and not found.same_identity
    assert repr(found) == "DocumentDiff(no difference; identity differs)"
    assert repr(diff(a, a)) == "DocumentDiff(no difference; identity equal)"
    assert diff(convert(a, "v1").data, a, dialects=("v1", "pr828")).is_empty


CHANGES = [
    (put("in.limit.default", 99), [("changed", "pipeline.workflow.inputs.limit.default", 16, 99)]),
    (drop("in.limit.default"), [("removed", "pipeline.workflow.inputs.limit.default", 16, None)]),
    (put("model.sliding", 4), [("added", "model.sliding", None, 4)]),
    (put("in.prompt.contract.shape", ["batch", 7]),
     [("changed", "pipeline.workflow.inputs.prompt.contract.shape", ["batch", "seq"], ["batch", 7])]),
    (put("in.prompt.externally_suppliable", True),
     [("changed", "pipeline.workflow.inputs.prompt.externally_suppliable", False, True)]),
    (drop("steps[0].carried[1]"), [("removed", "pipeline.workflow.steps[0].carried[1]", "v0", None)]),
    (put("manifest.capabilities", ["workflow_ssa", "linear_effects", "nested_control_flow", "typed_emit", "mine"]),
     [("removed", "pipeline.workflow.manifest.capabilities", "serving_service_contract", None),
      ("added", "pipeline.workflow.manifest.capabilities", None, "mine")]),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "wanted"), CHANGES)
def test_each_change_is_said_where_it_is(edit: Callable[[Any], None], wanted: list[Any]) -> None:
    data = base("dec")
    edit(data)
    found = [(c.kind, c.where, _cell(c.before), _cell(c.after)) for c in diff(base("dec"), data).changes]
    assert found == wanted
    back = [(c.kind, c.before, c.after) for c in diff(data, base("dec")).changes]
    kinds = {"added": "removed", "removed": "added", "changed": "changed"}
    assert sorted(kind for kind, _, _ in back) == sorted(kinds[kind] for kind, _, _, _ in wanted)


def _cell(value: Any) -> Any:
    return value["cell"] if isinstance(value, dict) and "cell" in value else value


def test_a_step_put_between_others_is_one_change() -> None:
    data = base("dec")
    step = {"kind": "emit", "value": "s.tok", "output": "more", "mode": "append"}
    data["pipeline"]["workflow"]["steps"][0]["steps"].insert(0, step)
    put("steps[0].steps[2].inputs.scores", "other")(data)
    found = diff(base("dec"), data)
    assert [(c.kind, c.where) for c in found.changes] == [
        ("added", "pipeline.workflow.steps[0].steps[0]"),
        ("changed", "pipeline.workflow.steps[0].steps[2].inputs.scores"),
    ]
    assert found.sections == {"steps": 2}


def test_what_was_removed_is_told_where_it_was() -> None:
    data = base("dec")
    data["pipeline"]["workflow"]["steps"][0]["steps"].insert(0, {"kind": "invoke", "component": "first"})
    drop("steps[0].steps[1].inputs.mask")(data)
    assert [(c.kind, c.where) for c in diff(base("dec"), data).changes] == [
        ("added", "pipeline.workflow.steps[0].steps[0]"),
        ("removed", "pipeline.workflow.steps[0].steps[0].inputs.mask"),
    ]


def test_a_difference_shows_itself() -> None:
    data = base("dec")
    put("in.<b>", copy.deepcopy(at(data, "in.prompt")))(data)
    found = diff(base("dec"), data)
    assert "&lt;b&gt;" in found._repr_html_() and "<b>" not in found._repr_html_()
    assert list(found.to_frame().columns) == ["kind", "section", "path", "before", "after"]
    assert str(found.changes[0]).startswith("added pipeline.workflow.inputs['<b>']: {contract: {dtype: int64")


@pytest.mark.parametrize("rank", [0, 16, 17, 2**63])
def test_a_rank_without_a_shape_is_written_in_few_words(rank: int) -> None:
    document = base("dec")
    put("in.mask.contract", {"dtype": "int64", "rank": rank})(document)
    (row,) = value_table(document).of("mask")
    assert row.contract == f"int64[{', '.join('?' * rank) if rank <= 16 else f'{rank} axes'}]"


def test_an_entry_twice_in_a_set_is_one_difference() -> None:
    document = base("dec")
    document["pipeline"]["workflow"]["manifest"]["capabilities"] += ["mine", "mine"]
    assert [str(change) for change in diff(base("dec"), document).changes] == [
        "added pipeline.workflow.manifest.capabilities: mine"
    ]
