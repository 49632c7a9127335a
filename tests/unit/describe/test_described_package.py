"""Packages of others: read from a folder, shown, described, and given their document."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.metadata_packages import CTC_FACTS, FOREIGN, encoder_decoder, foreign
from tests.unit.error_rows_describe import read
from workbench.describe import DescribedPackage, describe
from workbench.errors import SaveError
from workbench.metadata import check_ports, validate


def test_three_faces(tmp_path: Path) -> None:
    package = foreign("encoder-decoder", tmp_path)
    assert repr(package) == (
        "DescribedPackage('encoder-decoder': encoder='encoder.onnx', decoder='decoder.onnx'; "
        "facts: decoder_start, eos_token_id)"
    )
    frame = package.to_frame()
    assert list(frame["file"]) == ["encoder.onnx", "decoder.onnx"]
    assert frame["inputs"][0] == "input_ids, attention_mask"
    evil = DescribedPackage("<b>", package.package, {"encoder": "<i>"})
    assert "<b>" not in evil._repr_html_() and "<i>" not in evil._repr_html_()


@pytest.mark.parametrize("name", FOREIGN)
def test_its_folder_gets_a_document_that_fits(name: str, tmp_path: Path) -> None:
    metadata = describe(foreign(name, tmp_path))
    *policies, document = metadata.save_beside(tmp_path)
    assert sorted(path.name for path in policies) == sorted(metadata.artifacts)
    found = [one for one in validate(tmp_path, dialect="v1", package_root=tmp_path) if one.severity == "error"]
    assert (document.name, found) == ("inference_metadata.yaml", [])
    assert check_ports(tmp_path, dialect="v1").ok


def test_it_may_be_written_again_in_the_other_dialect(tmp_path: Path) -> None:
    metadata = describe(foreign("speculative", tmp_path))
    metadata.save_beside(tmp_path)
    metadata.save_beside(tmp_path, dialect="pr828", overwrite=True)
    assert list(validate(tmp_path)) == [] and "rollback_state" in (tmp_path / "inference_metadata.yaml").read_text()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.config import files

    metadata = describe(foreign("speculative", tmp_path))
    metadata.save_beside(tmp_path)
    (tmp_path / "inference_metadata.yaml").write_text("of yesterday")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "sync_file", full)
    with pytest.raises(SaveError, match="cannot be written to: No space left on device. What was there before is unt"):
        metadata.save_beside(tmp_path, overwrite=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_facts_may_be_said_later(tmp_path: Path) -> None:
    package = foreign("ctc", tmp_path)
    later = describe(package, facts={"sample_rate": None})
    assert "request.input_values" in later.data["pipeline"]["workflow"]["inputs"], "samples instead of a file"
    assert package.facts == CTC_FACTS


def test_graphs_with_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    read(tmp_path, "encoder-decoder", encoder_decoder(), decoder_start=2, eos_token_id=3)
    (tmp_path / "encoder.onnx").rename(tmp_path / "onnx" / "first.onnx")
    files = {"encoder": "onnx/first.onnx", "decoder": "decoder.onnx"}
    facts = {"decoder_start": [2, 5], "eos_token_id": [3, 4]}
    package = DescribedPackage.read(tmp_path, kind="encoder-decoder", components=files, facts=facts)
    metadata = describe(package)
    assert list(metadata.validate()) == [] and "policy.decoder_start.onnx" in metadata.artifacts
    components = metadata.data["pipeline"]["workflow"]["components"]
    assert components["encoder"]["implementation"]["artifact"] == "onnx/first.onnx"
    metadata.save_beside(tmp_path)
    assert check_ports(tmp_path, dialect="v1").ok
    special = metadata.data["package"]["tokenizer"]["special_tokens"]
    assert {name: one["id"] for name, one in special.items()} == {"eos": 3, "eos_2": 4}
