"""Progress of what may take longer than a second: a tqdm bar on stderr, or a function of the caller."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

Progress = Callable[[str, int, int], None] | bool | None
"""``None``: a bar on stderr once a second has passed; ``False``: silent; a function: ``(label, done, total)``."""


class Bar:
    """Counts bytes; ``with Bar(label, total, progress) as bar: bar.update(n)``."""

    def __init__(self, label: str, total: int, progress: Progress = None) -> None:
        self._label, self._total, self._done = label, total, 0
        self._call = progress if callable(progress) else None
        self._tqdm = None if self._call or progress is False else _tqdm(label, total)

    def update(self, count: int) -> None:
        """Another ``count`` bytes are done."""
        self._done += count
        if self._call:
            self._call(self._label, self._done, self._total)
        elif self._tqdm is not None:
            self._tqdm.update(count)

    def reach(self, done: int) -> None:
        """``done`` bytes are done in all."""
        if done > self._done:
            self.update(done - self._done)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tqdm is not None:
            self._tqdm.close()


def _tqdm(label: str, total: int) -> Any:
    """A bar that stays unseen for the first second (``delay``) and leaves nothing behind."""
    from tqdm import tqdm

    return tqdm(total=total, desc=label, unit="B", unit_scale=True, delay=1.0, leave=False, file=sys.stderr)
