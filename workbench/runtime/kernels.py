"""Kernel tables of the installed ONNX Runtime, read live, and the schemas that say which type parameter is which."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx_ir as ir

from workbench.config.files import cache_dir, reason, write_atomic
from workbench.ep.kernel_table import KernelDef, KernelTable, from_json, recorded, table
from workbench.errors import SaveError, WorkbenchError
from workbench.types import OpId


def live(ort_provider: str) -> KernelTable | None:
    """What is registered for a provider here: built in, or by a plugin library; None where it is not.

    A plugin counts once its library is registered (``onnxruntime.register_execution_provider_library``). A provider
    that compiles registers no kernels, and has no table.
    """
    import datetime

    state, version = _state()
    built_in = [d for d in state.get_all_opkernel_def() if d.provider == ort_provider]
    found = built_in or _of_plugin(state, ort_provider)
    if not found:
        return None
    origin = f"onnxruntime {version}" + ("" if built_in else ", plugin provider")
    today = datetime.date.today().isoformat()
    return table(ort_provider, f"{origin}: kernel registry, read here", today, map(_row, found), live=True)


def _state() -> tuple[Any, str]:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return state, onnxruntime.__version__


def _of_plugin(state: Any, ort_provider: str) -> list[Any]:
    ask = getattr(state, "get_registered_ep_kernel_defs", None)
    if ask is None:
        return []
    try:
        return list(ask(ort_provider))
    except RuntimeError:  # its library is not registered
        return []


def _row(found: Any) -> KernelDef:
    first, last = found.version_range
    types = tuple((name, frozenset(map(_word, allowed))) for name, allowed in sorted(found.type_constraints.items()))
    return KernelDef(OpId(found.op_name, found.domain), first, last, types)


def type_word(given: ir.TypeProtocol) -> str:
    """A value's type as kernels spell it: ``float16``, ``seq(tensor(float))``, ``optional(tensor(int64))``."""
    if isinstance(given, ir.SequenceType | ir.OptionalType):
        kind = "seq" if isinstance(given, ir.SequenceType) else "optional"
        inner = type_word(given.elem_type)
        return f"{kind}({inner if '(' in inner else f'tensor({inner})'})"
    return given.dtype.name.lower()


def _word(text: str) -> str:
    """``tensor(float16)`` -> ``float16``; sequences and optionals keep their spelling."""
    return text[7:-1] if text.startswith("tensor(") else text


def best(ort_provider: str) -> KernelTable | None:
    """The live table, else the one that was recorded last; None where there is none."""
    found = live(ort_provider)
    if found is not None or not ort_provider:
        return found
    known = [one for one in (recorded(ort_provider), _refreshed(ort_provider)) if one is not None]
    return max(known, key=lambda one: one.checked, default=None)


def _refreshed(ort_provider: str) -> KernelTable | None:
    """What ``refresh`` has kept: tables of plugins and of other builds, once they were here.

    Raises:
        WorkbenchError: the file is damaged or cannot be read.
    """
    path = place(ort_provider)
    if not path.is_file():
        return None
    try:
        return from_json(path.read_bytes().decode("utf-8", "replace"))
    except (OSError, WorkbenchError) as error:
        said = reason(error) if isinstance(error, OSError) else "it is not a kernel table"
        raise WorkbenchError(
            f"{path}: {said}. Delete it: the table that ships with the workbench is then taken. Where the provider is "
            "installed, `workbench kernels refresh` makes it again."
        ) from error


def place(ort_provider: str) -> Path:
    """The file that a provider's table is kept in."""
    return cache_dir() / "kernels" / f"{ort_provider}.json"


def keep(found: KernelTable) -> Path:
    """Write a table where :func:`best` finds it when the provider is no longer here.

    Raises:
        SaveError: the folder cannot be written.
    """
    path = place(found.ort_provider)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, found.to_json().encode("utf-8"))
    except OSError as error:
        raise SaveError(f"{path}: {reason(error)}. Set EP_WORKBENCH_CACHE to a folder that can be written.") from error
    return path


@dataclasses.dataclass(frozen=True, slots=True)
class Schema:
    """What ONNX Runtime knows of an operator: since when, and the type parameter of each input and output.

    ``has_body``: it is a function of the standard, which is inlined where there is no kernel.
    """

    since: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    """``(name of an input or output, type parameter)``: kernels may constrain by either."""
    variadic: bool
    has_body: bool = False


@functools.cache
def _schemas() -> dict[tuple[str, str], tuple[Any, ...]]:
    state, _ = _state()
    found: dict[tuple[str, str], list[Any]] = {}
    for schema in state.get_all_operator_schema():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return {key: tuple(sorted(all_of, key=lambda s: s.since_version)) for key, all_of in found.items()}


@functools.cache
def schema(use: OpId, opset: int) -> Schema | None:
    """The schema that ONNX Runtime takes for a node of a model with that opset; None where it knows no such one."""
    known = _schemas().get((use.domain, use.op_type), ())
    found = next((s for s in reversed(known) if s.since_version <= opset), None)
    if found is None:
        return None
    names = tuple((p.name, p.typeStr) for p in (*found.inputs, *found.outputs))
    inputs, outputs = (tuple(p.typeStr for p in side) for side in (found.inputs, found.outputs))
    variadic = bool(found.inputs) and str(found.inputs[-1].option).endswith("Variadic")
    return Schema(found.since_version, inputs, outputs, names, variadic, _has_body(use, opset))


@functools.cache
def loads_opset(version: int) -> bool:
    """Whether ONNX Runtime takes graphs of an opset of the standard at all: one is made, and given to it."""
    import onnx
    import onnxruntime
    from onnx import helper

    if version <= onnx.defs.onnx_opset_version():
        return True
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", values[:1], values[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # the binding raises a dozen unrelated classes
        return False
    return True


def _has_body(use: OpId, opset: int) -> bool:
    import onnx

    try:
        found: Any = onnx.defs.get_schema(use.op_type, opset, use.domain)
    except onnx.defs.SchemaError:
        return False
    return bool(found.has_function or found.has_context_dependent_function)


def tables(names: Iterable[str]) -> dict[str, KernelTable]:
    """The best table of each provider that has one."""
    return {name: found for name in names if (found := best(name)) is not None}
