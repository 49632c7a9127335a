"""The real model: its weights come in a package from an index, and not every machine has either."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from workbench import OfflineError


@contextlib.contextmanager
def skipped_without_weights() -> Iterator[None]:
    """Skip a test whose model can neither be found here nor fetched; the error's text names it and says what to do.

    Nothing else is a reason: a damaged file, or a model that does not build, fails the test.
    """
    try:
        yield
    except OfflineError as error:
        pytest.skip(f"the model's weights are not here, and cannot be fetched: {error}")
