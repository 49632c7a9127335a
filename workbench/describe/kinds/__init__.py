"""The kinds of package that can be described, one a file, in the order in which they are tried."""

from __future__ import annotations

from workbench.describe.kinds import decoder, static_cache, windows
from workbench.describe.kinds.base import Kind

KINDS: tuple[Kind, ...] = (decoder.KIND, windows.KIND, static_cache.KIND)

__all__ = ["KINDS", "Kind"]
