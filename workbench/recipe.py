"""How to make one model's graphs, as often as they are needed: source, configuration, module, task, weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir
from onnxscript import nn

from workbench.config.model_config import ModelConfig
from workbench.config.parts import AnyConfig
from workbench.config.source import SourceConfig
from workbench.ep import ExecutionProvider
from workbench.ep.base import ATTENTION, TENSOR_SCATTER
from workbench.errors import Diagnostic, UnsupportedError, wrong_type
from workbench.functions import FIXED_CACHE_ATTENTION
from workbench.optimize import check, run_plan
from workbench.package import Package
from workbench.passes.collector import collector_paused
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.rules.report import OptimizationReport
from workbench.tasks import Task
from workbench.types import GraphOptions, Padding, Role, dtype_word
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

    def options(
        self, ep: ExecutionProvider, *, graph_capture: bool = False, variant: GraphOptions = PLAIN
    ) -> GraphOptions:
        """What a generic graph for this provider is built with."""
        return dataclasses.replace(
            ep.graph_options(graph_capture=graph_capture),
            cache_length=variant.cache_length,
            last_token_logits=variant.last_token_logits,
        )

    def package(
        self,
        ep: ExecutionProvider,
        dtype: ir.DataType,
        *,
        padding: Padding = "right",
        graph_capture: bool = False,
        variant: GraphOptions = PLAIN,
    ) -> Package:
        """An execution provider's package.

        Raises:
            UnsupportedError: the provider does not compute in the dtype, captures no graphs, or has no kernel for a
                cache of fixed length.
            FusionError, LegalityError: a bug of ours; see ``optimize.check``.
        """
        if graph_capture and not ep.captures_graphs:
            raise UnsupportedError(
                f"graph_capture=True: execution provider {ep.name!r} needs no graph built for capture. Leave it out."
            )
        steps = {key: plan(ep, dtype, role, RULES, padding) for key, role in self.task.roles.items()}
        options = self.options(ep, graph_capture=graph_capture, variant=variant)
        generic, bound = self.generic(dtype, options)
        made = {
            key: run_plan(generic[key], steps[key], ep, drop_unused_inputs=True, captured=graph_capture)
            for key in steps
        }
        for optimized in made.values():
            if options.cache_length is not None:
                _check_fixed_cache(optimized.model, ep, dtype)
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


def variant_of(config: AnyConfig, cache_length: int | None, last_token_logits: bool) -> GraphOptions:
    """Options of a text generator's graph that a caller chose.

    Raises:
        ArgumentError: no whole number, or neither True nor False.
        UnsupportedError: the model is no text generator, or has fewer positions than the cache slots.
    """
    if cache_length is not None and (isinstance(cache_length, bool) or not isinstance(cache_length, int)):
        raise wrong_type("cache_length", cache_length, "a whole number or None")
    if not isinstance(last_token_logits, bool):
        raise wrong_type("last_token_logits", last_token_logits, "True or False")
    if cache_length is None and not last_token_logits:
        return PLAIN
    if not isinstance(config, ModelConfig):
        raise UnsupportedError("cache_length and last_token_logits are for text generators; leave them out.")
    most = config.max_position_embeddings
    if cache_length is not None and not 1 <= cache_length <= most:
        raise UnsupportedError(
            f"cache_length is {cache_length}; the model has {most} positions. Give a number from 1 to that."
        )
    return GraphOptions(cache_length=cache_length, last_token_logits=last_token_logits)


def _check_fixed_cache(model: ir.Model, ep: ExecutionProvider, dtype: ir.DataType) -> None:
    """GroupQueryAttention writes into the buffer that it reads; without it two operators of the standard have to."""
    left = {node.op_type for node in model.graph if node.op_type in ("TensorScatter", FIXED_CACHE_ATTENTION.op_type)}
    missing = [str(use) for use in (TENSOR_SCATTER, ATTENTION) if left and not ep.runs(use, dtype)]
    if missing and ep.ort_provider:
        raise UnsupportedError(
            f"cache_length: {ep.name!r} has no kernel in {dtype_word(dtype)} for {' and '.join(missing)}, and the "
            "attention could not become a GroupQueryAttention. Leave cache_length out, or choose another dtype."
        )


def _contract(reports: Mapping[str, OptimizationReport], padding: Padding) -> Padding:
    """The graph's contract: only an attention that counts lengths is bound to padding on the right."""
    lengths = any(rule.applied and rule.rule == "fuse/gqa" for report in reports.values() for rule in report.rules)
    return padding if lengths else "any"


__all__ = ["MakeModule", "Recipe", "Role"]
