"""Sections beside the workflow, from the values of a config."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.sections import TOKENIZER, numbered, tokenizer_facts
from workbench.describe.steps import given
from workbench.importing.keys import DEFAULTS, TOKENS
from workbench.importing.ports import Values
from workbench.metadata.document.model import ModelFacts
from workbench.metadata.document.package import Generation, GenerationDefaults, PackageFacts


def add_sections(builder: WorkflowBuilder, values: Values, folder: Path) -> None:
    """What the config says beside the decoder: the kind of model, the tokenizer's facts, how to generate."""
    facts = builder.sections["model"].model_dump(by_alias=True, exclude_unset=True)
    facts["architecture"] = values["model.type"]
    if chunk := values.get("search.chunk_size"):
        facts["runtime_configurable"] = {"chunked_prefill": {"chunk_size": chunk}}
    builder.sections["model"] = ModelFacts.model_validate(facts)
    location = tokenizer_of(values)
    tokenizer = tokenizer_facts(folder / location, location, values["model.vocab_size"], dict(_tokens(values)))
    if tokenizer is not None:
        builder.section("package", PackageFacts(tokenizer=tokenizer))
    said = {name: values[f"search.{name}"] for name in DEFAULTS if f"search.{name}" in values}
    if said:
        builder.section("generation", Generation(defaults=GenerationDefaults(**given(**said))))


def tokenizer_of(values: Values) -> str:
    """Where the tokenizer lies in the folder."""
    directory = str(values.get("model.tokenizer_dir", "")).rstrip("/")
    return f"{directory}/{TOKENIZER}" if directory not in ("", ".") else TOKENIZER


def _tokens(values: Values) -> Iterator[tuple[str, int]]:
    for name in TOKENS:
        if (number := values.get(f"model.{name}_token_id")) is not None:
            yield name, number
    yield from numbered(values.get("model.eos_token_id", ()))
