"""What is said to be proven: current in this repository, stale once a source changes, absent without a proof."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from workbench import zoo
from workbench.models import SPECS


def _states() -> dict[str, str]:
    return {family.model_type: family.proven for family in zoo.families().families}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's sources that may be changed."""
    root = zoo.PROOFS.parent.parent
    copy = tmp_path / "workbench"
    for part in ("models", "components", "functions", "tasks", "config"):
        shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(zoo, "PROOFS", copy / "models" / "proofs.json")
    zoo._engine_digest.cache_clear()
    monkeypatch.setattr(zoo, "_engine_digest", zoo._engine_digest.__wrapped__)
    return copy


def test_every_family_is_proven_here() -> None:
    """Run ``python -m tests.prove`` after a change of a family or of the engine."""
    assert _states() == {spec.model_type: "yes" for spec in SPECS}
    assert all(0 <= (family.max_abs_diff or 1.0) <= 5e-5 for family in zoo.families().families)


def test_a_changed_family_is_stale_with_those_that_build_on_it(sources: Path) -> None:
    with (sources / "models" / "phi3.py").open("a") as file:
        file.write("# changed\n")
    assert {name for name, state in _states().items() if state == "stale"} == {"phi3", "gpt2"}


@pytest.mark.parametrize("place", ["components/rope.py", "config/from_hf.py", "config/encoder_config.py"])
def test_a_changed_engine_makes_all_stale(sources: Path, place: str) -> None:
    with (sources / place).open("a") as file:
        file.write("# changed\n")
    assert set(_states().values()) == {"stale"}


def test_without_a_proof_nothing_is_proven(sources: Path) -> None:
    proofs = json.loads(zoo.PROOFS.read_text())
    del proofs["gpt2"]
    zoo.PROOFS.write_text(json.dumps(proofs))
    assert {name for name, state in _states().items() if state == "no"} == {"gpt2"}
    zoo.PROOFS.unlink()
    assert set(_states().values()) == {"no"}
