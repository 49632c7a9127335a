"""Facts about execution providers: operators and their features across providers, each with where it is from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from workbench.analysis.capabilities import Capabilities, Fact, capabilities
from workbench.errors import wrong_type
from workbench.types import FLOAT_DTYPES
from workbench.widgets.view import View


class CapabilityMatrix(View):
    """The facts at one dtype: a row for each operator and feature, a column for each provider.

    ``dtype``, ``op``, ``rule`` and ``execution_provider`` are filters, empty for all; ``query`` is a part of an
    operator's name. ``op`` and ``execution_provider`` are also set by choosing a cell, ``chosen`` then names its row.
    """

    module: ClassVar[str] = "capability_matrix"
    styles: ClassVar[tuple[str, ...]] = ("capability_matrix",)
    label: ClassVar[str] = "Facts about execution providers"

    dtype = traitlets.Unicode("float32").tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)
    chosen = traitlets.Unicode("").tag(sync=True)

    def __init__(self, result: Capabilities | None = None, **options: Any) -> None:
        found = capabilities() if result is None else result
        if not isinstance(found, Capabilities):
            raise wrong_type("CapabilityMatrix's result", found, "Capabilities, as capabilities() gives them")
        words = [word for word in FLOAT_DTYPES if any(fact.dtype == word for fact in found.facts)]
        if words and options.get("dtype", "float32") not in words:
            options["dtype"] = words[0]
        super().__init__(found, **options)

    def facts(self, result: Capabilities) -> Mapping[str, Any]:
        sources = list(dict.fromkeys(fact.source for fact in result.facts))
        rules = sorted({switch[1:] for fact in result.facts for switch in fact.switches})
        return {
            "execution_providers": list(result.execution_providers),
            "dtypes": [word for word in FLOAT_DTYPES if any(fact.dtype == word for fact in result.facts)],
            "rules": rules,
            "sources": sources,
            "facts": [_line(fact, sources.index(fact.source)) for fact in result.facts],
        }


def _line(fact: Fact, source: int) -> list[Any]:
    return [
        fact.execution_provider, fact.kind, fact.op, fact.feature, fact.dtype, fact.holds, fact.confidence,
        fact.checked, source, list(fact.switches),
    ]  # fmt: skip
