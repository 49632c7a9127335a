"""An encoder that turns a text into vectors: one call, no state; a profile says how the vectors become one."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.facts import fact, lacks, read_facts, refuse
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.parts import Ends, add_graph
from workbench.describe.sections import add_tokenizer
from workbench.describe.steps import emit, given, invoke
from workbench.describe.subject import Subject
from workbench.metadata.document.profiles import Pooling, Profile

NAME, COMPONENT = "embedding", "encoder"
POOLINGS = ("mean", "max", "cls", "last_token", "none")
_WHAT = f"how the vectors of the tokens become one for the text, one of {', '.join(POOLINGS)}"
_WORDS = {
    "pooling_mode_mean_tokens": "mean", "pooling_mode_max_tokens": "max", "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last_token",
}  # fmt: skip
"""Switches of a ``1_Pooling/config.json``. Source: sentence-transformers' module ``Pooling``."""
_DEFAULTS = {"attention_mask": 1, "token_type_ids": 0}


@dataclasses.dataclass(frozen=True)
class EmbeddingFacts:
    """``pooling`` None is read from the source's folder, where sentence-transformers keeps it."""

    pooling: str | None = fact(_WHAT, default=None)
    normalize: bool | None = fact("whether the vector is scaled to length 1", default=None)


def hidden(subject: Subject) -> str | None:
    """The output that holds a vector per token: ``last_hidden_state``, or the only one of rank 3."""
    outputs = subject.graphs["model"].outputs
    ranked = [name for name, port in outputs.items() if len(port.dims) == 3]
    return "last_hidden_state" if "last_hidden_state" in ranked else ranked[0] if len(ranked) == 1 else None


def fits(subject: Subject) -> bool:
    """One graph from tokens to hidden states, without a cache and without logits."""
    if tuple(subject.graphs) != ("model",) or subject.cache():
        return False
    facts = subject.graphs["model"]
    return "input_ids" in facts.inputs and "logits" not in facts.outputs and hidden(subject) is not None


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """Invoke, emit, profile."""
    pooling = _pooling(subject)
    add_tokenizer(subject, builder)
    ends, port = Ends.of(subject, "model", "input_ids"), hidden(subject)
    assert port is not None
    add_graph(builder, subject, "model", ends, name=COMPONENT, roles=ends.roles | {port: "hidden_states"})
    builder.output("embeddings", ends.outputs[port], "tensor")
    made = {name: f"encoder.{name}" for name in ends.outputs}
    builder.add(invoke(COMPONENT, _feeds(builder, ends), made), emit(made[port], "embeddings"))
    words = given(outputs={"hidden_states": "embeddings"}, pooling=pooling)
    builder.section("profiles", {NAME: Profile(kind=NAME, version="1.0", **words)})


def _feeds(builder: WorkflowBuilder, ends: Ends) -> dict[str, str]:
    """Tokens of the request; a text alone is not padded, so its mask is of ones, and it is one segment."""
    feeds = {"input_ids": builder.request("request.input_ids", ends.inputs["input_ids"], "prompt_tokens")}
    for name, made in ends.inputs.items():
        if name not in feeds:
            start = {"default": _DEFAULTS[name]} if name in _DEFAULTS else {}
            feeds[name] = builder.application(f"application.{name}", made, name, **start)
    return feeds


def _pooling(subject: Subject) -> Pooling | None:
    said = read_facts(NAME, EmbeddingFacts, subject.facts)
    found = _of_source(subject)
    kind = said.pooling or found.pooling
    if kind is None:
        raise lacks(NAME, "pooling", _WHAT, subject.facts)
    if kind not in POOLINGS:
        raise refuse(NAME, "pooling", kind, f"one of {', '.join(POOLINGS)} is allowed.")
    normalize = found.normalize if said.normalize is None else said.normalize
    return None if kind == "none" else Pooling(**given(kind=kind, axis=1, normalize=normalize or None))


def _of_source(subject: Subject) -> EmbeddingFacts:
    """What a folder of sentence-transformers says."""
    source = subject.package.source
    folder = source.weights if source is not None else None
    folder = folder if folder is None or folder.is_dir() else folder.parent
    words = _read(folder / "1_Pooling" / "config.json") if folder is not None else None
    kinds = [kind for word, kind in _WORDS.items() if words.get(word) is True] if isinstance(words, dict) else []
    modules = _read(folder / "modules.json") if folder is not None and kinds else None
    listed = modules if isinstance(modules, list) else []
    named = [str(module.get("type", "")) for module in listed if isinstance(module, dict)]
    return EmbeddingFacts(kinds[0] if len(kinds) == 1 else None, any(name.endswith("Normalize") for name in named))


def _read(path: Path) -> Any:
    """What a JSON file holds; None where there is none that can be read."""
    try:
        return json.loads(path.read_text("utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None


KIND = Kind(
    NAME, "vectors of a text", fits, write,
    components={"model": "the encoder, from tokens to hidden states"}, facts=EmbeddingFacts,
)  # fmt: skip
