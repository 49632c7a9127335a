"""Every fact about execution providers with its source, and which rules it switches: plans with and without it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import onnx_ir as ir

from workbench.analysis.markup import block, plural, table
from workbench.ep import ExecutionProvider, execution_providers, get_ep
from workbench.ep.base import Kernel
from workbench.ep.quantized import PARTS
from workbench.rules import RULES
from workbench.rules.base import Rule
from workbench.rules.plan import plan
from workbench.types import FLOAT_DTYPES, OpId, Role, dtype_word

if TYPE_CHECKING:
    import pandas as pd

    from workbench.widgets.capability_matrix import CapabilityMatrix

COLUMNS = [
    "execution_provider", "kind", "op", "feature", "dtype", "holds", "confidence", "checked", "source", "switches",
]  # fmt: skip
Kind = Literal["computes", "kernel", "feature", "forbidden", "quantized"]
NOT_SAID = "not said"


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known about a provider, at one dtype.

    ``holds``: the provider has it (of ``forbidden``: the operator must not remain). ``switches`` names the rules that
    would be planned otherwise if the fact were the opposite, for a graph of any role; a sign says which way it is now:
    ``+fuse/gqa`` is planned because of it, ``−fuse/gqa`` is not, ``~fuse/gqa`` is planned with other features.
    """

    execution_provider: str
    kind: Kind
    op: str
    feature: str
    dtype: str
    holds: bool
    confidence: str
    checked: str
    source: str
    switches: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """Facts of several providers, in the order of their records."""

    execution_providers: tuple[str, ...]
    facts: tuple[Fact, ...]

    @property
    def ops(self) -> tuple[str, ...]:
        """The operators that some fact speaks of."""
        return tuple(dict.fromkeys(fact.op for fact in self.facts if fact.op))

    def where(self, *, execution_provider: str = "", dtype: str = "", op: str = "", rule: str = "") -> Capabilities:
        """The facts that fit every filter that is given."""
        kept = [
            fact for fact in self.facts
            if execution_provider in ("", fact.execution_provider) and dtype in ("", fact.dtype) and op in ("", fact.op)
            and (not rule or any(switch[1:] == rule for switch in fact.switches))
        ]  # fmt: skip
        return dataclasses.replace(self, facts=tuple(kept))

    def to_frame(self) -> pd.DataFrame:
        """A row per fact: ``COLUMNS``; ``switches`` is space-separated."""
        import pandas as pd

        rows = [[*dataclasses.astuple(f)[:-1], " ".join(f.switches)] for f in self.facts]
        return pd.DataFrame(rows, columns=COLUMNS)

    def widget(self) -> CapabilityMatrix:
        """The facts to filter and read, in a notebook."""
        from workbench.widgets.capability_matrix import CapabilityMatrix

        return CapabilityMatrix(self)

    def __repr__(self) -> str:
        switching = sum(bool(fact.switches) for fact in self.facts)
        return (
            f"Capabilities({plural(len(self.execution_providers), 'execution provider')}, "
            f"{plural(len(self.facts), 'fact')}, {switching:,} of them switch a rule)"
        )

    def _repr_html_(self) -> str:
        return block(repr(self), table(COLUMNS, [_row(fact) for fact in self.facts], empty="No facts to show."))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _row(fact: Fact) -> list[object]:
    holds = "yes" if fact.holds else "no"
    return [
        fact.execution_provider, fact.kind, fact.op, fact.feature, fact.dtype, holds, fact.confidence, fact.checked,
        fact.source, " ".join(fact.switches),
    ]  # fmt: skip


def capabilities(
    names: Sequence[str] | None = None, *, dtypes: Sequence[str] = tuple(FLOAT_DTYPES), rules: Sequence[Rule] = RULES
) -> Capabilities:
    """The facts of execution providers (None: all), each with the rules that depend on it.

    Raises:
        UnknownNameError: unknown execution provider.
    """
    chosen = tuple(execution_providers() if names is None else names)
    facts = [
        fact for name in chosen for word in dtypes
        for fact in _facts(get_ep(name), FLOAT_DTYPES[word], rules)
    ]  # fmt: skip
    return Capabilities(chosen, tuple(facts))


