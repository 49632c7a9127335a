"""``interpret`` and ``stepper``: a package or a document, inputs, and a run of its workflow."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from workbench.config.files import is_folder
from workbench.describe import InferenceMetadata
from workbench.errors import FeedsError, ModelFileError, wrong_type
from workbench.interpret.calling import Caller, Executor
from workbench.interpret.feeding import Feeding, given_twice, input_of
from workbench.interpret.graphs import Graphs
from workbench.interpret.limits import Limits
from workbench.interpret.machine import Machine
from workbench.interpret.policy import Policy
from workbench.interpret.roles import Facts
from workbench.interpret.sampling import Sampling
from workbench.interpret.stepper import WorkflowStepper
from workbench.interpret.trace import WorkflowRun
from workbench.metadata.analyses.opening import opened, workflow_of
from workbench.metadata.context import Context
from workbench.metadata.dialects import dialect_of
from workbench.metadata.reading import load
from workbench.metadata.validation import check
from workbench.metadata.wording import q

Source = str | os.PathLike[str] | Mapping[str, Any] | InferenceMetadata
_LIMITS = ("max_output_tokens", "max_iterations")
_SAMPLING = {
    "sampling_temperature": "temperature", "sampling_top_k": "top_k", "sampling_top_p": "top_p",
    "sampling_min_p": "min_p",
}  # fmt: skip


def interpret(
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    limits: Limits | None = None,
    prompt: str | None = None,
    max_new_tokens: int | None = None,
    sampling: Sampling | None = None,
    eos_token_ids: Collection[int] | None = None,
    executors: Mapping[str, Executor] | None = None,
    package_root: str | os.PathLike[str] | None = None,
) -> WorkflowRun:
    """Run the workflow of a package on ONNX Runtime's CPU kernels and keep what every step read and made.

    Args:
        source: a package's folder, a document, its data, or what ``describe`` gave; files are looked for below the
            folder, or ``package_root``.
        inputs: arrays by input name, by the application's name for it, or by its runtime role (``prompt_tokens``).
        seed: of the token policy's draws; recorded in the run.
        limits: bounds of the run; without it :class:`Limits`.
        prompt: a text for the input with the role ``prompt_tokens``, by the package's tokenizer.
        max_new_tokens: for the input with the role ``max_output_tokens`` or ``max_iterations``.
        sampling: how tokens are chosen; without it what the inputs and the document's generation defaults say.
        eos_token_ids: what ends a text; without it the document's tokenizer facts. ``()`` ignores every end.
        executors: Python functions for components that are no graphs, by component, contract id or adapter abi.

    What goes wrong while it runs is a diagnostic of the run, at its step; so is an interruption by Ctrl-C.

    Raises:
        ModelFileError: the document cannot be read, breaks a rule, or has no workflow.
        FeedsError: an unknown input, or a prompt without a tokenizer.
        ArgumentError: an argument of the wrong type.
    """
    with stepper(
        source, inputs, seed=seed, limits=limits, prompt=prompt, max_new_tokens=max_new_tokens, sampling=sampling,
        eos_token_ids=eos_token_ids, executors=executors, package_root=package_root,
    ) as made:  # fmt: skip
        return made.finish()


def stepper(
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    limits: Limits | None = None,
    prompt: str | None = None,
    max_new_tokens: int | None = None,
    sampling: Sampling | None = None,
    eos_token_ids: Collection[int] | None = None,
    executors: Mapping[str, Executor] | None = None,
    package_root: str | os.PathLike[str] | None = None,
) -> WorkflowStepper:
    """The same run, to be gone through step by step. Arguments and errors are those of :func:`interpret`."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise wrong_type("seed", seed, "a whole number, 0 or more")
    if not isinstance(limits, Limits | None):
        raise wrong_type("limits", limits, "a Limits")
    if not isinstance(sampling, Sampling | None):
        raise wrong_type("sampling", sampling, "a Sampling")
    _check(inputs, prompt, eos_token_ids, executors, package_root)
    context, root = _opened(source, package_root)
    facts = Facts(context, workflow_of(context))
    given = _given(facts, root, inputs, prompt, max_new_tokens, seed)
    feeding = Feeding(facts, given, root)
    ends = facts.ends if eos_token_ids is None else tuple(eos_token_ids)
    policy = Policy(facts, sampling or _sampling(facts, feeding), seed, feeding.requests, ends)
    caller = Caller(facts, Graphs(root), policy, dict(executors or {}), frozenset(feeding.given), feeding.requests)
    return WorkflowStepper(Machine(facts, feeding, caller, limits or Limits(), seed, _token_output(facts)))


