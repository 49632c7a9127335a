"""The Python that does what a step does: a text that runs as it stands, in a process that knows nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.steps.choices import Choices

_WIDTH = 60
_DEFAULTS = Choices()


def code(step: str, choices: Choices) -> str:
    """Everything up to a step, from the imports on; what was left as it is by itself is left out."""
    return _MAKERS[step](choices)


def _source(c: Choices) -> str:
    words = {} if c.load_weights else {"load_weights": False}
    return _text(
        ["from workbench.config.resolve import resolve"],
        [f"source = {_call('resolve', [_model(c)], words)}", "print(source)"],
    )


def _config(c: Choices) -> str:
    words = {"module_class": None, "load_weights": c.load_weights}
    return _text(
        ["from workbench.build import recipe_for"],
        [f"recipe = {_call('recipe_for', [_model(c)], words)}", "print(recipe.config)"],
    )


def _generic(c: Choices) -> str:
    return _text(
        ["from workbench import build, histogram"],
        [_build(c), "(graph,) = package.generic.values()", "print(histogram(graph))"],
    )


def _ep(c: Choices) -> str:
    return _text(["from workbench import build"], [_build(c), "graph = package.model", "print(package.report)"])


def _package(c: Choices) -> str:
    return _text(["from workbench import build, export"], [_build(c), _export(c), "print(report)"])


def _checked(c: Choices) -> str:
    same = [_model(c)]
    reference = _call("build", same, {"execution_provider": "default", "dtype": "float32"})
    sides = f"{{{c.execution_provider!r}: package}}"
    return _text(
        ["from workbench import Comparison, build, export, lint"],
        [
            _build(c),
            _export(c),
            f"print(lint({c.folder!r}))",
            f"plain = {reference}",
            "(reference,) = plain.generic.values()",
            f"comparison = Comparison({sides}, reference, package.name)",
            f"print(comparison.parity({c.prompt!r}))",
        ],
    )


def _running(c: Choices) -> str:
    words = {"max_new_tokens": c.max_new_tokens}
    return _text(
        ["from workbench import build, chat, export"],
        [_build(c), _export(c), f"answer = {_call('chat', [repr(c.folder), repr(c.prompt)], words)}", "print(answer)"],
    )


_MAKERS = {
    "source": _source, "config": _config, "generic": _generic, "ep": _ep, "package": _package, "checked": _checked,
    "running": _running,
}  # fmt: skip


def _build(c: Choices) -> str:
    words: dict[str, Any] = {"execution_provider": c.execution_provider}
    return f"package = {_call('build', [_model(c)], words | _other_than_default(c, _OF_BUILD))}"


def _export(c: Choices) -> str:
    return f"report = {_call('export', ['package', repr(c.folder)], _other_than_default(c, _OF_EXPORT))}"


_OF_BUILD = ("dtype", "padding", "cache_length", "last_token_logits", "load_weights")
_OF_EXPORT = ("overwrite", "window_cache", "tokenizer")


def _other_than_default(c: Choices, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(c, name) for name in names if getattr(c, name) != getattr(_DEFAULTS, name)}


def _model(c: Choices) -> str:
    """A model as Python: a path as its text, a config object as its words."""
    if isinstance(c.model, os.PathLike):
        return repr(os.fspath(c.model))
    if isinstance(c.model, str | Mapping):
        return repr(dict(c.model) if isinstance(c.model, Mapping) else c.model)
    return repr(c.model.to_dict()) if hasattr(c.model, "to_dict") else repr(c.model)


def _call(name: str, given: Sequence[str], words: Mapping[str, Any]) -> str:
    """A call on one line, or an argument a line where it gets long."""
    parts = [*given, *(f"{word}={value!r}" for word, value in words.items())]
    line = f"{name}({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _text(imports: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([*imports, "", *lines, ""])
