"""The record of a rule, and ``RULES``, ours in their order: read when first asked for, since each has its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.rules.base import Refusal, Rewrite, Rule, Site

__all__ = ["RULES", "Refusal", "Rewrite", "Rule", "Site"]

if TYPE_CHECKING:
    from workbench.rules.builtin import RULES
else:  # a type checker takes the name above, and refuses others

    def __getattr__(name: str) -> Any:
        if name != "RULES":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from workbench.rules.builtin import RULES

        globals()[name] = RULES
        return RULES


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
