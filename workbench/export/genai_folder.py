"""What ONNX Runtime GenAI finds in a folder: ``genai_config.json``, checked against the graph and the tokenizer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.analysis.graph_facts import graph_facts
from workbench.config.model_config import ModelConfig
from workbench.ep import get_ep
from workbench.export.genai_config import NAME, client_config, client_notes
from workbench.export.lint_report import LintReport
from workbench.export.linting import check
from workbench.export.subject import Subject
from workbench.export.tokenizer import vocabulary_of
from workbench.package import Package
from workbench.package.generation import generation_words


@dataclasses.dataclass(frozen=True, eq=False)
class GenaiFolder:
    """The client's file, sentences about it, and what its checks look at."""

    config: Mapping[str, Any]
    files: dict[str, bytes]
    notes: tuple[str, ...]
    subject: Subject

    @classmethod
    def of(cls, made: Package, search: Mapping[str, Any]) -> GenaiFolder:
        """For a package of one decoder.

        Raises:
            UnsupportedError: the client cannot feed the graph.
            ArgumentError, UnknownNameError: ``search`` holds what the client does not know.
        """
        key, config, ep = next(iter(made.models)), made.config, get_ep(made.execution_provider)
        assert isinstance(config, ModelConfig)
        facts, file = graph_facts(made.model), f"{key}.onnx"
        words = client_config(
            facts, config, ep, filename=file, generation=generation_words(made.tokenizer), search=search
        )
        notes = (*words.notes, *client_notes(facts, ep, made.dtype or ep.default_dtype, made.padding))
        subject = Subject(words.values, facts, file, vocabulary_of(made), made.execution_provider)
        return cls(words.values, {NAME: words.to_json()}, notes, subject)

    def check(self, folder: Path) -> LintReport:
        """What ``lint()`` would say of it."""
        return check(folder, self.subject)


__all__ = ["GenaiFolder"]
