"""The kinds of package that can be described, one a file, in the order in which they are tried."""

from __future__ import annotations

from workbench.describe.kinds import (
    ctc,
    decoder,
    embedding,
    encoder_decoder,
    hybrid,
    lora,
    speculative,
    static_cache,
    vision_language,
    windows,
)
from workbench.describe.kinds.base import Kind
from workbench.errors import unknown

KINDS: tuple[Kind, ...] = (
    decoder.KIND, windows.KIND, static_cache.KIND, lora.KIND, hybrid.KIND, embedding.KIND, encoder_decoder.KIND,
    ctc.KIND, vision_language.KIND, speculative.KIND,
)  # fmt: skip


def kind_named(name: object) -> Kind:
    """The kind of a name.

    Raises:
        UnknownNameError: there is none.
    """
    known = {one.name: one for one in KINDS}
    if not isinstance(name, str) or name not in known:
        raise unknown("kind", name, known)
    return known[name]


__all__ = ["KINDS", "Kind", "kind_named"]
