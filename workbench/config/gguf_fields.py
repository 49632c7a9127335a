"""One architecture's metadata fields in a GGUF file, checked as they are read.

Keys are the ``gguf`` library's templates (``gguf.Keys``): ``{arch}`` stands for ``general.architecture``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from workbench.config.gguf_reader import GgufFile
from workbench.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class Fields:
    """The fields of ``file`` under the prefix ``arch``."""

    file: GgufFile
    arch: str

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return self.file.path.name

    def key(self, template: str) -> str:
        """The field's full name."""
        return template.format(arch=self.arch)

    def find(self, template: str) -> Any:
        """The value of a field, or None where the file has none."""
        return self.file.metadata.get(self.key(template))

    def has(self, tensor: str) -> bool:
        """Whether the file holds a tensor."""
        return tensor in self.file.tensors

    def size(self, template: str, default: int | None = None) -> int:
        """A positive whole number; one number per layer will do where all are equal.

        Raises:
            ConfigError: the field is missing, or is something else.
        """
        value = self._value(template, default)
        if isinstance(value, np.ndarray) and len(set(value.tolist())) == 1:
            value = value.tolist()[0]
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise self._wrong(template, "a positive whole number", value)
        return value

    def number(self, template: str, default: float | None = None) -> float:
        """A positive number.

        Raises:
            ConfigError: the field is missing, or is something else.
        """
        value = self._value(template, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value) or value <= 0:
            raise self._wrong(template, "a positive number", value)
        # Stored as float32: the shortest decimal that gives the same float32 is what the author wrote (1e-05).
        return float(str(np.float32(value)))

    def optional(self, template: str) -> float | None:
        """A positive number, or None where the file has none or says 0 (switched off).

        Raises:
            ConfigError: it is something else.
        """
        value = self.find(template)
        return None if value is None or (value == 0 and not isinstance(value, bool)) else self.number(template)

    def vector(self, tensor: str, length: int) -> np.ndarray:
        """A small F32 tensor that belongs to the config [length], float64.

        Raises:
            ConfigError: another type or shape.
        """
        record = self.file.tensors[tensor]
        if record.type != "F32" or record.shape != (length,):
            raise ConfigError(
                f"{self.name}: {tensor} must be F32 of shape ({length},); found {record.type} of shape {record.shape}."
            )
        return self.file.raw(tensor).view("<f4").astype(np.float64)

    def _value(self, template: str, default: Any) -> Any:
        value = self.find(template)
        value = default if value is None else value
        if value is None:
            raise ConfigError(
                f"{self.name}: the metadata field {self.key(template)!r} is missing. Convert the model again."
            )
        return value

    def _wrong(self, template: str, allowed: str, value: Any) -> ConfigError:
        return ConfigError(f"{self.name}: {self.key(template)!r} must be {allowed}; found {value!r}.")
