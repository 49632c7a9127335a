"""The golden documents: their text, and that both dialects and the published client take every one of them."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from tests.make_metadata_goldens import ADAPTERS, DIALECTS, FOLDER, KINDS, examples, texts
from tests.metadata_packages import adapter_folder, write_package
from tests.unit.metadata.client import VERSION, ask, ask_packages
from workbench.metadata import check_ports, validate

SPECULATIVE = [name for name in KINDS if name.startswith("speculative")]
SAYS_OF_SPECULATION = "Speculation was designed anew in v1.5; its identity and verification are not in this document."
SAYS_OF_PADDING = "That the profile is padding_sensitive is no longer said; components declare their batch capacity."


def _installed() -> str | None:
    try:
        return importlib.metadata.version("onnx-genai-server")
    except importlib.metadata.PackageNotFoundError:
        return None


def test_the_committed_documents_are_what_is_written_today() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yaml")}
    made = texts()
    assert sorted(committed) == sorted(made)
    differing = [name for name in made if committed[name] != made[name]]
    assert differing == [], "python -m tests.make_metadata_goldens writes them; read the difference first"


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_our_rules_find_nothing(name: str, dialect: str) -> None:
    assert list(validate((FOLDER / f"{name}.{dialect}.yaml").read_text(encoding="utf-8"), dialect=dialect)) == []


@pytest.mark.parametrize("name", KINDS)
def test_the_newest_version_can_be_written_too(name: str) -> None:
    newest = examples()[name].metadata.to("v1", schema_version="v1.8")
    assert list(validate(newest.data, dialect="v1")) == []


@pytest.mark.parametrize("name", KINDS)
def test_what_the_other_dialect_cannot_say_is_told(name: str) -> None:
    unsaid = {remark.where: remark.message for remark in examples()[name].metadata.to("v1").unsaid}
    expected = {"speculative": SAYS_OF_SPECULATION} if name in SPECULATIVE else {}
    if name == "ctc":
        expected = {"profiles.transcription.batch_invariance": SAYS_OF_PADDING}
    assert unsaid == expected


@pytest.mark.parametrize("name", KINDS)
def test_ports_are_those_of_the_graphs(name: str, tmp_path: Path) -> None:
    example = examples()[name]
    report = check_ports(example.metadata.data, write_package(tmp_path, example.package, example.metadata, None))
    assert report.ok, report
    assert [row for row in report.entries if row.verdict == "note"] == []


@pytest.mark.skipif(_installed() != VERSION, reason=f"onnx-genai-server {VERSION} is not installed")
def test_the_client_loads_every_package_in_the_oldest_and_the_newest_version(tmp_path: Path) -> None:
    folders = {}
    for version in (None, "v1.8"):
        for name, example in examples().items():
            folder = write_package(tmp_path / f"{name}-{version}", example.package, example.metadata, version)
            if name == "lora":
                for alias, (modules, rank) in ADAPTERS.items():
                    adapter_folder(folder / "adapters" / alias, example.package, modules, rank)
            folders[f"{name} {version or 'oldest'}"] = folder
    opinions = ask_packages(folders)
    assert {name: one.said[:300] for name, one in opinions.items() if one.stage != "loads"} == {}


@pytest.mark.skipif(_installed() != VERSION, reason=f"onnx-genai-server {VERSION} is not installed")
def test_the_client_does_not_read_what_its_dialect_has_no_words_for() -> None:
    """Each construct of the table in the catalogue, put into a document that it loads otherwise."""
    speculative, ctc = (examples()[name].metadata for name in ("speculative", "ctc"))
    asked = {}
    for version in (None, "v1.8"):
        with_section = speculative.to("v1", schema_version=version).data
        with_section["speculative"] = speculative.data["speculative"]
        with_word = ctc.to("v1", schema_version=version).data
        with_word["profiles"]["transcription"]["batch_invariance"] = "padding_sensitive"
        asked |= {f"section {version}": with_section, f"word {version}": with_word}
    assert {name: one.stage for name, one in ask(asked).items()} == dict.fromkeys(asked, "parse")
