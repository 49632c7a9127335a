"""The published client and we agree about every fixture in its dialect, but for the differences listed here."""

from __future__ import annotations

import importlib.metadata
from functools import cache

import pytest

from tests.unit.metadata.client import VERSION, Opinion, ask
from tests.unit.metadata.fixtures import Fixture, fixtures
from tests.unit.metadata.test_faults import FAULTS
from workbench.metadata import convert, load, validate

VERSIONS = (None, "v1.8")


def _installed() -> str | None:
    try:
        return importlib.metadata.version("onnx-genai-server")
    except importlib.metadata.PackageNotFoundError:
        return None


pytestmark = pytest.mark.skipif(
    _installed() != VERSION,
    reason=f"onnx-genai-server {VERSION} is not installed (found {_installed()}): pip install ep-workbench[genai]",
)

# Name of a fixture: why the client is of another mind. Each is a rule of its own, which PR-828 does not have.
OWN_RULES = {
    "repo-onnx_genai_workflows-decoder.yaml": "the input package.eos_ids repeats what special_tokens says",
    "repo-onnx_genai_workflows-vlm.yaml": "the input package.eos_ids repeats what special_tokens says",
    "repo-onnx_genai_workflows-static_cache.yaml": "it knows the checkpoint adapter and has none of it: fails closed",
    "own-near-token-packed.yaml": "names of offsets and owner must be values or ports; here nothing resolves them",
    "own-r262-chain.yaml": "without speculation a cell may not change its representation on the way to a port",
    "own-r263-chain.yaml": "without speculation a cell may not change its representation on the way to a port",
}
SINCE_NEWEST = {
    "repo-onnx_genai_workflows-diffusion.yaml": "from v1.5 an append of rank 4 must say the axis it grows along",
}
# Rules that we keep and the client does not have, by number.
NOT_THEIRS = {
    18: "the client says nothing of a document without a pipeline",
    24: "the client says nothing of a document without a pipeline",
    53: "the client says nothing of a document without a pipeline",
    64: "the client says nothing of a document without a pipeline",
}
# Rules that the dialect has no words for: converted, their documents are valid for both.
GIVEN_UP = {
    10: "model.io is gone", 12: "model.io is gone", 14: "capabilities are derived", 15: "capabilities are derived",
    26: "batch_invariance is gone", 101: "the rank is the length of the shape",
    210: "a rank without a shape is written with unknown dimensions",
    **dict.fromkeys(range(237, 269), "speculation was designed anew"),
    269: "speculation was designed anew", 270: "speculation was designed anew",
}  # fmt: skip


@cache
def _data() -> dict[str, dict[str, object]]:
    """Every fixture that can be converted, by name."""
    loaded = {f.name: load(f.path).data for f in fixtures()}
    return {name: data for name, data in loaded.items() if isinstance(data, dict)}


@cache
def _pairs(version: str | None) -> dict[str, tuple[Fixture, str, Opinion]]:
    """Fixture, our stage and the client's opinion, by name. In the newest version of the valid ones alone."""
    taken = [f for f in fixtures() if f.name in _data() and (version is None or f.kind == "valid")]
    written = {f.name: convert(_data()[f.name], "v1", schema_version=version).data for f in taken}
    theirs = ask(written)
    return {f.name: (f, _ours(written[f.name]), theirs[f.name]) for f in taken}


def _ours(data: object) -> str:
    found = validate(data, dialect="v1")
    stages = [one.stage for one in found.errors if one.stage in ("parse", "semantic")]
    return stages[0] if stages else "ok"


def _expected(version: str | None) -> set[str]:
    """Names of the fixtures about which the two of us differ."""
    by_rule = {f.name for f in fixtures() if set(f.rules) & set(NOT_THEIRS)}
    listed = set(OWN_RULES) | by_rule | (set(SINCE_NEWEST) if version else set())
    return listed & set(_pairs(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_client_agrees_but_for_what_is_listed(version: str | None) -> None:
    differing = {
        name: (ours, theirs.stage, theirs.said[:300])
        for name, (_, ours, theirs) in _pairs(version).items()
        if ours != theirs.stage
    }
    unlisted = {name: found for name, found in differing.items() if name not in _expected(version)}
    assert unlisted == {}
    assert _expected(version) - set(differing) == set(), "listed, and no difference any more"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_document_that_becomes_valid_broke_a_rule_that_was_given_up(version: str | None) -> None:
    for name, (fixture, ours, theirs) in _pairs(version).items():
        if fixture.kind == "invalid" and ours == theirs.stage == "ok":
            assert set(fixture.rules) & ({*GIVEN_UP, 11, 13, 16} | set(range(271, 275))), (name, fixture.rules)


def test_the_client_takes_what_a_conversion_keeps_beside_it() -> None:
    data = convert(next(f.path for f in fixtures() if f.name == "own-base-dec.yaml"), "v1").data
    assert "ep_workbench_remainder" in data["model"]
    assert ask({"dec": data})["dec"].stage == "ok"


def test_the_client_refuses_the_same_single_faults() -> None:
    """Our own table of faults, one per rule and place, of which the client knows nothing."""
    faults = [f for f in FAULTS if f.severity == "error" and f.rule not in {*GIVEN_UP, 16}]
    written = {f"{f.rule} {i}": convert(f.broken(), "v1").data for i, f in enumerate(faults)}
    finite = {name: data for name, data in written.items() if "Infinity" not in _text(data)}
    theirs = ask(finite)
    differing = {name: theirs[name].said[:200] for name in finite if _ours(finite[name]) != theirs[name].stage}
    assert {int(name.split()[0]) for name in differing} == set(NOT_THEIRS), differing


def _text(data: object) -> str:
    import json

    return json.dumps(data).replace("NaN", "Infinity")
