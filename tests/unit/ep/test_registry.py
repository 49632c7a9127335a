"""register_ep: a record from outside is a provider like any other; a bad one is refused with every reason."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.families import hf_config
from workbench import build
from workbench.ep import (
    F16,
    F32,
    ExecutionProvider,
    Option,
    default_comparison,
    ep_of_client,
    execution_providers,
    get_ep,
    kernel,
    register_ep,
    unregister_ep,
)
from workbench.ep.base import GQA, LAYER_NORM, RMS_NORM
from workbench.errors import UnknownNameError, WorkbenchError
from workbench.support import support
from workbench.types import OpId

PAGE = Path(__file__).parents[3] / "docs/adding-an-ep.md"
FACT = kernel(F16, has="do_rotary local_window", source="a data sheet", confidence="documented")
MINE = ExecutionProvider(
    name="my-ep", title="Mine", computes=frozenset({F32, F16}), default_dtype=F16, kernels={GQA: FACT}
)


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = {name: get_ep(name) for name in execution_providers()}
    yield
    for name in execution_providers():
        if name not in before or get_ep(name) is not before[name]:
            unregister_ep(name)
    assert {name: get_ep(name) for name in execution_providers()} == before


def test_a_record_from_outside_is_planned_for() -> None:
    assert register_ep(MINE) is MINE is get_ep("my-ep")
    assert execution_providers()[-1] == default_comparison()[-1] == "my-ep"
    package = build(hf_config("llama"), execution_provider="my-ep", load_weights=False)
    counts = {rule.rule: (rule.applied, rule.candidates) for rule in package.report.rules}
    assert counts["fuse/gqa"] == (2, 2)
    assert dict(package.report.skipped)["fuse/pack_qkv"] == (
        "my-ep does not run com.microsoft.GroupQueryAttention+packed_qkv in float16"
    )
    assert (
        "fuse/gqa left 4 of 4: the kernel does not apply softcap (2)"
        in support(hf_config("gemma2", "exercise"), "my-ep").reasons
    )


def test_a_provider_without_layer_norm_gets_primitives() -> None:
    """The one lowering that no provider of ours needs."""
    facts = {
        LAYER_NORM: kernel(source="none", confidence="documented"),
        RMS_NORM: kernel(F32, source="a", confidence="measured"),
    }
    register_ep(dataclasses.replace(MINE, kernels=facts, default_dtype=F32))
    package = build(hf_config("gpt2"), execution_provider="my-ep", load_weights=False)
    ops = {node.op_type for node in package.model.graph}
    assert "LayerNormalization" not in ops and "ReduceMean" in ops


def test_a_taken_name() -> None:
    register_ep(MINE)
    other = dataclasses.replace(MINE, title="Another")
    with pytest.raises(WorkbenchError) as refused:
        register_ep(other)
    assert str(refused.value) == (
        "Execution provider 'my-ep' is registered already (Mine). Choose another name, or pass replace=True to put "
        "this record in its place."
    )
    assert get_ep("my-ep") is MINE
    assert register_ep(other, replace=True) is get_ep("my-ep")


def test_one_of_ours_may_be_replaced_and_comes_back() -> None:
    ours = get_ep("cpu")
    mine = dataclasses.replace(ours, title="Patched")
    with pytest.raises(WorkbenchError, match="registered already"):
        register_ep(mine)
    assert get_ep("cpu") is ours
    register_ep(mine, replace=True)
    assert get_ep("cpu") is mine
    unregister_ep("cpu")
    assert get_ep("cpu") is ours


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "name": (
        {"name": "My EP"}, "name is made of lower-case letters, digits and single hyphens, as in 'my-ep'",
    ),
    "computes nothing": (
        {"computes": frozenset()},
        "computes holds the float dtypes with a MatMul, at least one; found nothing; "
        "default_dtype float16 is not among the dtypes that it computes in",
    ),
    "dtype as a word": ({"default_dtype": "float16"}, "default_dtype is an ir.DataType; found 'float16'"),
    "dtypes as words": ({"computes": frozenset({"float16"})}, "computes is a set of ir.DataType; found 'float16'"),
    "kernels as a list": ({"kernels": []}, "kernels is a mapping; found []"),
    "default": (
        {"computes": frozenset({F32})}, "default_dtype float16 is not among the dtypes that it computes in",
    ),
    "domains": ({"domains": frozenset({"com.microsoft"})}, "domains must hold '', the domain of the ONNX standard"),
    "feature as a key": (
        {"kernels": {OpId("Attention", "", "cache"): FACT}},
        "kernels is keyed by operators; put 'cache' into has= of Attention",
    ),
    "no source": (
        {"kernels": {GQA: kernel(F16, source="", confidence="documented")}},
        "the fact about com.microsoft.GroupQueryAttention names no source",
    ),
    "forbidden and there": (
        {"forbidden": frozenset({GQA})}, "com.microsoft.GroupQueryAttention is forbidden and has a kernel",
    ),
    "no record of a kernel": (
        {"kernels": {"GroupQueryAttention": "float16"}},
        "kernels maps OpId to Kernel; found 'GroupQueryAttention': 'float16'",
    ),
    "forbidden words": ({"forbidden": frozenset({"If"})}, "forbidden holds OpId; found 'If'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_refused_with_the_reason(name: str) -> None:
    changes, reason = BAD[name]
    record = dataclasses.replace(MINE, **changes)
    with pytest.raises(WorkbenchError) as refused:
        register_ep(record)
    assert str(refused.value) == f"Execution provider {record.name!r} is not registered: {reason}."
    assert record.name not in execution_providers()


def test_something_else_than_a_record() -> None:
    with pytest.raises(WorkbenchError, match="takes an ExecutionProvider record; found dict. See docs/adding-an-ep.md"):
        register_ep({"name": "my-ep"})


def test_an_unknown_name_is_not_unregistered() -> None:
    with pytest.raises(UnknownNameError, match="Unknown execution provider 'mine'"):
        unregister_ep("mine")


def test_the_ten_lines_of_the_page_work() -> None:
    """The page's first code block is run, its second one is what it prints."""
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:2]
    statements = [line for line in code.splitlines() if line.strip()]
    assert len(statements) - sum(line.startswith(("from ", "import ")) for line in statements) <= 10
    lines: list[str] = []
    exec(code, {"print": lambda *words: lines.append(" ".join(map(str, words)))})
    assert "\n".join(lines) + "\n" == printed