def _facts(ep: ExecutionProvider, dtype: ir.DataType, rules: Sequence[Rule]) -> Iterable[Fact]:
    word, now = dtype_word(dtype), _plans(ep, dtype, rules)
    blank = Fact(ep.name, "computes", "", "", word, dtype in ep.computes, NOT_SAID, "", f"record of {ep.title}")
    yield blank
    for use in sorted(ep.forbidden):
        other = dataclasses.replace(ep, forbidden=ep.forbidden - {use})
        switches = _switched(now, _plans(other, dtype, rules))
        yield dataclasses.replace(blank, kind="forbidden", op=str(use), holds=True, switches=switches)
    for use, kernel in ep.kernels.items():
        yield from _kernel_facts(ep, use, kernel, dtype, rules, now, blank)
    yield from _quantized_facts(ep, blank)


def _quantized_facts(ep: ExecutionProvider, blank: Fact) -> Iterable[Fact]:
    """Forms of weights and of the cache; they are told and switch nothing."""
    for part in PARTS:
        fact = ep.quantized.get(part)
        source = ep.quantized_source or NOT_SAID if fact is None else fact.source
        yield dataclasses.replace(
            blank, kind="quantized", op=f"{part} weights", feature=str(fact) if fact else "no form is known",
            holds=fact is not None, confidence=fact.confidence if fact else NOT_SAID,
            checked=fact.checked if fact else "", source=source,
        )  # fmt: skip
    if (cache := ep.quantized_cache) is not None:
        yield dataclasses.replace(
            blank, kind="quantized", op="cache", feature=str(cache), holds=bool(cache.schemes),
            confidence=cache.confidence, checked=cache.checked, source=cache.source,
        )  # fmt: skip


Plans = dict[str, str]


def _kernel_facts(
    ep: ExecutionProvider, use: OpId, kernel: Kernel, dtype: ir.DataType, rules: Sequence[Rule], now: Plans, blank: Fact
) -> Iterable[Fact]:
    told = dataclasses.replace(
        blank, kind="kernel", op=str(use), holds=dtype in kernel.dtypes, confidence=kernel.confidence,
        checked=kernel.checked, source=kernel.source,
    )  # fmt: skip
    flipped = dataclasses.replace(kernel, dtypes=kernel.dtypes ^ {dtype})
    yield dataclasses.replace(told, switches=_switched(now, _plans(_with(ep, use, flipped), dtype, rules)))
    asked = {o.feature for rule in rules for o in (*rule.optional, *rule.produces, *rule.removes) if o.op == use}
    for feature in sorted((asked | kernel.has) - {""}):
        flipped = dataclasses.replace(kernel, has=kernel.has ^ {feature})
        switches = _switched(now, _plans(_with(ep, use, flipped), dtype, rules))
        holds = feature in kernel.has and dtype in kernel.dtypes
        yield dataclasses.replace(told, kind="feature", feature=feature, holds=holds, switches=switches)


def _with(ep: ExecutionProvider, use: OpId, kernel: Kernel) -> ExecutionProvider:
    return dataclasses.replace(ep, kernels={**ep.kernels, use: kernel})


def _plans(ep: ExecutionProvider, dtype: ir.DataType, rules: Sequence[Rule]) -> Plans:
    """What is planned in any role, each rule with all that a plan says of it; nothing where it cannot compute."""
    if dtype not in ep.computes:
        return {}
    steps = (step for role in Role for step in plan(ep, dtype, role, rules).steps)
    return {step.rule.name: f"{sorted(step.allows)} {sorted(step.must_go or ())}" for step in steps}


def _switched(now: Plans, other: Plans) -> tuple[str, ...]:
    """Rules that are planned in one of two plans only, or otherwise; the sign says how it is now."""
    found = [f"+{name}" for name in now if name not in other] + [f"−{name}" for name in other if name not in now]
    return (*found, *(f"~{name}" for name in now if name in other and now[name] != other[name]))


__all__ = ["Capabilities", "Fact", "capabilities"]
