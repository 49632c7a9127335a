"""How to make one model's graphs, as often as they are needed: source, configuration, module, task, weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir
from onnxscript import nn

from workbench.config.parts import AnyConfig
from workbench.config.source import SourceConfig
from workbench.ep import ExecutionProvider
from workbench.errors import Diagnostic, UnsupportedError, wrong_type
from workbench.optimize import check, collector_paused, run_plan
from workbench.package import Package
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.rules.report import OptimizationReport
from workbench.tasks import Task
from workbench.types import GraphOptions, Padding, Role
from workbench.weights.bind import BindReport, bind

MakeModule = Callable[[Any, ir.DataType], nn.Module]
PLAIN = GraphOptions()
Generic = tuple[Mapping[str, ir.Model], BindReport | None]


@dataclasses.dataclass(frozen=True, eq=False)
class Recipe:
    """Everything that does not depend on an execution provider. ``weights`` None makes skeletons.

    Generic graphs are kept by dtype and options, so that packages made from one recipe share graphs and tensors.
    """

    make_module: MakeModule
    config: AnyConfig
    task: Task
    source: SourceConfig | None = None
    weights: Mapping[str, ir.TensorProtocol] | None = None
    _made: dict[tuple[ir.DataType, GraphOptions], Generic] = dataclasses.field(default_factory=dict)

    def generic(self, dtype: ir.DataType, options: GraphOptions = PLAIN) -> Generic:
        """The generic graphs in a dtype, with weights bound if there are any."""
        key = (dtype, options)
        if key not in self._made:
            with collector_paused():
                module = self.make_module(self.config, dtype)
                if not isinstance(module, nn.Module):
                    raise wrong_type("what the module's factory returns", module, "an onnxscript.nn.Module")
                models = self.task.build(module, self.config, dtype, options)
            bound = None
            if self.weights is not None:
                for model in models.values():
                    bound = bind(model, self.weights, dtype=dtype)
            self._made[key] = (models, bound)
        return self._made[key]

    def package(
        self, ep: ExecutionProvider, dtype: ir.DataType, *, padding: Padding = "right", graph_capture: bool = False
    ) -> Package:
        """An execution provider's package.

        Raises:
            UnsupportedError: the provider does not compute in the dtype, or captures no graphs.
            FusionError, LegalityError: a bug of ours; see ``optimize.check``.
        """
        if graph_capture and not ep.captures_graphs:
            raise UnsupportedError(
                f"graph_capture=True: execution provider {ep.name!r} needs no graph built for capture. Leave it out."
            )
        steps = {key: plan(ep, dtype, role, RULES, padding) for key, role in self.task.roles.items()}
        generic, bound = self.generic(dtype, ep.graph_options(graph_capture=graph_capture))
        made = {key: run_plan(generic[key], steps[key], ep, drop_unused_inputs=True) for key in steps}
        for optimized in made.values():
            check(optimized.report)
        reports = {key: optimized.report for key, optimized in made.items()}
        return Package(
            models={key: optimized.model for key, optimized in made.items()},
            generic=generic,
            execution_provider=ep.name,
            dtype=dtype,
            config=self.config,
            source=self.source,
            reports=reports,
            padding=_contract(reports, padding),
            bind_report=bound,
            diagnostics=self._diagnostics(reports),
        )

    def _diagnostics(self, reports: Mapping[str, OptimizationReport]) -> tuple[Diagnostic, ...]:
        found = self.source.diagnostics if self.source is not None else ()
        return (*found, *(d for report in reports.values() for d in report.diagnostics))


def _contract(reports: Mapping[str, OptimizationReport], padding: Padding) -> Padding:
    """The graph's contract: only an attention that counts lengths is bound to padding on the right."""
    lengths = any(rule.applied and rule.rule == "fuse/gqa" for report in reports.values() for rule in report.rules)
    return padding if lengths else "any"


__all__ = ["MakeModule", "Recipe", "Role"]
