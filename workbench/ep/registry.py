"""The execution providers by name: those that come with the workbench, and records registered from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

import onnx_ir as ir

from workbench.ep.base import ExecutionProvider, Kernel, Option
from workbench.ep.cpu import CPU
from workbench.ep.cuda import CUDA
from workbench.ep.dml import DML
from workbench.ep.portable import DEFAULT, ONNX_STANDARD
from workbench.ep.trt_rtx import TRT_RTX
from workbench.ep.webgpu import WEBGPU
from workbench.errors import WorkbenchError, unknown
from workbench.types import OpId, dtype_word

_EPS = {ep.name: ep for ep in (DEFAULT, CPU, CUDA, DML, WEBGPU, TRT_RTX, ONNX_STANDARD)}
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def execution_providers() -> tuple[str, ...]:
    """Names of the known execution providers, the portable form first."""
    return tuple(_EPS)


def default_comparison() -> tuple[str, ...]:
    """What ``compare`` sets side by side when nobody says otherwise: all but the portable form it starts from."""
    return tuple(name for name, ep in _EPS.items() if ep is not DEFAULT)


def get_ep(name: str) -> ExecutionProvider:
    """The record of that name.

    Raises:
        UnknownNameError: no execution provider is called so; the close match comes first.
    """
    if not isinstance(name, str) or name not in _EPS:
        raise unknown("execution provider", name, _EPS)
    return _EPS[name]


def ep_of_client(genai_name: str) -> ExecutionProvider | None:
    """The record that ONNX Runtime GenAI calls by this name, in any case and with or without ``ExecutionProvider``."""
    wanted = genai_name.lower().removesuffix("executionprovider")
    return next((ep for ep in _EPS.values() if ep.genai_name and ep.genai_name.lower() == wanted), None)


def register_ep(record: ExecutionProvider, *, replace: bool = False) -> ExecutionProvider:
    """Make a record known under its name, for this process; give it back.

    ``replace=True`` puts it in the place of a record of the same name.

    Raises:
        WorkbenchError: it is no record, or its facts contradict each other, or the name is taken.
    """
    if not isinstance(record, ExecutionProvider):
        raise WorkbenchError(
            f"register_ep takes an ExecutionProvider record; found {type(record).__name__}. "
            "See docs/adding-an-ep.md for one in ten lines."
        )
    problems = list(_wrong_kinds(record)) or list(_problems(record))
    if problems:
        raise WorkbenchError(f"Execution provider {record.name!r} is not registered: {'; '.join(problems)}.")
    if record.name in _EPS and not replace:
        raise WorkbenchError(
            f"Execution provider {record.name!r} is registered already ({_EPS[record.name].title}). "
            "Choose another name, or pass replace=True to put this record in its place."
        )
    _EPS[record.name] = record
    return record


def unregister_ep(name: str) -> None:
    """Forget a record that was registered from outside, or bring back the one it replaced; for tests and notebooks.

    Raises:
        UnknownNameError: no execution provider is called so.
    """
    get_ep(name)
    ours = {ep.name: ep for ep in _OURS}
    if name in ours:
        _EPS[name] = ours[name]
    else:
        del _EPS[name]


_KINDS: dict[str, tuple[Any, str]] = {
    "title": (str, "text"), "computes": (Set, "a set of ir.DataType"), "kernels": (Mapping, "a mapping"),
    "default_dtype": (ir.DataType, "an ir.DataType"), "forbidden": (Set, "a set of OpId"),
    "domains": (Set, "a set of text"), "index_dtype": (ir.DataType, "an ir.DataType"), "ort_provider": (str, "text"),
    "index_dtype_exceptions": (tuple, "a tuple of (OpId, reason)"), "genai_name": (str, "text"),
    "provider_options": (Mapping, "a mapping"), "session_options": (Mapping, "a mapping"),
}  # fmt: skip


def _wrong_kinds(record: ExecutionProvider) -> Iterator[str]:
    """Fields that hold something else than they must: checked first, since the other checks look inside."""
    for name, (kind, allowed) in _KINDS.items():
        value: Any = getattr(record, name)
        if not isinstance(value, kind):
            yield f"{name} is {allowed}; found {repr(value)[:40]}"
        elif name == "computes" and not all(isinstance(dtype, ir.DataType) for dtype in value):
            yield f"computes is {allowed}; found {', '.join(sorted(repr(dtype) for dtype in value))[:40]}"


def _problems(record: ExecutionProvider) -> Iterator[str]:
    """What is wrong with a record, in sentences without a full stop."""
    if not isinstance(record.name, str) or not _NAME.fullmatch(record.name):
        yield "name is made of lower-case letters, digits and single hyphens, as in 'my-ep'"
    floats = [d for d in record.computes if d.is_floating_point()]
    if not floats or len(floats) < len(record.computes):
        found = ", ".join(sorted(dtype_word(d) for d in record.computes)) or "nothing"
        yield f"computes holds the float dtypes with a MatMul, at least one; found {found}"
    if record.default_dtype not in record.computes:
        yield f"default_dtype {dtype_word(record.default_dtype)} is not among the dtypes that it computes in"
    if "" not in record.domains:
        yield "domains must hold '', the domain of the ONNX standard"
    yield from _kernel_problems(record)
    yield from _option_problems(record)


def _option_problems(record: ExecutionProvider) -> Iterator[str]:
    for field in ("provider_options", "session_options"):
        given: list[tuple[object, object]] = list(getattr(record, field).items())
        for name, option in given:
            if not isinstance(name, str) or not isinstance(option, Option):
                yield f"{field} maps text to Option; found {name!r}: {option!r}"
            elif not option.source:
                yield f"the fact about the option {name!r} names no source"
    if record.provider_options and not record.genai_name:
        yield "provider_options need genai_name, the entry that they stand in"


def _kernel_problems(record: ExecutionProvider) -> Iterator[str]:
    given: list[tuple[object, object]] = list(record.kernels.items())
    for use, fact in given:
        if not isinstance(use, OpId) or not isinstance(fact, Kernel):
            yield f"kernels maps OpId to Kernel; found {use!r}: {fact!r}"
            continue
        if use.feature:
            yield f"kernels is keyed by operators; put {use.feature!r} into has= of {use.op}"
        if not fact.source:
            yield f"the fact about {use} names no source"
        if use in record.forbidden and fact.dtypes:
            yield f"{use} is forbidden and has a kernel"
    forbidden: list[object] = list(record.forbidden)
    yield from (f"forbidden holds OpId; found {use!r}" for use in forbidden if not isinstance(use, OpId))


_OURS = tuple(_EPS.values())
