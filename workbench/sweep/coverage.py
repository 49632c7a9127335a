"""How much of what is proven each fusion reaches: every proven family, run through every provider's pipeline."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.analysis.markup import block, table
from workbench.ep import ExecutionProvider, default_comparison, get_ep
from workbench.errors import WorkbenchError
from workbench.models import SPECS, ModelSpec
from workbench.optimize import run_plan
from workbench.recipe import PLAIN, Recipe
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.tasks import get_task
from workbench.types import Stage, dtype_word, parse_dtype
from workbench.zoo import families

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["rule", "execution_provider", "dtype", "planned", "candidates", "fired", "whole", "types", "share", "seed"]
ANY = "any fusion"
SEED = {
    "fuse/gqa": 0.60, "fuse/skip_rms_norm": 0.52, "fuse/skip_layer_norm": 0.49, "fuse/bias_gelu": 0.15,
    "fuse/gelu": 0.25, ANY: 0.85,
}  # fmt: skip
"""What the seed design expected of a larger list of models: the share that gets at least one."""

_SIZES: dict[str, Any] = {
    "vocab_size": 96, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 128, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128,
}  # fmt: skip
"""The words of every family: each reads its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class CoverageRow:
    """One fusion for one provider over all proven types.

    ``fired`` types have at least one rewrite, ``whole`` ones no candidate left; ``candidates`` types have any.
    """

    rule: str
    execution_provider: str
    dtype: str
    planned: bool
    candidates: int
    fired: int
    whole: int
    types: int

    @property
    def share(self) -> float:
        return self.fired / self.types if self.types else 0.0


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Rows by rule and provider. ``types`` are the proven families that were run; ``stale`` proofs are among them."""

    rows: tuple[CoverageRow, ...]
    types: tuple[str, ...]
    stale: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()

    def row(self, rule: str, execution_provider: str) -> CoverageRow | None:
        """The row of a rule (or :data:`ANY`) and a provider."""
        return next((r for r in self.rows if (r.rule, r.execution_provider) == (rule, execution_provider)), None)

    def to_frame(self) -> pd.DataFrame:
        """A row per rule and provider; ``seed`` is the seed design's figure, where it has one."""
        import pandas as pd

        return pd.DataFrame([_cells(row) for row in self.rows], columns=COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        rows = [{**dataclasses.asdict(row), "share": row.share, "seed": SEED.get(row.rule)} for row in self.rows]
        return {"types": list(self.types), "stale": list(self.stale), "failed": dict(self.failed), "rows": rows}

    def __repr__(self) -> str:
        best = {rule: max((r.share for r in self.rows if r.rule == rule), default=0.0) for rule in SEED}
        said = ", ".join(f"{rule} {share:.0%} (seed {SEED[rule]:.0%})" for rule, share in best.items())
        stale = f", {len(self.stale)} proofs stale" if self.stale else ""
        return f"Coverage({len(self.types)} proven types{stale}; best provider: {said})"

    def _repr_html_(self) -> str:
        return block(repr(self), table(COLUMNS, [_cells(row) for row in self.rows], empty="Nothing is proven."))


def _cells(row: CoverageRow) -> list[Any]:
    return [*dataclasses.astuple(row), row.share, SEED.get(row.rule)]


def coverage(execution_providers: Sequence[str] | None = None, dtype: str | None = None) -> Coverage:
    """Run every proven family through the pipelines of execution providers, and count per fusion.

    Each family is run as a small model with plain settings, and once more with those that exercise it; a fusion has
    reached a family if it fired in either. ``dtype`` None is each provider's default.

    Raises:
        UnknownNameError: unknown execution provider or dtype.
    """
    names = default_comparison() if execution_providers is None else tuple(execution_providers)
    proofs = {family.model_type: family.proven for family in families().families if family.proven != "no"}
    specs = [spec for spec in SPECS if spec.model_type in proofs]
    failed: list[tuple[str, str]] = []
    rows: list[CoverageRow] = []
    recipes = {spec.model_type: _recipes(spec, failed) for spec in specs}
    for name in names:
        ep = get_ep(name)
        compute = parse_dtype(dtype) if dtype is not None else ep.default_dtype
        if compute in ep.computes:
            rows += _rows(ep, compute, recipes)
    stale = tuple(name for name, proven in proofs.items() if proven == "stale")
    order = {rule.name: i for i, rule in enumerate(RULES)} | {ANY: len(RULES)}
    rows.sort(key=lambda row: order[row.rule])
    return Coverage(tuple(rows), tuple(spec.model_type for spec in specs), stale, tuple(failed))


def _recipes(spec: ModelSpec, failed: list[tuple[str, str]]) -> list[Recipe]:
    """The family's small models; what cannot be made is said and not counted as reached."""
    made: list[Recipe] = []
    problem = ""
    for words in ({}, spec.exercise):
        for heads in (2, 4):  # some families have no grouped heads
            given = {**_SIZES, "model_type": spec.model_type, "num_key_value_heads": heads, **words}
            try:
                config = spec.read({word: value for word, value in given.items() if value is not None})
                made.append(Recipe(spec.module, config, get_task(spec.task)))
                break
            except WorkbenchError as error:
                problem = str(error)
    if not made:
        failed.append((spec.model_type, problem))
    return made


def _rows(ep: ExecutionProvider, dtype: ir.DataType, recipes: dict[str, list[Recipe]]) -> list[CoverageRow]:
    fusions = [rule.name for rule in RULES if rule.stage is Stage.FUSE]
    counts = {name: [0, 0, 0] for name in (*fusions, ANY)}
    planned: set[str] = set()
    for made in recipes.values():
        found = [_counted(recipe, ep, dtype) for recipe in made]
        planned |= {name for each in found for name in each}
        reached = {name: [any(each.get(name, NONE)[i] for each in found) for i in range(3)] for name in fusions}
        reached[ANY] = [any(flags[i] for flags in reached.values()) for i in range(3)]
        for name, flags in reached.items():
            counts[name] = [count + flag for count, flag in zip(counts[name], flags, strict=True)]
    planned |= {ANY} if planned & set(fusions) else set()
    word = dtype_word(dtype)
    return [
        CoverageRow(name, ep.name, word, name in planned, candidates, fired, whole, len(recipes))
        for name, (candidates, fired, whole) in counts.items()
    ]


NONE = (False, False, False)


def _counted(recipe: Recipe, ep: ExecutionProvider, dtype: ir.DataType) -> dict[str, tuple[bool, bool, bool]]:
    """Of each planned rule: whether it has candidates, fired, and left none alone."""
    options = dataclasses.replace(PLAIN, index_dtype=ep.index_dtype)
    generic, _ = recipe.generic(dtype, options)
    found: dict[str, tuple[bool, bool, bool]] = {}
    for key, role in recipe.task.roles.items():
        report = run_plan(generic[key], plan(ep, dtype, role, RULES), ep).report
        for rule in report.rules:
            found[rule.rule] = (
                bool(rule.candidates), bool(rule.applied), bool(rule.applied) and not rule.misses
            )  # fmt: skip
    return found


__all__ = ["ANY", "SEED", "Coverage", "CoverageRow", "coverage"]
