"""Two dialects of one document: what one becomes in the other, what cannot be said, and the way back."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from tests.unit.metadata.edits import all_of, drop, put
from tests.unit.metadata.fixtures import SHARED, Fixture, base, fixtures, needs_shared, of_kind
from tests.unit.metadata.mutations import mutate
from tests.unit.metadata.test_faults import FAULTS
from workbench.errors import ModelFileError, UnknownNameError, WorkbenchError
from workbench.metadata import convert, dialect_of, load, semantic_identity, to_json, to_yaml, validate, value_table
from workbench.metadata.dialects.conversion import KEPT
from workbench.metadata.dialects.version import VERSIONS, minor_of

CONTRACT = "in.prompt.contract"


def v1(name: str = "dec", version: str = "v1.8") -> Any:
    """A valid document of ours as ``v1``, with nothing kept beside it."""
    return convert(base(name), "v1", schema_version=version, keep=False).data


# --- there and back -------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [None, "v1.8"])
@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_every_valid_document_keeps_its_identity_through_both(fixture: Fixture, version: str | None) -> None:
    there = convert(fixture.path, "v1", schema_version=version)
    back = convert(there.data, "pr828")
    assert there.kept and back.kept
    assert back.data == load(fixture.path).data
    assert semantic_identity(back.data) == fixture.golden["identity"]
    assert semantic_identity(there.data, dialect="v1") == fixture.golden["identity"]
    assert convert(back.data, "v1", schema_version=version).data == there.data


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.rule}-{fault.base}")
def test_every_near_miss_does_as_well(fault: Any) -> None:
    data = fault.valid()
    assert convert(convert(data, "v1").data, "pr828").data == data


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dialect", ["pr828", "v1"])
def test_a_changed_document_comes_back_as_it_was(dialect: str, seed: int) -> None:
    draw = random.Random(seed)
    documents = [load(f.path).data for f in fixtures() if f.kind == "valid" and f.is_own]
    if dialect == "v1":
        documents = [convert(data, "v1", schema_version=draw.choice(VERSIONS), keep=False).data for data in documents]
    there = "v1" if dialect == "pr828" else "pr828"
    for _ in range(40):
        data = draw.choice(documents)
        for _ in range(draw.choice((1, 1, 2, 4))):
            data = mutate(data, draw)
        made = convert(data, there)
        if made.kept:
            assert semantic_identity(convert(made.data, dialect).data) == semantic_identity(data)
        validate(data, dialect="v1")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["dec", "branch", "static", "lora", "asr", "image"])
def test_a_valid_document_is_valid_in_every_version(name: str, version: str) -> None:
    made = convert(base(name), "v1", schema_version=version)
    assert made.version == ("v1" if version == "v1.0" else version) == made.data["schema_version"]
    assert not validate(made.data, dialect="v1")


@pytest.mark.parametrize("dialect", ["pr828", "v1"])
def test_a_document_is_taken_for_what_it_looks_like(dialect: str) -> None:
    data = copy.deepcopy(base("dec")) if dialect == "pr828" else v1()
    assert dialect_of(data) == dialect and validate(data).ok
    assert value_table(data).to_frame().equals(value_table(data, dialect=dialect).to_frame())
    first = next(iter(data["pipeline"]["workflow"]["inputs"].values()))["contract"]
    if dialect == "pr828":  # one contract of the other kind is a fault in this dialect, not a document of the other
        del first["rank"]
    else:
        first["rank"] = 2
    assert dialect_of(data) == dialect and len(validate(data).errors) == 1
    assert validate(data) == validate(data, dialect=dialect)
    with pytest.raises(UnknownNameError, match="auto, pr828"):
        validate(data, dialect="V1")


def test_a_document_of_v1_comes_back_with_what_only_v1_can_say() -> None:
    data = v1()
    component = data["pipeline"]["workflow"]["components"]["lm"]
    component["batch_capacity"] = {"uniform_dimensions": ["seq", "total", "past"]}
    data["package"]["tool_protocol"] = {"identity": "x", "version": "1"}
    there = convert(data, "pr828")
    assert not validate(there.data)
    assert {remark.path[-1] for remark in there.unsaid} >= {"batch_capacity", "tool_protocol", "publication_mode"}
    assert convert(there.data, "v1").data == data


def test_without_the_remainder_nothing_is_kept() -> None:
    made = convert(base("dec"), "v1", keep=False)
    assert not made.kept and KEPT not in json.dumps(made.data)
    assert convert(made.data, "pr828", keep=False).data != base("dec")  # the order of capabilities, a token's text


def test_a_remainder_whose_place_is_gone_is_passed_over() -> None:
    data = convert(base("spec"), "v1").data
    data["pipeline"]["workflow"]["manifest"] = {}
    data["model"][KEPT] += [{"path": ["pipeline", "workflow", "steps", 99, "axis"], "value": 1}, 3, {"path": []}]
    assert convert(data, "pr828").data["speculative"] == base("spec")["speculative"]


def test_a_document_stays_in_the_dialect_it_is_in() -> None:
    data = v1(version="v1.5")
    made = convert(data, "v1")
    assert (
        made.data == data and made.data is not data and (made.source, made.target, made.version) == ("v1", "v1", "v1.5")
    )
    assert convert(base("dec"), "pr828").data == base("dec")
    newer = convert(data, "v1", schema_version="v1.8").data
    assert newer["schema_version"] == "v1.8" and newer["pipeline"]["workflow"]["publication_mode"] == "commit_only"


def test_what_v1_does_not_allow_is_reported() -> None:
    data = v1()
    put("required_capabilities", ["x"])(data)
    made = convert(data, "pr828")
    assert "required_capabilities" in {remark.where for remark in made.unsaid}
    assert convert(made.data, "v1").data == data


# --- what is said how -----------------------------------------------------------------------------------
def test_ranks_and_capabilities_are_derived() -> None:
    made = convert(base("dec"), "v1")
    workflow = made.data["pipeline"]["workflow"]
    assert workflow["manifest"] == {} and "rank" not in json.dumps(workflow)
    assert made.counts == {"derived": 26, "reworded": 1, "added": 0, "unsaid": 0}


def test_a_rank_alone_becomes_a_shape_of_unknown_dimensions() -> None:
    data = base("dec")
    drop(f"{CONTRACT}.shape")(data)
    made = convert(data, "v1")
    assert made.data["pipeline"]["workflow"]["inputs"]["prompt"]["contract"]["shape"] == ["Any", "Any"]
    assert [r.kind for r in made.remarks if r.path[-2:] == ("prompt", "contract")] == ["reworded"]


def test_a_rank_against_the_shape_cannot_be_said() -> None:
    data = base("dec")
    put(f"{CONTRACT}.rank", 3)(data)
    (unsaid,) = convert(data, "v1").unsaid
    assert (unsaid.path[-1], unsaid.value) == ("rank", 3)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("spec", "speculative"),
        ("own-near-required-capabilities.yaml", "required_capabilities"),
        ("own-near-extension-capability.yaml", "pipeline.workflow.manifest.capabilities"),
    ],
)
def test_what_cannot_be_said_is_reported(name: str, where: str) -> None:
    source = base(name) if "." not in name else next(f.path for f in fixtures() if f.name == name)
    assert [remark.where for remark in convert(source, "v1").unsaid] == [where]


def test_token_ids_are_said_by_meaning_from_1_2() -> None:
    tokens = {
        "eos": {"id": 1, "content": "</s>"},
        "eos_2": {"id": 2, "content": "</x>"},
        "mine": {"id": 3, "content": "m"},
    }
    data = base("dec")
    put("package.tokenizer.special_tokens", tokens)(data)
    made = convert(data, "v1")
    assert made.data["package"]["tokenizer"]["special_tokens"] == {"eos_token_id": [1, 2]}
    assert made.version == "v1.2" and [r.where for r in made.unsaid] == ["package.tokenizer.special_tokens.mine"]
    assert "special_tokens" not in convert(data, "v1", schema_version="v1.1").data["package"]["tokenizer"]


def test_newer_versions_get_what_they_demand() -> None:
    made = convert(base("dec"), "v1", schema_version="v1.8")
    workflow = made.data["pipeline"]["workflow"]
    assert workflow["publication_mode"] == "commit_only"
    assert workflow["outputs"]["tokens"]["family"] == {"kind": "materialized"}
    assert [r.kind for r in made.remarks if r.kind == "added"] == ["added", "added"]
    data = base("dec")
    put("steps[0].steps[2].mode", "event")(data)
    workflow = convert(data, "v1", schema_version="v1.8").data["pipeline"]["workflow"]
    assert workflow["outputs"]["tokens"]["family"] == {"kind": "events"}


def test_packed_axes_have_levels() -> None:
    path = next(f.path for f in fixtures() if f.name == "own-near-token-packed.yaml")
    text = json.dumps(convert(path, "v1", keep=False).data)
    assert '"levels": [{"offsets": ' in text


# --- reading v1 -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("written", "minor"),
    [(None, 0), ("v1", 0), ("1", 0), ("1.0", 0), (" v1.3 ", 3), ("v01.8", 8), ("v1.9", None), ("v2", None),
     ("V1.2", None), (1, None), (1.2, None), ("", None), ("v1.", None), (True, None)],
)  # fmt: skip
def test_versions_are_read_as_the_client_does(written: Any, minor: int | None) -> None:
    assert minor_of(written) == minor
    data = {**v1(version="v1"), "schema_version": written}
    if minor is None:
        assert validate(data, dialect="v1").codes[0] == "A5"


RETIRED = [
    (put("required_capabilities", []), 11), (put("manifest.capabilities", []), 11), (put(f"{CONTRACT}.rank", 2), 11),
    (put("model.io", {}), 11), (put("tokens", {}), 11), (put("profiles.chat.batch_invariance", "row_independent"), 11),
    (put("model.runtime_configurable", {"continuous_batching": True}), 11), (drop(f"{CONTRACT}.shape"), 4),
    (put(f"{CONTRACT}.batch_layout", {"kind": "token_packed", "axis": 0, "offsets": "a", "owner": "b"}), 11),
    (put("wf.publication_mode", "x"), 5), (drop("wf.publication_mode"), 4), (drop("out.tokens.family"), 4),
    (put("out.tokens.family", {"kind": "x"}), 6), (put("out.tokens.family", {"kind": "revisions"}), 4),
    (put("out.tokens.family", "x"), 7), (put("comp.lm.batch_capacity", {"x": 1}), 3),
    (put("comp.lm.batch_capacity", 1), 7), (put(f"{CONTRACT}.padding", {}), 7),
    (put(f"{CONTRACT}.padding", [{"dimension": "seq"}]), 4), (put("package.tool_protocol", {"identity": "x"}), 4),
    (put("package.tokenizer.special_tokens", {"eos": {"id": 1, "content": "x"}}), 3),
    (put("package.tokenizer.special_tokens", {"eos_token_id": 1}), 7),
    (put("package.tokenizer.special_tokens", {}), 4), (put("speculative", {}), 4),
    (put("groups.kv.properties", {"kind": "x"}), 6), (put("state.k0.session", {"continuation": {"kind": "x"}}), 6),
    (put("steps[0].steps[2].stream", 1), 7), (put("in.prompt.zz", 1), 3),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "rule"), RETIRED)
def test_words_that_v1_gave_up_or_demands(edit: Any, rule: int) -> None:
    data = v1()
    assert not validate(data, dialect="v1")
    edit(data)
    found = validate(data, dialect="v1")
    assert found.errors[0].stage == "parse" and rule in {one.rule for one in found.errors}, found
    assert all(one.message and one.hint for one in found)


EARLY = [
    (put("comp.lm.batch_capacity", {"uniform_dimensions": []}), 1),
    (put("package.tool_protocol", {"identity": "x", "version": "1"}), 3),
    (put("out.tokens.family", {"kind": "materialized"}), 5), (put("wf.publication_mode", "commit_only"), 7),
    (put("steps[0].steps[2].stream", "x"), 5), (put("groups.kv.kind", "compressed_attention"), 8),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "since"), EARLY)
def test_a_key_that_is_newer_than_the_version_is_told(edit: Any, since: int) -> None:
    data = v1(version="v1")
    edit(data)
    (found,) = [one for one in validate(data, dialect="v1").errors if one.rule == 3]
    assert f"v1.{since}" in found.message


def test_faults_of_v1_have_the_lines_of_their_text() -> None:
    data = v1()
    put(CONTRACT + ".dtype", "double")(data)
    written = to_yaml(data)
    (found,) = validate(written, dialect="v1")
    assert found.code == "H102" and "double" in written.splitlines()[found.line - 1]


def test_emits_that_say_no_value_are_left_out_of_pr828() -> None:
    data = v1()
    put("out.tokens.family", {"kind": "revisions", "version": "1"})(data)
    data["pipeline"]["workflow"]["steps"][0]["steps"].append({"kind": "emit", "output": "tokens", "mode": "finalize"})
    assert not validate(data, dialect="v1")
    made = convert(data, "pr828")
    assert len(made.data["pipeline"]["workflow"]["steps"][0]["steps"]) == 3
    assert convert(made.data, "v1").data == data


def test_roles_for_the_end_of_text_become_the_applications_matter() -> None:
    data = v1()
    put("in.mask.role", {"kind": "runtime", "version": "1.0", "role": "eos_token_ids"})(data)
    entry = convert(data, "pr828").data["pipeline"]["workflow"]["inputs"]["mask"]
    assert entry["source"] == {"kind": "application", "name": "eos_token_ids"} and not validate(data, dialect="v1")


# --- which dialect --------------------------------------------------------------------------------------
@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_the_dialect_is_recognised(fixture: Fixture) -> None:
    assert dialect_of(load(fixture.path).data) == "pr828"
    if fixture.name != "repo-onnx-genai-metadata-north_star_minimal.yaml":
        assert dialect_of(convert(fixture.path, "v1").data) == "v1"


@pytest.mark.parametrize("data", [None, [], {}, 3, "x", {"pipeline": {"workflow": []}}])
def test_what_is_no_workflow_counts_as_pr828(data: Any) -> None:
    assert dialect_of(data) == "pr828"


# --- text -----------------------------------------------------------------------------------------------
AWKWARD = {
    "words": ["yes", "no", "on", "0o17", "1e3", "1_000", "0x1F", "~", "null", "", "true", ".5", "1.5", "a: b", "#x"],
    "lines": "one\ntwo\n", "numbers": [1, 1.0, -0.5, 1e300, 1e-7, 2**63], "flags": [True, False, None], "ä": "ß\u2028",
    "empty": [{}, []],
}  # fmt: skip


def test_texts_read_back_as_they_were() -> None:
    assert load(to_yaml(AWKWARD)).data == AWKWARD
    assert load(to_json(AWKWARD).encode()).data == AWKWARD


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_writing_is_deterministic_and_true(fixture: Fixture) -> None:
    data = load(fixture.path).data
    assert to_yaml(data) == to_yaml(copy.deepcopy(data)) and "&id" not in to_yaml(data)
    assert load(to_yaml(data)).data == load(to_json(data).encode()).data == data


# --- errors and faces -----------------------------------------------------------------------------------
def test_errors_say_what_to_do() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown dialect 'v2'.*Did you mean 'v1'\?.*Known: pr828, v1"):
        convert(base("dec"), "v2")
    with pytest.raises(UnknownNameError, match=r"Unknown schema_version 'v1\.9'.*v1\.8"):
        convert(base("dec"), "v1", schema_version="v1.9")
    with pytest.raises(UnknownNameError, match="pr828 has no versions"):
        convert(base("dec"), "pr828", schema_version="v1.8")
    with pytest.raises(ModelFileError, match="cannot be converted.*Correct it first"):
        convert("[1, 2]", "v1")
    with pytest.raises(WorkbenchError, match="source must be"):
        convert(3, "v1")


def test_a_conversion_shows_itself() -> None:
    data = base("spec")
    rename = all_of(put("profiles.<b>", {"kind": "generation", "version": "1", "batch_invariance": "<i>x</i>"}))
    data["profiles"] = {}
    rename(data)
    made = convert(data, "v1")
    assert repr(made) == "Conversion(pr828 -> v1 v1: 34 derived, 2 unsaid)"
    assert "<i>" not in made._repr_html_() and "&lt;b&gt;" in made._repr_html_()
    assert list(made.to_frame().columns) == ["kind", "path", "message"] and len(made.to_frame()) == 36
    assert load(made.to_yaml()).data == load(made.to_json().encode()).data == made.data


@needs_shared
@pytest.mark.parametrize("name", ["cpu", "cpu_roles_only", "cpu_schema_v1.8", "default"])
def test_documents_that_the_client_ran_are_valid(name: str) -> None:
    path = SHARED / "runnable-example" / f"dev6_decoder_{name}.yaml"
    assert dialect_of(load(path).data) == "v1" and not validate(path, dialect="v1")
    there = convert(path, "pr828")
    assert not validate(there.data)
    assert convert(there.data, "v1").data == load(path).data


@pytest.mark.parametrize("to", ["v1", "pr828"])
def test_a_document_that_can_be_read_in_two_ways_is_not_converted(to: str) -> None:
    with pytest.raises(ModelFileError, match="stands twice"):
        convert("model: {vocab_size: 1, vocab_size: 2}", to)
