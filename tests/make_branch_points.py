"""Write ``docs/branch-points.md`` from a run: one line per branch point, with what fired, and what was checked.

Run ``python -m tests.make_branch_points`` after a change of facts or rules, and read the difference. Everything
is in the provider's own dtype; parity is that of its graph on the CPU kernels of this machine.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import onnx_ir as ir

from tests.branch_points import POINTS, Point, Shown
from tests.golden_ops import words
from tests.parity.running import distance
from tests.small import generic, numbers, on
from workbench.ep import get_ep
from workbench.models import lookup
from workbench.optimize import Optimized, run_plan
from workbench.recipe import Recipe
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.tasks import get_task
from workbench.types import dtype_word

PAGE = Path(__file__).resolve().parent.parent / "docs" / "branch-points.md"
BOUND = 2e-5
HEAD = """# Branch points

The places where execution providers differ, one line each, written by a run of `python -m tests.make_branch_points`.
*Fired* counts rewrites against candidates on a small model of two layers (`L`), in the provider's own dtype, and holds
them against a formula. *Legal*: nothing is left that the provider must not be given. *Parity*: the graph on the kernels
of this machine's CPU, each row alone and in a padded batch, against the generic graph in float32; in float16 it may be
as far from that as twice what the dtype alone does to the generic graph. It shows that the graph computes the same, not
that a provider's kernels do. What is not built says so.

| point | what | provider | fired | legal | parity | test |
|---|---|---|---|---|---|---|
"""


class Wrong(AssertionError):
    """A row is not what its formula says."""


@functools.cache
def skeleton(family: str, dtype: ir.DataType, more: str) -> tuple[ir.Model, Any]:
    spec = lookup(family)
    config = spec.read({**words(spec), **dict(_MORE.get(more, ()))})
    return Recipe(spec.module, config, get_task(spec.task)).generic(dtype)[0]["model"], config


_MORE: dict[str, tuple[tuple[str, Any], ...]] = {
    shown.rule: shown.more for point in POINTS for shown in point.shown if shown.more
}


def optimized(shown: Shown, name: str) -> tuple[Optimized, Any]:
    """A small model's graph for a provider, in its own dtype; from another provider's graph where the row says so."""
    ep, role = get_ep(name), get_task(lookup(shown.family).task).roles["model"]
    dtype = ep.default_dtype
    model, config = skeleton(shown.family, dtype, shown.rule if shown.more else "")
    for provider in (*([shown.fused_on] if shown.fused_on else []), name):
        facts = get_ep(provider)
        made = run_plan(model, plan(facts, dtype, role, RULES), facts)
        model = made.model
    return made, config


@functools.cache
def parity(family: str, name: str, fused_on: str) -> str:
    dtype = get_ep(name).default_dtype
    expected, (model, role) = numbers(*generic(family)), generic(family, dtype)
    bound = BOUND if dtype == ir.DataType.FLOAT else 2 * distance(numbers(model, role), expected)
    for provider in (*([fused_on] if fused_on else []), name):
        model = on(model, role, provider, dtype)
    worst = distance(numbers(model, role), expected)
    if not worst <= bound or bound > 0.2:
        raise Wrong(f"{family} on {name}: {worst:.1e} from the generic graph, {bound:.1e} are allowed")
    return (
        f"{dtype_word(dtype)} ≤ {BOUND:.0e}"
        if dtype == ir.DataType.FLOAT
        else f"{dtype_word(dtype)} ≤ 2 × the dtype's own"
    )


def lines(point: Point) -> list[str]:
    """The lines of a branch point: one per rule and provider, or one that says where the decision stands."""
    test = ", ".join(f"`{name}`" for name in point.test.split(", ")) if point.test else "-"
    if not point.shown:
        return [f"| {point.number} | {point.what} | - | {point.note} | - | - | {test} |\n"]
    found = [line for shown in point.shown for line in _shown(point, shown, test)]
    return [*found, f"| {point.number} | {point.what} | - | {point.note} | - | - | - |\n"] if point.note else found


def _shown(point: Point, shown: Shown, test: str) -> list[str]:
    found = {}
    for name in shown.providers:
        made, config = optimized(shown, name)
        rule = next(report for report in made.report.rules if report.rule == shown.rule)
        wanted = shown.count(config)
        if (rule.applied, rule.candidates) != (wanted, wanted):
            raise Wrong(f"{shown.rule} on {name}: {rule.applied} of {rule.candidates}, {shown.formula} is {wanted}")
        wrong = [d for d in made.report.diagnostics if d.severity == "error"]
        legal = "yes" if not wrong else f"no: {wrong[0].message}"
        same = parity(shown.family, name, shown.fused_on) if not shown.more else "see the test"
        key = (
            f"`{shown.rule}` {rule.applied} of {rule.candidates} = {shown.formula} ({shown.family}) | {legal} | {same}"
        )
        found.setdefault(key, []).append(name)
    head = f"| {point.number} | {point.what} "
    return [f"{head}| {', '.join(names)} | {key} | {test} |\n" for key, names in found.items()]


def page() -> str:
    """The whole page."""
    return HEAD + "".join(line for point in POINTS for line in lines(point))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
