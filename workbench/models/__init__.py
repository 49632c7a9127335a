"""The zoo: one file per family, gathered by ``model_type``."""

from __future__ import annotations

from workbench.errors import unknown
from workbench.models.llama import SPEC as LLAMA
from workbench.models.spec import ModelSpec

__all__ = ["SPECS", "ModelSpec", "lookup"]

SPECS: tuple[ModelSpec, ...] = (LLAMA,)

_BY_TYPE = {spec.model_type: spec for spec in SPECS}


def lookup(model_type: str) -> ModelSpec:
    """The family of a ``model_type``.

    Raises:
        UnknownNameError: no family of that type is built in; the close match comes first.
    """
    if model_type not in _BY_TYPE:
        raise unknown("model_type", model_type, _BY_TYPE, "Build a module of your own with build_from_module().")
    return _BY_TYPE[model_type]
