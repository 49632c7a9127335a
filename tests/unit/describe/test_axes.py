"""Axes called as the graph calls them: in the document, in the port check, and when it is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.describe.axes import RENAMES, with_axes
from tests.unit.describe.described import PACKAGES
from tests.unit.metadata.client import ask
from workbench import describe, export
from workbench.analysis.graph_facts import graph_facts
from workbench.describe import InferenceMetadata
from workbench.errors import UnsupportedError
from workbench.interpret import interpret
from workbench.metadata import check_ports
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.runtime.tokens import TokenRunner, greedy

PROMPT, NEW = [5, 9, 31, 2, 77, 40, 8], 6
NAMES = ("growing", "growing-portable", "fixed-portable")
ROWS = {"renamed": "N", "one-row": 1, "named-in-the-cache": "N", "one-row-else-unnamed": 1}


def contracts(metadata: InferenceMetadata) -> dict[str, list[Any]]:
    """Shapes by the name of an input, a cell or an output of the workflow."""
    words = metadata.data["pipeline"]["workflow"]
    parts = (words["inputs"], words["state"], words["outputs"])
    return {name: entry["contract"]["shape"] for part in parts for name, entry in part.items()}


def fed(metadata: InferenceMetadata) -> Iterator[tuple[str, str]]:
    """Ports of the decoder, and the values of the workflow that they read."""
    workflow = metadata.document.workflow
    assert workflow is not None
    for step in (*workflow.steps, *workflow.steps[0].setup, *workflow.steps[0].steps):
        if step.kind == "invoke" and step.component == "decoder":
            yield from step.inputs.items()


@pytest.mark.parametrize("policy", ["runtime", "graphs"])
@pytest.mark.parametrize("rename", RENAMES)
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_with_other_axes_is_described_and_run(name: str, rename: str, policy: str, tmp_path: Path) -> None:
    plain = PACKAGES[name]()
    package = with_axes(plain, RENAMES[rename])
    with OrtCpuSession(plain.model) as session:
        expected = greedy(TokenRunner(session, plain.padding), PROMPT, NEW)
    made = describe(package, policy=policy)
    for dialect in ("pr828", "v1"):
        assert list(made.validate(dialect)) == []
    shapes, ports = contracts(made), graph_facts(package.model).inputs
    for port, value in fed(made):
        if value in shapes and port in ports and not value == "token":
            assert all(size in (None, found) for size, found in zip(ports[port].dims, shapes[value], strict=True))
    rows = {shapes[value][0] for value in ("active", "done", "accepted_len", "tokens", "request.input_ids")}
    assert rows == {ROWS.get(rename, "batch_size")}
    export(package, tmp_path / "x", runtime="onnx-genai", metadata=made, progress=False)
    report = check_ports(tmp_path / "x", dialect="v1")
    assert {entry.verdict for entry in report.entries} == {"agrees"}, report.differing
    run = interpret(tmp_path / "x", {"prompt_tokens": [PROMPT]}, max_new_tokens=NEW, eos_token_ids=())
    assert run.diagnostics == () and list(run.tokens[0]) == expected


def test_axes_without_a_name_are_called_alike_in_every_layer() -> None:
    shapes = contracts(describe(with_axes(PACKAGES["growing-portable"](), RENAMES["unnamed"])))
    assert shapes == contracts(describe(PACKAGES["growing-portable"]()))
    crossed = contracts(describe(with_axes(PACKAGES["growing-portable"](), RENAMES["crossed"])))
    assert crossed["application.attention_mask"] == ["batch_size", "sequence_length"]
    assert crossed["request.input_ids"] == ["batch_size", "input_ids.1"], "our name is taken for something else"


@pytest.mark.parametrize("policy", ["runtime", "graphs"])
def test_one_row_is_one_row(policy: str, tmp_path: Path) -> None:
    package = with_axes(PACKAGES["growing-portable"](), RENAMES["one-row"])
    export(package, tmp_path / "x", runtime="onnx-genai", metadata=describe(package, policy=policy), progress=False)
    (found,) = interpret(tmp_path / "x", {"prompt_tokens": [PROMPT, PROMPT]}, max_new_tokens=2).diagnostics
    assert found.code == "run.input" and "2 entries on axis 0" in found.message and "contract says 1" in found.message


@pytest.mark.parametrize(("port", "size"), [("input_ids", "sequence"), ("attention_mask", "total_sequence")])
def test_a_fixed_number_of_tokens_is_refused(port: str, size: str) -> None:
    package = with_axes(
        PACKAGES["growing-portable"](),
        lambda name, found: 8 if (name, found) == (port, f"{size}_length") else found,
    )
    said = f"The graph's {port} is ['batch_size', 8]: always 8 long, and onnx-genai gives a prompt of any length"
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        describe(package)


@pytest.mark.parametrize("policy", ["runtime", "graphs"])
def test_the_published_client_takes_the_documents(policy: str) -> None:
    pytest.importorskip("onnx_genai_server", reason="onnx-genai-server is not installed: pip install -e '.[genai]'")
    package = PACKAGES["growing-portable"]()
    found = {name: describe(with_axes(package, rename), policy=policy) for name, rename in RENAMES.items()}
    said = ask({name: metadata.to("v1").data for name, metadata in found.items()})
    assert {name: opinion.stage for name, opinion in said.items()} == dict.fromkeys(RENAMES, "ok")
