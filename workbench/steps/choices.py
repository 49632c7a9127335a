"""The steps from a model's name to an answer, and what can be chosen on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.ep import get_ep
from workbench.errors import WorkbenchError, unknown, wrong_type
from workbench.types import dtype_word, parse_dtype


@dataclasses.dataclass(frozen=True)
class Step:
    """One step: its name, what people read, what it does in a sentence, and the choices that it depends on.

    A step also depends on everything that the steps before it depend on.
    """

    name: str
    title: str
    does: str
    choices: tuple[str, ...]


STEPS = (
    Step("source", "Source", "Find the model's configuration, weights and tokenizer.", ("model", "load_weights")),
    Step("config", "Config", "Read the configuration and open the weights.", ()),
    Step(
        "generic", "Generic graph", "Build the one graph that every execution provider's comes from.",
        ("execution_provider", "dtype", "cache_length", "last_token_logits"),
    ),
    Step("ep", "EP graph", "Fuse and lower it for the execution provider.", ("execution_provider", "padding")),
    Step(
        "package", "Package", "Write graph, weights, tokenizer and the client's config to a folder.",
        ("folder", "overwrite", "window_cache", "tokenizer"),
    ),
    Step(
        "checked", "Checked", "Lint the folder, and compare the graph's numbers with the generic graph's.",
        ("prompt",),
    ),
    Step("running", "Running", "Ask the folder through ONNX Runtime GenAI.", ("prompt", "max_new_tokens")),
)  # fmt: skip
NAMES = tuple(step.name for step in STEPS)
_SWITCHES = ("load_weights", "last_token_logits", "overwrite", "window_cache")
_TEXTS = ("execution_provider", "padding", "folder", "prompt")


@dataclasses.dataclass(frozen=True)
class Choices:
    """What a person chose. ``model`` is what ``build`` takes; ``tokenizer`` None is the model's own."""

    model: Any = "smollm2-135m"
    load_weights: bool = True
    execution_provider: str = "cpu"
    dtype: str | None = None
    cache_length: int | None = None
    last_token_logits: bool = False
    padding: str = "right"
    folder: str = "exported"
    overwrite: bool = False
    window_cache: bool = False
    tokenizer: str | None = None
    prompt: str = "What is the capital of France?"
    max_new_tokens: int = 64

    def __post_init__(self) -> None:
        for name in _SWITCHES:
            _is(self, name, bool, "True or False")
        for name in _TEXTS:
            _is(self, name, str, "a text")
        for name in ("dtype", "tokenizer"):
            _is(self, name, str | None, "a text or None")
        _whole(self, "max_new_tokens", "a whole number")
        if self.cache_length is not None:
            _whole(self, "cache_length", "a whole number or None")

    def changed(self, words: Mapping[str, Any]) -> Choices:
        """The same with some choices changed.

        Raises:
            UnknownNameError: no choice of that name.
            ArgumentError: a value has a type that is not taken.
        """
        names = [field.name for field in dataclasses.fields(self)]
        for name in words:
            if name not in names:
                raise unknown("choice", name, names)
        return dataclasses.replace(self, **words)

    def of(self, step: Step) -> tuple[Any, ...]:
        """What a step depends on, beyond the steps before it: two equal answers make the same thing."""
        if step.name == "generic":
            return self._generic()
        return tuple(getattr(self, name) for name in step.choices)

    def _generic(self) -> tuple[Any, ...]:
        """Of the execution provider the generic graph knows two facts only: its default dtype, its dtype of ids."""
        try:
            ep = get_ep(self.execution_provider)
            dtype = parse_dtype(self.dtype) if self.dtype is not None else ep.default_dtype
        except WorkbenchError:  # the step says so when it runs
            return (self.execution_provider, self.dtype)
        return (dtype_word(dtype), ep.graph_options(), self.cache_length, self.last_token_logits)


def step_of(name: str) -> Step:
    """The step of a name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in NAMES:
        raise unknown("step", name, NAMES)
    return STEPS[NAMES.index(name)]


def _is(choices: Choices, name: str, kind: Any, allowed: str) -> None:
    if not isinstance(getattr(choices, name), kind):
        raise wrong_type(name, getattr(choices, name), allowed)


def _whole(choices: Choices, name: str, allowed: str) -> None:
    value = getattr(choices, name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(name, value, allowed)
