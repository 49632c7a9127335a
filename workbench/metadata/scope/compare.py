"""Whether two contracts can be those of one value, and what a value that controls something must look like.

What is wrong with a contract in itself (a dtype that cannot be named, a rank beside another number of dimensions) is
told where it is declared, so here such a contract fits everything that it could have meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.dtypes import NAMEABLE, is_integer, same_dtype
from workbench.metadata.wording import few

Known = TensorContract | None


def shown(contract: Known) -> str:
    """``float32 [batch, 2]``, or ``float32 of rank 2`` without a shape."""
    if contract is None:
        return "of a kind that nothing declares"
    if contract.shape is None or len(contract.shape) != contract.rank:
        return f"{few((contract.dtype,))} of rank {contract.rank}"
    return f"{few((contract.dtype,))} [{few(contract.shape) if contract.shape else ''}]"


def ranks(contract: TensorContract) -> set[int]:
    return {contract.rank} if contract.shape is None else {contract.rank, len(contract.shape)}


def kinds_differ(a: Known, b: Known) -> bool:
    """Whether dtype or rank are different; batch layouts are not compared."""
    if a is None or b is None:
        return False
    nameable = a.dtype in NAMEABLE and b.dtype in NAMEABLE
    return (nameable and not same_dtype(a.dtype, b.dtype)) or ranks(a).isdisjoint(ranks(b))


def axes_that_differ(a: Known, b: Known, exempt: Collection[int | None] = ()) -> Iterator[tuple[int, int, int]]:
    """Axis and the two numbers, where both fix one and they differ. Symbols are free names."""
    if a is None or b is None or a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return
    for axis, (x, y) in enumerate(zip(a.shape, b.shape)):
        if isinstance(x, int) and isinstance(y, int) and x != y and axis not in exempt:
            yield axis, x, y


def fits(a: Known, b: Known, exempt: Collection[int | None] = ()) -> bool:
    return not kinds_differ(a, b) and not any(axes_that_differ(a, b, exempt))


# --- values that control something ----------------------------------------------------------------------
def _is(contract: TensorContract, dtype: bool) -> bool:
    return dtype or contract.dtype not in NAMEABLE


def is_flag(contract: Known) -> bool:
    """bool, one or one per request."""
    return contract is None or (_is(contract, contract.dtype == "bool") and bool(ranks(contract) & {0, 1}))


def is_count(contract: Known) -> bool:
    """Whole numbers, one or one per request."""
    return contract is None or (_is(contract, is_integer(contract.dtype)) and bool(ranks(contract) & {0, 1}))


def is_single(contract: Known) -> bool:
    """One number: rank 0, or rank 1 with the one dimension 1."""
    if contract is None or 0 in ranks(contract):
        return True
    if 1 not in ranks(contract):
        return False
    return contract.shape == (1,) or (contract.shape is not None and len(contract.shape) != contract.rank)


def is_scalar_count(contract: Known) -> bool:
    return contract is None or (_is(contract, is_integer(contract.dtype)) and is_single(contract))


def is_scalar_choice(contract: Known) -> bool:
    """What a branch can choose by: one truth value or whole number."""
    if contract is None:
        return True
    return _is(contract, contract.dtype == "bool" or is_integer(contract.dtype)) and is_single(contract)
