"""Execution providers as facts: one record a file, gathered here by name."""

from __future__ import annotations

from workbench.ep.base import ExecutionProvider, Kernel
from workbench.ep.cpu import CPU
from workbench.ep.dml import DML
from workbench.ep.portable import DEFAULT, ONNX_STANDARD
from workbench.ep.webgpu import WEBGPU
from workbench.errors import unknown

__all__ = ["ExecutionProvider", "Kernel", "execution_providers", "get_ep", "default_comparison"]

_EPS = {ep.name: ep for ep in (DEFAULT, CPU, DML, WEBGPU, ONNX_STANDARD)}


def execution_providers() -> tuple[str, ...]:
    """Names of the known execution providers, the portable form first."""
    return tuple(_EPS)


def default_comparison() -> tuple[str, ...]:
    """What ``compare`` sets side by side when nobody says otherwise: all but the portable form it starts from."""
    return tuple(name for name, ep in _EPS.items() if ep is not DEFAULT)


def get_ep(name: str) -> ExecutionProvider:
    """The record of that name.

    Raises:
        UnknownNameError: no execution provider is called so; the close match comes first.
    """
    if not isinstance(name, str) or name not in _EPS:
        raise unknown("execution provider", name, _EPS)
    return _EPS[name]
