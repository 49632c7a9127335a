"""Reports of the first two steps, whose results are plain records: a line of numbers and a table."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.analysis.markup import block, escape, table
from workbench.config.parts import AnyConfig
from workbench.config.source import SourceConfig


@dataclasses.dataclass(frozen=True, eq=False)
class SourceReport:
    """Where a model comes from; names of files without their folders, which differ from machine to machine."""

    source: SourceConfig

    def __repr__(self) -> str:
        return repr(self.source)

    def _repr_html_(self) -> str:
        found = self.source
        rows = [
            ["name", found.name], ["model_type", found.model_type], ["origin", found.origin],
            ["revision", found.revision or "none"],
            ["weights", found.weights.name if found.weights else "none"],
            ["tokenizer", "yes" if found.tokenizer else "none"],
        ]  # fmt: skip
        return block(repr(self), table(["field", "value"], rows), *(f"<p>{escape(d)}</p>" for d in found.diagnostics))


@dataclasses.dataclass(frozen=True, eq=False)
class ConfigReport:
    """The words of a frozen config that are not left at their default."""

    config: AnyConfig

    def __repr__(self) -> str:
        config: Any = self.config
        return (
            f"{type(config).__name__}({config.model_type}: {config.num_hidden_layers} layers of {config.hidden_size}, "
            f"{config.num_attention_heads} heads, vocabulary of {config.vocab_size:,})"
        )

    def _repr_html_(self) -> str:
        return block(repr(self), table(["field", "value"], [[name, str(value)] for name, value in self._set()]))

    def _set(self) -> list[tuple[str, Any]]:
        config: Any = self.config
        fields = [(field, getattr(config, field.name)) for field in dataclasses.fields(config)]
        return [(field.name, value) for field, value in fields if value != _default(field)]


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
