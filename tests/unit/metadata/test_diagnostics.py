"""What ``validate`` returns: frozen findings in the order of the document, with tables and a page's face."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from tests.unit.metadata.fixtures import base
from workbench import errors
from workbench.metadata import RULES, Diagnostic, validate
from workbench.metadata.diagnostic import show_path
from workbench.metadata.registry import GROUPS, rule

TEXT = "scheduler: 1\nmodel:\n  vocab_size: 0\n  attention: {type: 3}\n"


def test_findings_stand_in_the_order_of_the_document() -> None:
    assert [(d.code, d.line) for d in validate(TEXT)] == [("A2", 1), ("A7", 3), ("A7", 4)]
    turned = "model:\n  attention: {type: 3}\n  vocab_size: 0\nscheduler: 1\n"
    assert [d.where for d in validate(turned)] == ["model.attention.type", "model.vocab_size", "scheduler"]


def test_everything_is_told_at_once() -> None:
    data = base("dec")
    workflow = data["pipeline"]["workflow"]
    workflow["inputs"]["prompt"]["role"] = {"kind": "opaque"}
    workflow["outputs"]["tokens"]["value_range"] = "zero_to_one"
    data["profiles"]["chat"]["kind"] = "folding"
    assert validate(data).codes == ("I103", "J122", "D22")


def test_a_diagnostic_is_one_of_the_workbench() -> None:
    found = validate(TEXT)[0]
    assert isinstance(found, errors.Diagnostic) and isinstance(found, Diagnostic)
    assert (found.code, found.rule, found.stage, found.severity) == ("A2", 2, "parse", "error")
    assert found.path == ("scheduler",) and found.where == "scheduler" and found.hint
    assert found.sentence == RULES[2].sentence
    assert str(found).startswith("error A2 [line 1, scheduler]: ")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.line = 3


def test_the_tuple_of_findings() -> None:
    found = validate(TEXT)
    assert not found.ok and found.codes == ("A2", "A7") and len(found.errors) == 3
    assert "3 errors of 3" in repr(found) and found == validate(TEXT)
    assert found.to_frame().columns.tolist()[:4] == ["severity", "stage", "code", "rule"]
    assert len(found.to_frame()) == 3
    clean = validate(base("dec"))
    assert clean.ok and clean == () and repr(clean) == "Diagnostics(none)" and clean.to_frame().empty


def test_a_warning_is_no_error() -> None:
    data = base("dec")
    data["pipeline"]["workflow"]["inputs"]["prompt"]["source"]["name"] = "x"
    found = validate(data)
    assert found.ok and [(d.severity, d.code) for d in found] == [("warning", "A3")]


def test_text_of_a_document_is_escaped_in_a_page() -> None:
    page = validate("<b>&'\"</b>: 1")._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;" in page


def test_long_texts_of_a_document_are_shortened() -> None:
    for text in ("x" * 100_000 + ": 1", "model: {vocab_size: " + "x" * 100_000 + "}"):
        assert all(len(str(d)) < 2000 for d in validate(text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("pipeline", "workflow", "steps", 0, "steps", 1), "pipeline.workflow.steps[0].steps[1]"),
        (("a", "b.c", "d"), "a['b.c'].d"),
        (("", "a b"), "['']['a b']"),
    ],
)
def test_a_path_can_be_read(path: tuple[str | int, ...], text: str) -> None:
    assert show_path(path) == text


def test_rules_are_numbered_and_in_groups() -> None:
    assert list(RULES) == sorted(RULES)
    spans = sorted((first, last) for _, first, last in GROUPS.values())
    assert spans[0][0] == 1 and spans[-1][1] == 274
    assert all(before[1] + 1 == after[0] for before, after in zip(spans, spans[1:]))
    for made in RULES.values():
        file = made.check.__module__ if "<locals>" not in made.check.__qualname__ else None
        assert file is None or file.rsplit(".", 1)[1].startswith(f"{made.group.lower()}_"), made
        assert made.sentence.endswith(".")


def test_a_number_is_given_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        rule(1, "parse", "Again.")(lambda context: ())
    with pytest.raises(KeyError):
        rule(275, "parse", "Beyond.")(lambda context: ())


def test_a_document_is_frozen() -> None:
    from workbench.metadata import Document

    document = Document.model_validate(base("dec"))
    with pytest.raises(ValueError, match="frozen"):
        document.schema_version = "v2"


def test_a_document_is_shown_in_one_line() -> None:
    from workbench.metadata import Document, load

    shown = "Document(7 inputs, 1 outputs, 2 components, 5 state, 0 effects; "
    shown += "other sections: generation, model, package, profiles)"
    assert repr(Document.model_validate(base("dec"))) == shown
    assert repr(Document()) == "Document(no workflow; sections: none)"
    assert len(repr(load(base("dec")))) < 200


def test_pydantic_is_loaded_with_the_first_document_only() -> None:
    code = "import sys, workbench; print('pydantic' in sys.modules, 'yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"


def test_a_rule_broken_everywhere_is_told_a_thousand_times() -> None:
    found = validate({"required_capabilities": [1] * 3000})
    assert len(found) == 1001 and "2,000 places in all" in found[-1].message
