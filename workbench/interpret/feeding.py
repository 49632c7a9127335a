"""The values a run starts with: what the caller gives, defaults, files of the package, and who is absent."""

from __future__ import annotations

import contextlib
import difflib
import math
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.errors import FeedsError
from workbench.interpret.arrays import Array, described, dtype_word_of, numpy_dtype
from workbench.interpret.contracts import check, rows_of
from workbench.interpret.diagnostic import Violation
from workbench.interpret.given import check_given
from workbench.interpret.roles import Facts, role_of
from workbench.interpret.scoped import Held
from workbench.metadata.document.state import Bounded, IndexedScatter
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import ApplicationSource, ArtifactSource, WorkflowInput
from workbench.metadata.dtypes import same_dtype
from workbench.metadata.files import look_for
from workbench.metadata.wording import brief, few, q
from workbench.runtime.arrays import as_arrays

_MOST_BYTES = 2**33


class Feeding:
    """``given`` maps inputs to arrays: by their name, the application's name for them, or their runtime role."""

    def __init__(self, facts: Facts, given: Mapping[str, Any], root: pathlib.Path | None) -> None:
        self.facts, self.root = facts, root
        self.given: dict[str, Array] = {}
        words: dict[str, str] = {}
        for word, array in as_arrays(given, "inputs").items():
            name = input_of(facts, word)
            if name in self.given:
                raise given_twice(name, q(words[name]), q(word))
            self.given[name], words[name] = array, word
        self.symbols: dict[str, int] = {}  # of the first input that has each: two inputs may differ
        self.requests = self._requests()

    def _requests(self) -> int:
        """B: the length of the request axis of what is given; 1 where nothing given has one."""
        for name, array in self.given.items():
            contract = self.facts.workflow.inputs[name].contract
            axis = contract.request_axis
            if axis is not None and axis < array.ndim:
                return max(1, int(array.shape[axis]) // max(rows_of(contract, 1), 1))
        return 1

    def values(self) -> dict[str, tuple[Held, str]]:
        """Every initial value that is there, with a word on where it came from. What is given binds symbols first.

        Raises:
            Violation: an input that is missing, or does not fit.
        """
        found: dict[str, tuple[Held, str]] = {}
        inputs = self.facts.workflow.inputs
        for name in [*(n for n in inputs if n in self.given), *(n for n in inputs if n not in self.given)]:
            entry = inputs[name]
            made = self._value(name, entry)
            if made is not None:
                found[name] = (Held(made[0], entry.contract), made[1])
            if entry.present_as is not None:
                contract = TensorContract(dtype="bool", rank=0, shape=())
                found[entry.present_as] = (Held(np.asarray(made is not None), contract), f"whether {name} is given")
        return found

    def _value(self, name: str, entry: WorkflowInput) -> tuple[Array, str] | None:
        if name in self.given:
            return self._fitted(name, entry, self.given[name]), "given"
        if entry.default is not None:
            return self._default(name, entry), "default"
        if isinstance(entry.source, ArtifactSource):
            return self._fitted(name, entry, self._file(name, entry.source.path)), f"file {entry.source.path}"
        application = entry.source.name if isinstance(entry.source, ApplicationSource) else None
        if name in self.facts.supplied or (not entry.required and entry.present_as is not None):
            return None
        role = role_of(entry)
        said = f" (its role is {role})" if role else f" (the application's {q(application)})" if application else ""
        raise Violation(
            "run.input",
            f"The input {q(name)} is required and not given{said}.",
            f"Give inputs={{{name!r}: ...}}, {described_contract(entry.contract)}.",
            name,
        )

    def _fitted(self, name: str, entry: WorkflowInput, array: Array) -> Array:
        """What is given in the dtype of its contract, where no value changes; a number for a [1] or [B] as well."""
        wanted = numpy_dtype(entry.contract.dtype)
        if not same_dtype(dtype_word_of(array), entry.contract.dtype):
            array = _cast(name, array, wanted)
        check_given(self.facts, name, array)
        if array.ndim == 0 and entry.contract.rank == 1:
            array = np.full(self._shape(name, entry), array)
        try:
            check(array, entry.contract, f"The input {q(name)}", name, None, (), self.requests)
        except Violation as found:
            raise Violation("run.input", found.message, f"Give {described_contract(entry.contract)}.", name) from None
        for dim, size in zip(entry.contract.shape or (), array.shape, strict=False):
            if isinstance(dim, str):
                self.symbols.setdefault(dim, size)
        return array

    # --- defaults -----------------------------------------------------------------------------------------
    def _default(self, name: str, entry: WorkflowInput) -> Array:
        flat = _elements(name, entry)
        if flat.ndim == 0:
            return np.full(self._shape(name, entry), flat)
        shape = self._shape(name, entry, flat.size)
        whole = flat.size == math.prod(shape)
        if not whole and flat.size != math.prod(shape[1:]):
            raise Violation(
                "run.input",
                f"The default of {q(name)} has {flat.size} elements, and its shape is {list(shape)}.",
                "Give one element for all, or as many as the shape has.",
                name,
            )
        return flat.reshape(shape) if whole else np.broadcast_to(flat.reshape(shape[1:]), shape).copy()

    def _shape(self, name: str, entry: WorkflowInput, elements: int | None = None) -> tuple[int, ...]:
        """The shape of a default; of a list of elements one axis may follow from their number."""
        contract = entry.contract
        if contract.shape is None and contract.rank > 0:
            raise Violation("run.input", f"The default of {q(name)} has no shape.", "Give the input, or a shape.", name)
        found = [self._size(name, contract, axis, dim) for axis, dim in enumerate(contract.shape or ())]
        free = [axis for axis, size in enumerate(found) if size is None]
        each = contract.request_axis == 0  # a list of elements is then that of one request
        rest = math.prod(size for axis, size in enumerate(found) if size is not None and not (each and axis == 0))
        for axis in free:
            if elements is None and (free == [axis] or self._started(name, axis) == "bounded"):
                found[axis] = 1  # one number fills one place
            elif elements is not None and free == [axis] and rest:
                found[axis] = elements // rest
        if None in found:
            dim = (contract.shape or ())[found.index(None)]
            raise Violation(
                "run.input",
                f"The default of {q(name)} has an axis {q(dim)} whose size nothing given says.",
                f"Give inputs={{{name!r}: ...}}, or write a number.",
                name,
            )
        return _bounded(name, entry, tuple(size for size in found if size is not None))

    def _size(self, name: str, contract: TensorContract, axis: int, dim: int | str) -> int | None:
        """The size of an axis that a default has: a number as it is; one for each request; nothing yet where a cache
        grows; the capacity of a buffer; else what the symbol is in the inputs that are given. None: not known."""
        if isinstance(dim, int):
            return dim
        if axis == contract.request_axis:
            return rows_of(contract, self.requests)
        started = self._started(name, axis)
        if started == "growing":
            return 0
        if isinstance(started, int):
            return started
        return self.symbols.get(dim) if started is None else None

    def _started(self, name: str, axis: int) -> str | int | None:
        """What an axis is to the cells that a value starts: growing, bounded, or a buffer of so many places."""
        for cell in self.facts.started_by.get(name, ()):
            if axis in self.facts.sequence_axes(cell):
                bounded = isinstance(self.facts.workflow.state[cell].recurrence, Bounded)
                free = bounded and self.facts.group_of(cell) is None  # the runtime's own caches begin empty
                return "bounded" if free else "growing"
            capacity = self._capacity(cell, axis)
            if capacity is not None:
                return capacity
        return None

    def _capacity(self, cell: str, axis: int) -> int | None:
        group = self.facts.group_of(cell)
        if group is None or not isinstance(group.update, IndexedScatter) or axis != group.sequence_axis:
            return None
        entry = self.facts.workflow.inputs.get(group.update.capacity)
        array = self.given.get(group.update.capacity)
        if array is not None:
            return int(array.reshape(-1)[0])
        return int(entry.default) if entry is not None and isinstance(entry.default, int) else None

    def _file(self, name: str, path: str) -> Array:
        verdict = "absent" if self.root is None else look_for(self.root, path)
        if verdict != "there" or self.root is None:
            raise Violation(
                "run.input",
                f"The file {q(path)} of {q(name)} is not in the package ({verdict}).",
                f"Add it, or give inputs={{{name!r}: ...}}.",
                name,
            )
        with contextlib.suppress(Exception):  # a damaged file raises what its reader likes
            loaded = np.load(self.root / path, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
        raise Violation(
            "run.input",
            f"The file {q(path)} of {q(name)} is no .npy file of numbers.",
            f"Give inputs={{{name!r}: ...}}.",
            name,
        )


def _elements(name: str, entry: WorkflowInput) -> Array:
    """What a default is made of, in the dtype of its contract; no axis for one number."""
    wanted, found = numpy_dtype(entry.contract.dtype), np.asarray(entry.default)
    with np.errstate(all="ignore"):
        made = found.astype(wanted) if found.dtype.kind in "biuf" else None
    if made is None or not _same(made, found, wanted.kind in "biu"):
        raise Violation(
            "run.input",
            f"The default of {q(name)} is {brief(entry.default)}, and its contract says {wanted}.",
            "Correct the default, or give the input.",
            name,
        )
    return np.asarray(made)


def _bounded(name: str, entry: WorkflowInput, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, if memory can have so much at all."""
    count = math.prod(max(size, 1) for size in shape) * numpy_dtype(entry.contract.dtype).itemsize
    if count > _MOST_BYTES:
        raise Violation(
            "run.input",
            f"The input {q(name)} is {described_contract(entry.contract)} and would take {count:,} bytes; one is made "
            f"of at most {_MOST_BYTES:,}.",
            f"Give inputs={{{name!r}: ...}}, or write smaller sizes.",
            name,
        )
    return shape


def input_of(facts: Facts, word: str) -> str:
    """The input that a word means: its name, the application's name for it, or its runtime role.

    Raises:
        FeedsError: none, or several.
    """
    inputs = facts.workflow.inputs
    if word in inputs:
        return word
    meant = [
        name
        for name, entry in inputs.items()
        if role_of(entry) == word or (isinstance(entry.source, ApplicationSource) and entry.source.name == word)
    ]
    if len(meant) == 1:
        return meant[0]
    near = difflib.get_close_matches(word[:60], list(inputs), 1)
    guess = f" Is {q(near[0])} meant?" if near else ""
    what = "no input of that name, source or role" if not meant else f"several: {few(meant)}"
    raise FeedsError(f"inputs has {q(word)}, and the workflow has {what}.{guess} It has {few(list(inputs))}.")


def given_twice(name: str, first: str, second: str) -> FeedsError:
    """For an input that is given by two words."""
    return FeedsError(f"The input {q(name)} is given twice: {first} and {second}. Give one of them.")


def _cast(name: str, array: Array, wanted: np.dtype[Any]) -> Array:
    """Python's numbers in the dtype of the contract; a fraction never becomes a whole number, nor a text anything."""
    if not array.size and array.dtype.kind in "biuf":  # an empty list is float64 for numpy, and holds no number
        return array.astype(wanted)
    with np.errstate(all="ignore"):
        made = array.astype(wanted) if array.dtype.kind in "biuf" or array.dtype.kind == "V" else None
    kinds = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}
    allowed = kinds.get(wanted.kind, "iuf")  # the small floats of ONNX have a kind of their own
    exact = made is not None and _same(made, array, wanted.kind in "iu")
    if made is None or array.dtype.kind not in allowed or not exact:
        raise Violation(
            "run.input",
            f"The input {q(name)} is {described(array)}, and its contract says {wanted}.",
            "Convert it.",
            name,
        )
    return np.asarray(made)


def _same(made: Array, array: Array, whole: bool) -> bool:
    """Whether whole numbers are the same, and no finite number became infinite."""
    if whole:
        return np.array_equal(made, array)
    return bool((np.isfinite(made.astype(np.float64)) | ~np.isfinite(array.astype(np.float64))).all())


def described_contract(contract: TensorContract) -> str:
    """``int64[batch, seq]`` for a hint."""
    dims = contract.shape if contract.shape is not None else ["?"] * contract.rank
    return f"{contract.dtype}[{', '.join(map(str, dims))}]"
