"""Tiny packages of each kind of decoder, and their descriptions, made once."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tests.unit.export.folders import package, source
from workbench.build import build
from workbench.describe import InferenceMetadata, describe
from workbench.package import Package


@functools.cache
def fixed(ep: str) -> Package:
    """A tiny package with a cache of fixed length."""
    return build(source(), execution_provider=ep, dtype="float32", cache_length=64)


PACKAGES: dict[str, Callable[[], Package]] = {
    "growing": lambda: package("cpu"),
    "growing-portable": lambda: package("default"),
    "windowed": lambda: package("cpu", windowed=True),
    "windowed-portable": lambda: package("default", windowed=True),
    "fixed": lambda: fixed("cpu"),
    "fixed-portable": lambda: fixed("default"),
}


SPELLED = tuple(f"{name} spelled" for name in PACKAGES)


@functools.cache
def described(name: str) -> InferenceMetadata:
    """What ``describe`` says of one of them, ``spelled`` with a policy of graphs."""
    name, spelled, _ = name.partition(" spelled")
    return describe(PACKAGES[name](), policy="graphs" if spelled else "runtime")
