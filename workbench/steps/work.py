"""What each step does: from choices and the products of the steps before it to its own product and reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.analysis.markup import plural
from workbench.build import check_options, recipe_for
from workbench.ep import ExecutionProvider, get_ep
from workbench.recipe import Recipe, variant_of
from workbench.steps.choices import Choices
from workbench.steps.faces import ConfigReport, SourceReport
from workbench.types import GraphOptions, parse_dtype

if TYPE_CHECKING:
    import onnx_ir as ir

    from workbench.package import Package


class Stopped(Exception):
    """Somebody asked the work to stop; raised by ``Hooks.check`` alone."""


@dataclasses.dataclass(frozen=True)
class Hooks:
    """Ways out of the work: ``check`` may raise :class:`Stopped`, ``piece`` gets an answer as far as it is there."""

    check: Callable[[], None] = lambda: None
    piece: Callable[[str], None] = lambda text: None


@dataclasses.dataclass(frozen=True, eq=False)
class Made:
    """What a step made: its product for later steps, its size in words, and reports to look at."""

    product: Any
    size: str
    reports: tuple[Any, ...]


Products = Mapping[str, Any]


def source(c: Choices, products: Products, hooks: Hooks) -> Made:
    """Find the model's files; nothing large is read."""
    from workbench.config.resolve import resolve

    found = resolve(c.model, load_weights=c.load_weights)
    size = _size_of(found.weights)
    return Made(found, megabytes(size) if size else "no weights", (SourceReport(found),))


def config(c: Choices, products: Products, hooks: Hooks) -> Made:
    """The frozen config, and the weights under the names that the module gives them."""
    recipe = recipe_for(c.model, module_class=None, load_weights=c.load_weights)
    return Made(recipe, plural(recipe.config.num_hidden_layers, "layer"), (ConfigReport(recipe.config),))


def generic(c: Choices, products: Products, hooks: Hooks) -> Made:
    """The generic graph in the dtype that is computed in."""
    from workbench.analysis.histogram import histogram

    recipe: Recipe = products["config"]
    ep, dtype, variant = _wanted(c, recipe)
    models, _ = recipe.generic(dtype, recipe.options(ep, variant=variant))
    (model,) = models.values()
    return Made(model, plural(len(model.graph), "node"), (histogram(model),))


def ep(c: Choices, products: Products, hooks: Hooks) -> Made:
    """The execution provider's package, in memory."""
    recipe: Recipe = products["config"]
    provider, dtype, variant = _wanted(c, recipe)
    package = recipe.package(provider, dtype, padding=c.padding, variant=variant)  # type: ignore[arg-type]  # checked
    return Made(package, plural(len(package.model.graph), "node"), (package.report,))


def package(c: Choices, products: Products, hooks: Hooks) -> Made:
    """The folder. A stop while it is written leaves what was there before."""
    from workbench.export import export

    report = export(
        products["ep"], c.folder, overwrite=c.overwrite, window_cache=c.window_cache, tokenizer=c.tokenizer,
        progress=lambda *_: hooks.check(),
    )  # fmt: skip
    return Made(report, megabytes(report.size), (report,))


def checked(c: Choices, products: Products, hooks: Hooks) -> Made:
    """Lint, then parity with the generic graph in float32. Findings are no failure: they are what was asked for."""
    from workbench.compare import Comparison
    from workbench.export import lint

    found = lint(products["package"].folder)
    hooks.check()
    built: Package = products["ep"]
    parity = Comparison({built.execution_provider: built}, _reference(products["config"]), built.name).parity(c.prompt)
    return Made(found, f"{plural(len(found.findings), 'finding')}, parity {parity.conclusion}", (found, parity))


def running(c: Choices, products: Products, hooks: Hooks) -> Made:
    """An answer, piece by piece."""
    from workbench.runtime.chat import chat

    folder: Path = products["package"].folder
    stream = chat(folder, c.prompt, max_new_tokens=c.max_new_tokens, stream=True)
    text = ""
    for piece in stream:
        text += piece
        hooks.piece(text)
        hooks.check()
    answer = stream.result
    return Made(answer, plural(len(answer.tokens), "token"), (answer,))


WORK: Mapping[str, Callable[[Choices, Products, Hooks], Made]] = {
    "source": source, "config": config, "generic": generic, "ep": ep, "package": package, "checked": checked,
    "running": running,
}  # fmt: skip


def _wanted(c: Choices, recipe: Recipe) -> tuple[ExecutionProvider, ir.DataType, GraphOptions]:
    provider = get_ep(c.execution_provider)
    check_options(c.padding, False)
    dtype = parse_dtype(c.dtype) if c.dtype is not None else provider.default_dtype
    return provider, dtype, variant_of(recipe.config, c.cache_length, c.last_token_logits)


def _reference(recipe: Recipe) -> ir.Model:
    """The plainest form of the graph: float32, with a growing cache and all logits."""
    import onnx_ir as ir

    (model,) = recipe.generic(ir.DataType.FLOAT)[0].values()
    return model


def _size_of(place: Path | None) -> int:
    """Bytes of the files that hold weights."""
    if place is None:
        return 0
    files = [place] if place.is_file() else sorted(place.glob("*.safetensors"))
    return sum(file.stat().st_size for file in files)


def megabytes(size: int) -> str:
    """Bytes in decimal units, as disks are sold."""
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size:,} bytes"
