"""``compare``: one model for several execution providers, side by side, with everything one wants to know of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.build import ModelLike, recipe_for
from workbench.ep import ExecutionProvider, default_comparison, get_ep
from workbench.errors import FeedsError, UnknownNameError, UnsupportedError, unknown, wrong_type
from workbench.optimize import run_plan
from workbench.rules.plan import plan
from workbench.rules.recording import Recording
from workbench.types import Role, parse_dtype

if TYPE_CHECKING:
    from workbench.analysis.diff import GraphDiff
    from workbench.analysis.ep_summary import EpSummary
    from workbench.analysis.misses import MissTable
    from workbench.analysis.parity_report import ParityReport
    from workbench.analysis.rule_matrix import RuleMatrix
    from workbench.analysis.tables import FusionTable, OpTable
    from workbench.package import Package
    from workbench.recipe import Recipe
    from workbench.runtime.ort_cpu import SessionSettings
    from workbench.widgets.ep_compare import EpCompare


GENERIC = "generic"
COLUMNS = ["execution_provider", "dtype", "generic_nodes", "nodes", "padding", "dropped_inputs"]


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison(Mapping[str, "Package"]):
    """Packages of one model by execution provider, and the generic graph (float32) that they come from.

    Weights are shared: a dtype is converted when somebody reads it, and no package holds a copy.
    """

    packages: Mapping[str, Package]
    generic: ir.Model
    name: str
    recipe: Recipe | None = dataclasses.field(default=None, repr=False)

    def __getitem__(self, execution_provider: str) -> Package:
        return self.packages[execution_provider]

    def __iter__(self) -> Iterator[str]:
        return iter(self.packages)

    def __len__(self) -> int:
        return len(self.packages)

    def ops(self) -> OpTable:
        """Nodes by operator, for the generic graph and each execution provider."""
        from workbench.analysis.tables import op_table

        return op_table({"generic": self.generic} | {name: package.model for name, package in self.items()})

    def fusions(self) -> FusionTable:
        """What each planned rule looked at, did and missed."""
        from workbench.analysis.tables import fusion_table

        return fusion_table({name: package.report for name, package in self.items()})

    def misses(self) -> MissTable:
        """Every candidate that a rule left alone, with the reason."""
        from workbench.analysis.misses import miss_table

        return miss_table({name: package.report for name, package in self.items()})

    def diff(self, execution_provider: str, other: str = GENERIC) -> GraphDiff:
        """What an execution provider's graph has and ``other``, the generic graph or another provider's, has not.

        Raises:
            UnknownNameError: a name that is not in this comparison.
            WorkbenchError: the packages hold several graphs.
        """
        from workbench.analysis.diff import diff

        before, after = self._side(other), self._side(execution_provider)
        return diff(before, after, labels=(other, execution_provider))

    def _side(self, name: str) -> ir.Model | Package:
        if name == GENERIC:
            return self.generic
        if name not in self.packages:
            raise unknown("execution provider", name, [GENERIC, *self])
        return self.packages[name]

    def summary(self, parity: ParityReport | None = None) -> EpSummary:
        """Each execution provider in numbers: nodes, operators, fusions, casts, inputs, weights, diagnostics, parity.

        ``parity`` is what :meth:`parity` returned; without it that row says ``not run``. Nothing is run here.
        """
        from workbench.analysis.ep_columns import ep_summary

        return ep_summary(self.name, self.generic, self.packages, parity)

    def matrix(self) -> RuleMatrix:
        """Which rule changed what in which part of the model, by execution provider; layers that went alike fold."""
        from workbench.analysis.rule_counts import rule_matrix

        generics = {name: next(iter(package.generic.values()), self.generic) for name, package in self.items()}
        return rule_matrix({name: (generics[name], package.model) for name, package in self.items()})

    def widget(self, parity: ParityReport | None = None) -> EpCompare:
        """The summary to look into, in a notebook: each cell opens the view behind it."""
        from workbench.widgets.ep_compare import EpCompare

        return EpCompare(self, parity)

    def in_dtype(self, dtype: str | None, *, check: Callable[[], None] | None = None) -> Comparison:
        """The same model for the same execution providers in another dtype (None: each provider's default).

        ``check`` is called between execution providers and may raise to stop.

        Raises:
            UnsupportedError: the comparison does not know how it was made, or a provider does not compute in the dtype.
        """
        if self.recipe is None:
            raise UnsupportedError(
                f"{self.name} cannot be built again: this comparison was put together from packages. "
                "Make it with compare(model, ...)."
            )
        wanted = parse_dtype(dtype) if dtype is not None else None
        return _compared(self.recipe, [get_ep(name) for name in self], wanted, check or (lambda: None))

    def replay(self, execution_provider: str) -> Recording:
        """How a provider's graph came about: its plan, run on the generic graph once more and recorded step by step.

        Raises:
            UnknownNameError: a provider that is not in this comparison.
            WorkbenchError: the package holds several graphs.
        """
        from workbench.rules import RULES

        if execution_provider not in self:
            raise unknown("execution provider", execution_provider, list(self))
        package = self[execution_provider]
        ep, report = get_ep(package.execution_provider), package.report
        steps = plan(ep, parse_dtype(report.dtype), Role(report.role), RULES)
        made = run_plan(_only(package.generic), steps, ep, drop_unused_inputs=True, record=True)
        assert made.recording is not None
        return made.recording

    def parity(
        self,
        prompts: str | Sequence[str] | None = None,
        *,
        feeds: Mapping[str, Any] | None = None,
        seed: int = 0,
        settings: SessionSettings | None = None,
    ) -> ParityReport:
        """Run the generic graph and each provider's graph on CPU kernels and compare their logits.

        ``prompts`` are tokenized; without them, and without ``feeds`` (inputs by name for one call), tokens are drawn
        from ``seed``. The first prompt runs alone, all of them as a right-padded batch, then three decode steps.

        Raises:
            FeedsError: no tokenizer for prompts, an empty prompt, one that is longer than the model's positions,
                feeds that the graph does not take, or both prompts and feeds.
            ArgumentError: an argument has a type that is not taken.
            WeightsError: the packages are skeletons.
        """
        from workbench.parity import run_parity

        return run_parity(self, _texts(prompts), feeds, seed=seed, settings=settings)

    def save_html(self, path: str | Path, *, parity: ParityReport | None = None) -> Path:
        """One self-contained HTML page of everything above, with the graphs to walk through; no kernel, no network."""
        from workbench.widgets.comparison_report import save_html

        return save_html(self, path, parity=parity)

    def to_frame(self) -> Any:
        """A row per execution provider: dtype, nodes (bodies of functions counted), padding, dropped inputs."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=COLUMNS)

    def _rows(self) -> list[list[Any]]:
        return [
            [name, p.report.dtype, *_both(p), p.padding, ", ".join(p.report.dropped_inputs)]
            for name, p in self.items()
        ]  # fmt: skip

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {p.report.dtype} {_nodes(p.model)} nodes" for name, p in self.items())
        return f"Comparison({self.name}: generic {_nodes(self.generic)} nodes; {parts})"

    def _repr_html_(self) -> str:
        from workbench.analysis.markup import block, table

        return block(f"{self.name}, generic: {_nodes(self.generic)} nodes", table(COLUMNS, self._rows()))


def _nodes(model: ir.Model) -> int:
    """As ``ops()`` counts them."""
    from workbench.analysis.histogram import histogram

    return histogram(model).total


def _both(package: Package) -> tuple[int, int]:
    return _nodes(_only(package.generic)), _nodes(package.model)


def _only(models: Mapping[str, ir.Model]) -> ir.Model:
    return next(iter(models.values()))


def compare(
    model: ModelLike,
    *,
    execution_providers: Sequence[str] | None = None,
    dtype: str | None = None,
    load_weights: bool = True,
) -> Comparison:
    """Build a model for several execution providers and set them side by side.

    Args:
        model: what ``build`` takes.
        execution_providers: names; None takes all that there are but ``default``, registered ones too.
        dtype: for all of them; None is each provider's default.
        load_weights: False compares graphs only.

    Raises:
        UnknownNameError: an unknown name, or none at all.
        Everything that ``build`` raises.
    """
    names = tuple(default_comparison() if execution_providers is None else _listed(execution_providers))
    eps = [get_ep(name) for name in names]
    wanted = parse_dtype(dtype) if dtype is not None else None
    recipe = recipe_for(model, module_class=None, load_weights=load_weights)
    return _compared(recipe, eps, wanted, lambda: None)


def _compared(
    recipe: Recipe, eps: Sequence[ExecutionProvider], dtype: ir.DataType | None, check: Callable[[], None]
) -> Comparison:
    packages = {}
    for ep in eps:
        check()
        packages[ep.name] = recipe.package(ep, dtype or ep.default_dtype)
    generic, _ = recipe.generic(ir.DataType.FLOAT)
    name = recipe.source.name if recipe.source else recipe.config.model_type
    return Comparison(packages, _only(generic), name, recipe)


def _texts(prompts: str | Sequence[str] | None) -> tuple[str, ...]:
    if prompts is None or isinstance(prompts, str):
        return () if prompts is None else (prompts,)
    if not isinstance(prompts, Sequence) or not all(isinstance(text, str) for text in prompts):
        raise wrong_type("prompts", prompts, "a text or a list of texts")
    if not prompts:
        raise FeedsError("prompts is empty; give at least one, or leave it out to draw tokens from the seed.")
    return tuple(prompts)


def _listed(names: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(names, Iterable):
        raise wrong_type("execution_providers", names, "a list of names")
    given = (names,) if isinstance(names, str) else tuple(names)
    if odd := [name for name in given if not isinstance(name, str)]:
        raise wrong_type("each of execution_providers", odd[0], "a name")
    given = tuple(dict.fromkeys(given))
    if not given:
        raise UnknownNameError("execution_providers is empty; name at least one, or leave it out for all.")
    return given
