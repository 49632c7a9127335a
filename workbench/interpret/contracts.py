"""Arrays against contracts, while they are made: dtype, rank, fixed sizes, symbols of one call, number of requests.

A symbol is a free name: in two calls, or in two rounds, it may stand for two sizes. Within one call it stands for one,
as the dimensions of a graph do: for all ports of an ONNX component; for a binding or an adapter among its inputs, and
among its outputs (a token policy reads all positions and gives one, under the same symbol). Ports of a state group are
left out: documents write the past and the present of a cache with one symbol, and carrying looks at both.
"""

from __future__ import annotations

from collections.abc import Collection

from workbench.interpret.arrays import Array, described, dtype_word_of
from workbench.interpret.diagnostic import Violation
from workbench.metadata.document.tensor import RequestExpanded, TensorContract
from workbench.metadata.dtypes import same_dtype
from workbench.metadata.wording import q

Symbols = dict[str, tuple[int, str]]


def check(
    array: Array,
    contract: TensorContract | None,
    what: str,
    name: str,
    symbols: Symbols | None = None,
    free: Collection[int | None] = (),
    requests: int | None = None,
) -> None:
    """Hold an array against a contract; ``what`` is the subject of the message, ``free`` axes may have any size.

    Raises:
        Violation: run.dtype, run.rank, run.dimension, run.symbol or run.rows.
    """
    if contract is None:
        return
    found = dtype_word_of(array)
    if not same_dtype(found, contract.dtype):
        raise Violation(
            "run.dtype",
            f"{what} is {described(array)}, and its contract says {contract.dtype}.",
            "Correct the contract, or what makes the value.",
            name,
        )
    if array.ndim != contract.rank:
        raise Violation(
            "run.rank",
            f"{what} has {array.ndim} axes ({described(array)}), and its contract says {contract.rank}.",
            "Correct the contract, or what makes the value.",
            name,
        )
    _check_rows(array, contract, what, name, requests)
    for axis, wanted in enumerate(contract.shape or ()):
        if axis not in free:
            _check_dimension(array, axis, wanted, what, name, symbols)


def _check_dimension(array: Array, axis: int, wanted: int | str, what: str, name: str, symbols: Symbols | None) -> None:
    size = array.shape[axis]
    if isinstance(wanted, int):
        if wanted != size:
            raise Violation(
                "run.dimension",
                f"{what} has {size} entries on axis {axis} ({described(array)}), and its contract says {wanted}.",
                "Correct the contract, or what makes the value.",
                name,
            )
    elif symbols is not None:
        known, where = symbols.setdefault(wanted, (size, what))
        if known != size:
            raise Violation(
                "run.symbol",
                f"{q(wanted)} is {size} in {what} and {known} in {where}, within one call.",
                "Give the two axes two symbols, or bring the two values to one size.",
                name,
            )


def request_axis(contract: TensorContract | None, array: Array) -> int | None:
    """The axis with an entry per request, if the contract names one that the array has."""
    axis = contract.request_axis if contract is not None else None
    return axis if axis is not None and axis < array.ndim else None


def rows_of(contract: TensorContract, requests: int) -> int:
    """How many entries the request axis has for so many requests."""
    layout = contract.batch_layout
    return requests * (layout.factor if isinstance(layout, RequestExpanded) else 1)


def _check_rows(array: Array, contract: TensorContract, what: str, name: str, requests: int | None) -> None:
    axis = request_axis(contract, array)
    if requests is None or axis is None:
        return
    wanted = rows_of(contract, requests)
    if array.shape[axis] != wanted:
        raise Violation(
            "run.rows",
            f"{what} is {described(array)}: {array.shape[axis]} entries on its request axis {axis}, and "
            f"this run has {wanted}.",
            "One entry per request must come out of each step.",
            name,
        )
