"""Write ``docs/branch-points.md`` from a run: one line per branch point, with what fired, and what was checked.

Run ``python -m tests.make_branch_points`` after a change of facts or rules, and read the difference. Everything
is in the provider's own dtype; parity is that of its graph on the CPU kernels of this machine.
"""

from __future__ import annotations

import functools
from importlib import metadata
from pathlib import Path
from typing import Any

import onnx_ir as ir

from tests.branch_points import POINTS, Point, Shown
from tests.golden_ops import words
from tests.parity.running import distance
from tests.small import SEED, generic, numbers, on
from workbench.ep import get_ep
from workbench.models import lookup
from workbench.optimize import Optimized, run_plan
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.tasks import get_task
from workbench.types import dtype_word

PAGE = Path(__file__).resolve().parent.parent / "docs" / "branch-points.md"
BOUND = 2e-5
VERSIONS = ("onnxruntime", "onnx", "onnx-ir", "onnxscript", "numpy")
HEAD = """# Branch points

The places where execution providers differ, one line each, written by a run of `python -m tests.make_branch_points`.
*Fired* counts rewrites against candidates on a small model of two layers (`L`), in the provider's own dtype, and holds
them against a formula of its config. *Legal*: nothing is left that the provider must not be given. *Parity*: the
largest difference of a logit (of an encoder: of a hidden state) that this run found between the provider's graph on CPU
kernels (`ort-cpu`) and the generic graph in float32, and its tolerance: 2e-05 in float32, in float16 twice what the
dtype alone does to the generic graph. Rows are run alone, in a padded batch and in decode steps; weights are drawn with
seed {seed}, and ONNX Runtime's own rewrites are off. It shows that the graph computes the same, not that a provider's
kernels do. What is not built says so.

This run: {versions}.

| point | what | provider | fired | legal | parity | test |
|---|---|---|---|---|---|---|
"""


class Wrong(AssertionError):
    """A row is not what its formula says."""


def optimized(shown: Shown, name: str) -> tuple[Optimized, Any]:
    """A small model's graph for a provider, in its own dtype; from another provider's graph where the row says so."""
    ep, role = get_ep(name), get_task(lookup(shown.family).task).roles["model"]
    dtype = ep.default_dtype
    model, _ = generic(shown.family, dtype, literals(shown))
    for provider in (*([shown.fused_on] if shown.fused_on else []), name):
        facts = get_ep(provider)
        made = run_plan(model, plan(facts, dtype, role, RULES), facts)
        model = made.model
    spec = lookup(shown.family)
    return made, spec.read({**words(spec), **dict(shown.more)})


def literals(shown: Shown) -> tuple[tuple[str, str], ...]:
    """The config's words as text, by which graphs can be kept."""
    return tuple((word, repr(value)) for word, value in shown.more)


@functools.cache
def parity(family: str, name: str, fused_on: str, more: tuple[tuple[str, str], ...] = ()) -> tuple[str, float, float]:
    """The dtype, how far a provider's graph is from the generic one, and how far it may be.

    Raises:
        Wrong: it is farther.
    """
    dtype = get_ep(name).default_dtype
    expected, (model, role) = numbers(*generic(family, more=more)), generic(family, dtype, more)
    bound = BOUND if dtype == ir.DataType.FLOAT else 2 * distance(numbers(model, role), expected)
    for provider in (*([fused_on] if fused_on else []), name):
        model = on(model, role, provider, dtype)
    worst = distance(numbers(model, role), expected)
    if not worst <= bound or bound > 0.2:
        raise Wrong(f"{family} on {name}: {worst:.1e} from the generic graph, {bound:.1e} are allowed")
    return dtype_word(dtype), worst, bound


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
        word, worst, bound = parity(shown.family, name, shown.fused_on, literals(shown))
        fired = f"`{shown.rule}` {rule.applied} of {rule.candidates} = {shown.formula} ({shown.family}) | {legal}"
        found.setdefault((fired, word), []).append((name, worst, bound))
    head = f"| {point.number} | {point.what} "
    return [
        f"{head}| {_names(same)} | {fired} | {word} {_worst(same)} | {test} |\n"
        for (fired, word), same in found.items()
    ]


Measured = list[tuple[str, float, float]]


def _names(found: Measured) -> str:
    return ", ".join(name for name, _, _ in found)


def _worst(found: Measured) -> str:
    """The number of the provider that is nearest to its bound."""
    _, worst, bound = max(found, key=lambda one: one[1] / one[2])
    return f"{worst:.1e} ≤ {bound:.1e}"


def page() -> str:
    """The whole page."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in VERSIONS)
    return HEAD.format(seed=SEED, versions=versions) + "".join(line for point in POINTS for line in lines(point))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