def _check(inputs: object, prompt: object, eos_token_ids: object, executors: object, package_root: object) -> None:
    """Refuse arguments of a wrong type before anything is opened."""
    if not isinstance(inputs, Mapping | None):
        raise wrong_type("inputs", inputs, "a mapping of names to arrays")
    if not isinstance(prompt, str | None):
        raise wrong_type("prompt", prompt, "a text", "Token ids go into inputs={'prompt_tokens': [[...]]}.")
    if eos_token_ids is not None and not _whole_numbers(eos_token_ids):
        raise wrong_type("eos_token_ids", eos_token_ids, "a list of token ids")
    if not isinstance(executors, Mapping | None) or not all(map(callable, (executors or {}).values())):
        raise wrong_type("executors", executors, "a mapping of components, contracts or abis to functions")
    if not isinstance(package_root, str | os.PathLike | None):
        raise wrong_type("package_root", package_root, "a path of a folder")
    if package_root is not None and not is_folder(package_root):
        raise ModelFileError(
            f"There is no folder {os.fspath(package_root)!r}; package_root names the package's folder."
        )


def _whole_numbers(found: object) -> bool:
    if isinstance(found, str | bytes) or not isinstance(found, Collection):
        return False
    return all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in found)


def _opened(source: Source, package_root: str | os.PathLike[str] | None) -> tuple[Context, pathlib.Path | None]:
    context = opened(source, dialect_of(load(source).data))
    broken = check(context)
    if not broken.ok:
        more = f" ({len(broken.errors) - 1} more)" if len(broken.errors) > 1 else ""
        raise ModelFileError(f"The workflow breaks a rule, so it is not run: {broken.errors[0]}{more}")
    return context, _root(source, package_root)


def _root(source: object, package_root: str | os.PathLike[str] | None) -> pathlib.Path | None:
    if package_root is not None:
        return pathlib.Path(package_root)
    if isinstance(source, Mapping) or (isinstance(source, str) and "\n" in source):
        return None
    path = pathlib.Path(source)  # type: ignore[arg-type]  # load() has refused everything else
    return path if path.is_dir() else path.parent if path.exists() else None


def _given(
    facts: Facts, root: pathlib.Path | None, inputs: Mapping[str, Any] | None, prompt: str | None,
    max_new_tokens: int | None, seed: int,
) -> dict[str, Any]:  # fmt: skip
    given = dict(inputs or {})
    if prompt is not None:
        name = _free(facts, given, "prompt", "prompt_tokens")
        given[name] = np.array([_encoded(root, prompt)], np.int64)
    if max_new_tokens is not None:
        if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 0:
            raise wrong_type("max_new_tokens", max_new_tokens, "a whole number, 0 or more")
        given[_free(facts, given, "max_new_tokens", *_LIMITS)] = max_new_tokens
    taken = {input_of(facts, word) for word in given if isinstance(word, str)}
    return given | {name: seed for name in facts.inputs_of_role("seed") if name not in taken}


def _free(facts: Facts, given: Mapping[str, Any], what: str, *roles: str) -> str:
    """The input of an argument, which nothing given means as well."""
    found = facts.inputs_of_role(*roles)
    if not found:
        raise FeedsError(f"{what} is given, and the workflow has no input with the role {' or '.join(roles)}.")
    for word in given:
        if isinstance(word, str) and input_of(facts, word) == found[0]:
            raise given_twice(found[0], q(word), what)
    return found[0]


def _encoded(root: pathlib.Path | None, prompt: str) -> list[int]:
    file = None if root is None else root / "tokenizer.json"
    if file is None or not file.is_file():
        raise FeedsError("The package has no tokenizer.json for a prompt; give inputs={'prompt_tokens': [[...]]}.")
    from tokenizers import Tokenizer

    try:
        ids = list(Tokenizer.from_file(str(file)).encode(prompt).ids)
    except Exception as error:  # the library raises bare Exceptions
        raise FeedsError(f"{file.name} cannot be used: {error}") from None
    if not ids:
        raise FeedsError("The prompt has no tokens; give a longer one.")
    return ids


def _sampling(facts: Facts, feeding: Feeding) -> Sampling:
    """What the document's generation defaults say, and what inputs with a sampling role say over it."""
    generation = facts.context.document.generation
    said = generation.defaults.model_dump(exclude_none=True) if generation and generation.defaults else {}
    words: dict[str, Any] = {word: said[word] for word in ("temperature", "top_k", "top_p") if word in said}
    sampled = bool(said.get("do_sample", False))
    for role, word in _SAMPLING.items():
        for name in facts.inputs_of_role(role):
            array = feeding.given.get(name)
            if array is not None and array.size == 1 and array.dtype.kind in "biuf":  # others are refused as inputs
                number = array.reshape(-1)[0].item()
                words[word], sampled = number, sampled or word == "temperature" and number > 0
    if not sampled or words.get("temperature") == 0:
        return Sampling()
    return Sampling(True, **words)


def _token_output(facts: Facts) -> str:
    return next((name for name, output in facts.workflow.outputs.items() if output.role == "tokens"), "")
