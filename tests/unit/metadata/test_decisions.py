"""Where readers differ, one thing was decided: each decision is seen here (docs/metadata-rules.md lists them)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.metadata.edits import add, all_of, put
from tests.unit.metadata.fixtures import base
from workbench.metadata import load, validate

PACKED = {"kind": "token_packed", "offsets": "nowhere", "owner": "nobody", "axis": 0}
SHARDING = {"pipeline_parallel": [{"components": ["nobody"], "state_groups": ["none"]}]}
LANGUAGE = {"dialect": "json", "version": "1", "component": "nobody"}
STORED = {"kind": "runtime_sequence_state"}


def edited(name: str, *edits: Any) -> Any:
    document = base(name)
    all_of(*edits)(document)
    return document


@pytest.mark.parametrize("version", ["v1", "v99", "", None])
def test_the_version_is_not_looked_at(version: str | None) -> None:
    assert not validate(edited("dec", put("schema_version", version)))


def test_names_that_nobody_resolves() -> None:
    edits = [put("model.sharding", SHARDING), put("package.constraint_languages", [LANGUAGE])]
    assert not validate(edited("dec", *edits))
    assert not validate(edited("spec", put("speculative.shared_weights", ["nothing"])))
    assert not validate(edited("asr", put("out.lens.contract.batch_layout", PACKED), put("steps[3].value", "e.lens"),
                               put("comp.enc.ports.outputs.lens.batch_layout", PACKED)))  # fmt: skip


def test_an_entry_twice_in_a_set_counts_once() -> None:
    assert not validate(edited("dec", add("manifest.capabilities", "typed_emit")))


def test_other_spellings_are_folded_for_three_floats_only() -> None:
    wave = "comp.prep.ports.outputs.wave.dtype"
    assert not validate(edited("asr", put(wave, "fp32")))
    out = [put("preprocessing.audio.outputs[0].dtype", "float8_e5m2"),
           put("preprocessing.audio.outputs[0].contract.dtype", "float8_e5m2")]  # fmt: skip
    found = validate(edited("asr", *out, put(wave, "fp8_e5m2")))
    assert "E45" in found.codes


def test_a_row_of_the_runtime_is_measured_by_its_rank_alone() -> None:
    """Beside row_scope a port without a request axis is asked only whether it has that axis at all (K139, not K140)."""
    ports = "comp.grammar.ports.inputs.tok"
    assert not validate(edited("spec", put(f"{ports}.batch_layout", STORED)))
    found = validate(edited("spec", put("comp.grammar.row_scope.axis", 7), put(f"{ports}.batch_layout", STORED)))
    assert found.codes == ("K139",)


def test_keys_are_text_as_written() -> None:
    text = "profiles: {1: %s, true: %s, ~: %s, 0x1: %s}" % (("{kind: generation, version: '1'}",) * 4)
    assert validate(text).codes == ("B13",)
    assert list(load(text).data["profiles"]) == ["1", "true", "~", "0x1"]


def test_text_that_another_yaml_would_turn_into_truth() -> None:
    text = "profiles:\n  yes: {kind: generation, version: '1', requirement: ignorable}\n"
    assert validate(text).codes == ("B13",)
    assert validate("model: {vocab_size: yes}").codes == ("A7",)
    assert validate("<<: {model: {}}").codes == ("A2",)
