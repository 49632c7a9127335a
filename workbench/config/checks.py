"""Checks that configs share; each error says what was found and what is allowed."""

from __future__ import annotations

from workbench.errors import ConfigError


def one_of(field: str, found: object, allowed: tuple[str, ...]) -> None:
    """Refuse a word that this version does not know."""
    if found not in allowed:
        raise ConfigError(f"{field} is {found!r}; this version knows {', '.join(allowed)}.")


def positive(config: object, *fields: str) -> None:
    """Refuse a size or factor that is no number above 0."""
    for field in fields:
        value = getattr(config, field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ConfigError(f"{field} is {value!r}; it must be a number greater than 0.")


def per_layer(field: str, values: tuple[object, ...] | None, layers: int) -> None:
    """Refuse a list that has not one entry per layer."""
    if values is not None and len(values) != layers:
        raise ConfigError(
            f"{field} has {len(values)} entries, num_hidden_layers is {layers}; give one entry per layer."
        )
