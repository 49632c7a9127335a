"""Checks that configs share; each error says what was found and what is allowed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.errors import ConfigError

LARGEST = 2**31 - 1
"""The largest size of anything; no model comes near."""


def one_of(field: str, found: object, allowed: tuple[str, ...]) -> None:
    """Refuse a word that this version does not know."""
    if found not in allowed:
        raise ConfigError(f"{field} is {found!r}; this version knows {', '.join(allowed)}.")


def positive(config: object, *fields: str) -> None:
    """Refuse a size or factor that is no number above 0."""
    for field in fields:
        value = getattr(config, field)
        if not is_positive(value):
            raise ConfigError(f"{field} is {value!r}; it must be a number greater than 0.")


def whole(sizes: Mapping[str, object], most: int = LARGEST) -> None:
    """Refuse a size that is no whole number from 1 on; None means that it is not given."""
    for name, value in sizes.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most):
            raise ConfigError(f"{name} is {repr(value)[:60]}; it must be a whole number from 1 to {most}.")


def token_ids(**found: object) -> None:
    """Refuse a special token that is no id."""
    for name, value in found.items():
        for token in value if isinstance(value, tuple) else (value,):
            if token is not None and (isinstance(token, bool) or not isinstance(token, int)):
                raise ConfigError(f"{name} is {repr(value)[:60]}; it must be a token id, a whole number.")


def is_positive(value: object) -> bool:
    """Whether this is a finite number above 0."""
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < float("inf")


def switches(config: Any) -> None:
    """Refuse a switch that is neither true nor false: ``'no'`` would count as true."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.type == "bool" and not isinstance(value, bool):
            raise ConfigError(f"{field.name} is {value!r:.80}; it must be true or false. Correct the config.")


def per_layer(field: str, values: tuple[object, ...] | None, layers: int) -> None:
    """Refuse a list that has not one entry per layer."""
    if values is not None and len(values) != layers:
        raise ConfigError(
            f"{field} has {len(values)} entries, num_hidden_layers is {layers}; give one entry per layer."
        )
