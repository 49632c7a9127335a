"""``build``: from a model's name, folder or file to an execution provider's package.

What makes graphs (onnxscript, components, families, rules) is imported by the first call, not with this module.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import onnx_ir as ir

from workbench.config.check_words import check_words
from workbench.config.resolve import resolve
from workbench.ep import ExecutionProvider, get_ep
from workbench.errors import UnsupportedError, WorkbenchError, unknown, wrong_type
from workbench.types import Padding, dtype_word, parse_dtype

if TYPE_CHECKING:
    from onnxscript import nn

    from workbench.config.parts import AnyConfig
    from workbench.config.source import SourceConfig
    from workbench.package import Package
    from workbench.recipe import MakeModule, Recipe
    from workbench.tasks import Task

ModelLike = str | os.PathLike[str] | Mapping[str, Any] | Any
"""A built-in name, a folder, a hub id, a ``config.json`` or ``.gguf`` file, a ``PretrainedConfig`` or its dict."""


def build(
    model: ModelLike,
    task: str | Task | None = None,
    *,
    module_class: MakeModule | None = None,
    execution_provider: str = "cpu",
    dtype: str | None = None,
    load_weights: bool = True,
    trust_remote_code: bool = False,
    graph_capture: bool = False,
    padding: Padding = "right",
    cache_length: int | None = None,
    last_token_logits: bool = False,
) -> Package:
    """Build a model as ONNX graphs for one execution provider.

    Args:
        model: a built-in name (``smollm2-135m``), a local Hugging Face folder, a hub id (``org/name`` or
            ``org/name@revision``), a ``config.json`` (with ``load_weights=False``), a ``.gguf`` file, or a
            ``PretrainedConfig``.
        task: the I/O contract; None takes the family's own.
        module_class: a module of yours instead of the family's.
        execution_provider: whose graph to make; see ``execution_providers()``.
        dtype: float32, float16 or bfloat16; None is the provider's default.
        load_weights: False makes a skeleton of any size, without data.
        trust_remote_code: code from a model's folder is never run; True is refused.
        graph_capture: fix batch and new tokens at 1 for providers that capture graphs: a decode-only graph.
        padding: ``right`` (fastest) or ``any``, where the provider can carry the mask.
        cache_length: a cache of so many slots, in which new keys and values are written; None: it grows.
        last_token_logits: logits of the last real token of each row alone, which is all that generating needs.

    Raises:
        UnknownNameError: unknown model, task, execution provider, dtype or padding (the close match comes first).
        UnsupportedError: the provider cannot compute in this dtype, an option does not exist for it, or the weights
            are quantized other than in a .gguf file.
        ConfigError, WeightsError, OfflineError: what is wrong with the model's files.
    """
    from workbench.recipe import variant_of

    ep = get_ep(execution_provider)
    check_options(padding, trust_remote_code)
    compute = parse_dtype(dtype) if dtype is not None else ep.default_dtype
    recipe = recipe_for(model, task, module_class=module_class, load_weights=load_weights)
    variant = variant_of(recipe.config, cache_length, last_token_logits)
    return recipe.package(ep, compute, padding=padding, graph_capture=graph_capture, variant=variant)


def build_from_module(
    module: nn.Module | MakeModule,
    config: AnyConfig,
    task: str | Task = "text-generation",
    *,
    execution_provider: str = "cpu",
    dtype: str | None = None,
    padding: Padding = "right",
) -> Package:
    """Build a module of your own.

    ``module`` is a class (or function) called with ``(config, dtype)``, or an instance, which serves one build and
    decides the dtype. Parameters keep the data that they have; the others make a skeleton.

    Raises:
        UnsupportedError: the dtype is not that of the instance, or not the provider's.
        WorkbenchError: the instance has been built before.
    """
    from workbench.recipe import Recipe
    from workbench.tasks import get_task

    ep = get_ep(execution_provider)
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise wrong_type("config", config, "a ModelConfig")
    check_options(padding, False)
    make, own = _factory(module)
    compute = parse_dtype(dtype) if dtype is not None else own or ep.default_dtype
    if own is not None and own != compute:
        raise UnsupportedError(
            f"The module's parameters are {dtype_word(own)}, dtype asks for {dtype_word(compute)}. "
            "Give the class instead of an instance, or make the instance in that dtype."
        )
    return Recipe(make, config, get_task(task)).package(ep, compute, padding=padding)


def recipe_for(
    model: ModelLike, task: str | Task | None = None, *, module_class: MakeModule | None, load_weights: bool
) -> Recipe:
    """Resolve a model and open its weights."""
    from workbench.models import lookup
    from workbench.recipe import Recipe
    from workbench.tasks import get_task

    source = resolve(model, load_weights=load_weights)
    if load_weights:
        _check_plain(source)
    spec = lookup(source.model_type)
    check_words(source.hf)
    config = spec.read(source.hf)
    weights = None
    if load_weights:
        from workbench.weights.convert import convert, without
        from workbench.weights.load import open_weights
        from workbench.weights.tie import settle_head

        stored = without(open_weights(source), spec.ignored, spec.prefix, spec.strip)
        config, weights, notes = settle_head(config, convert(stored, spec.weights, config))
        source = dataclasses.replace(source, diagnostics=(*source.diagnostics, *notes))
    if module_class is not None and not callable(module_class):
        raise wrong_type("module_class", module_class, "a module's class")
    make, task = module_class or spec.module, spec.task if task is None else task
    return Recipe(make, config, get_task(task), source, weights)


def _check_plain(source: SourceConfig) -> None:
    """Packed or scaled weights may have the plain ones' names and shapes: read as they are, they would be wrong."""
    found = source.hf.get("quantization_config")
    if found:
        method = found.get("quant_method", "unnamed") if isinstance(found, Mapping) else found
        raise UnsupportedError(
            f"{source.name} holds quantized weights (quantization_config: {str(method)[:40]}), which are not read from "
            "safetensors. Take the model's unquantized folder or a .gguf file, or pass load_weights=False."
        )


def check_options(padding: str, trust_remote_code: bool) -> None:
    """Refuse words that no graph can be built with.

    Raises:
        UnknownNameError: a padding of another name.
        UnsupportedError: code from a model's folder is to be run.
    """
    if padding not in get_args(Padding):
        raise unknown("padding", padding, get_args(Padding))
    if trust_remote_code:
        raise UnsupportedError(
            "trust_remote_code=True: the workbench never runs code from a model's folder. "
            "Write the model as a module and give it with module_class= or build_from_module()."
        )


def _factory(module: nn.Module | MakeModule) -> tuple[MakeModule, ir.DataType | None]:
    from onnxscript import nn

    if not isinstance(module, nn.Module):
        if not callable(module):
            raise wrong_type("module", module, "a module, its class, or a function that makes one")
        return module, None
    parameters = list(module.parameters())
    if any(parameter.uses() for parameter in parameters):
        raise WorkbenchError(
            f"This {type(module).__name__} has been built already, and its parameters belong to that graph. "
            "Make a new instance, or give the class."
        )
    dtypes = {p.dtype for p in parameters if p.dtype is not None and p.dtype.is_floating_point()}
    return lambda config, dtype: module, next(iter(dtypes), None)


__all__ = ["ExecutionProvider", "build", "build_from_module"]
