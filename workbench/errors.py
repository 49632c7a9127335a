"""Every error a user can meet, and the diagnostic record that reports carry instead of raising.

An error text says what is wrong with which object, what was found, what is allowed and what to do next.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]
_LONGEST = 80  # characters of a value that an error text repeats


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One finding about a model, a graph or a file: reported, not raised.

    ``code`` is stable and made for tests and filters (``legality.forbidden-op``); ``where`` names the node, file or
    field; ``hint`` says what to do next.
    """

    code: str
    severity: Severity
    message: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        place = f" [{self.where}]" if self.where else ""
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"{self.severity}: {self.message}{place}{hint}"


class WorkbenchError(Exception):
    """Base of all errors that the workbench raises on purpose."""


class UnknownNameError(WorkbenchError, ValueError):
    """A model, execution provider, dtype, task or runtime has a name that nothing answers to."""


class ArgumentError(WorkbenchError, TypeError):
    """A value has a type that a function cannot take."""


class UnsupportedError(WorkbenchError):
    """The combination asked for cannot work (an execution provider without kernels for a dtype, say)."""


class LossyImportError(UnsupportedError):
    """An import would lose something and was not allowed to; ``losses`` has each entry: path, value, reason."""

    def __init__(self, message: str, losses: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.losses = losses


class ConfigError(WorkbenchError, ValueError):
    """A model configuration is missing, unreadable or contradicts itself."""


class WeightsError(WorkbenchError):
    """Weights are missing, truncated, corrupt or do not fit the configuration."""


class OfflineError(WeightsError):
    """Something has to be fetched once and no package index can be reached."""


class ModelFileError(WorkbenchError):
    """An ONNX file or a package folder cannot be read."""


class SaveError(WorkbenchError, OSError):
    """A package or report could not be written; what was there before is untouched."""


class FusionError(WorkbenchError):
    """A planned rule raised, or recognised none of its candidates on a graph of our own making: a bug, loudly."""


class LegalityError(WorkbenchError):
    """An execution provider's graph holds what that provider must not be given."""


class FeedsError(WorkbenchError, ValueError):
    """Inputs for a run have wrong names, shapes or dtypes, or break the package's padding contract."""


class ExecutionError(WorkbenchError):
    """A runtime refused to load or to run a graph."""


def wrong_type(argument: str, found: object, allowed: str, hint: str = "") -> ArgumentError:
    """An :class:`ArgumentError` that says what came and what is taken."""
    tail = f" {hint}" if hint else ""
    return ArgumentError(f"{argument} must be {allowed}; found {type(found).__name__} {_short(found)}.{tail}")


def _short(found: object) -> str:
    text = " ".join(repr(found).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def root_cause(error: BaseException) -> str:
    """What the first of a chain of errors says, on one line: libraries wrap it in the whole of a graph."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__


def unknown(kind: str, found: object, allowed: Iterable[str], hint: str = "") -> UnknownNameError:
    """An :class:`UnknownNameError` that names the close match first."""
    names = sorted(allowed)
    close = difflib.get_close_matches(str(found)[:_LONGEST].lower(), names, n=1, cutoff=0.5)
    guess = f" Did you mean {close[0]!r}?" if close else ""
    tail = f" {hint}" if hint else ""
    return UnknownNameError(f"Unknown {kind} {_short(found)}.{guess} Known: {', '.join(names)}.{tail}")


def some(names: Iterable[str], shown: int = 5) -> str:
    """Names for a message: the first few, and how many more there are; ``none`` for none."""
    listed = list(map(str, names))
    more = f", ... ({len(listed) - shown} more)" if len(listed) > shown else ""
    return (", ".join(listed[:shown]) or "none") + more