# --- what clients load a graph with -------------------------------------------------------------------------------
def test_the_clients_names_of_providers() -> None:
    assert {name: get_ep(name).genai_name for name in execution_providers()} == {
        "default": "", "cpu": "", "cuda": "cuda", "dml": "dml", "webgpu": "webgpu", "trt-rtx": "NvTensorRtRtx",
        "onnx-standard": "",
    }  # fmt: skip
    for word, name in (("CUDA", "cuda"), ("NvTensorRtRtx", "trt-rtx"), ("WebGpuExecutionProvider", "webgpu")):
        assert ep_of_client(word) is get_ep(name)
    assert ep_of_client("QNN") is None and ep_of_client("") is None


def test_every_option_names_its_source() -> None:
    options = [option for name in execution_providers() for option in get_ep(name).provider_options.values()]
    assert len(options) == 5 and all(option.source and option.value for option in options)


def test_an_option_where_the_cache_grows() -> None:
    option = Option("1", "a data sheet", growing="0")
    assert (option.text(shares_buffer=True), option.text(shares_buffer=False)) == ("1", "0")
    assert Option("1", "a data sheet").text(shares_buffer=False) == "1"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("provider_options", {"a": "1"}, "provider_options maps text to Option; found 'a': '1'"),
        ("session_options", {"a": Option("1", "")}, "the fact about the option 'a' names no source"),
        ("provider_options", {"a": Option("1", "x")}, "provider_options need genai_name"),
        ("provider_options", 3, "provider_options is a mapping; found 3"),
        ("genai_name", None, "genai_name is text; found None"),
    ],
)
def test_bad_options_are_refused(field: str, value: Any, text: str) -> None:
    with pytest.raises(WorkbenchError, match=re.escape(text)):
        register_ep(dataclasses.replace(MINE, **{field: value}))
