"""The ``workbench`` command. Each verb calls one public function; nothing heavy is imported before it is needed.

Exit status: 0 all well (a parity that is ill-conditioned says so, and is no error), 1 an error of ours or a parity that
differs, 2 an unknown name or wrong usage, 130 after Ctrl-C, 141 when whoever read our output has gone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from workbench.cli import signals


def _open_missing() -> None:
    """Python sets a stream that was closed by the caller to None: what is written there is lost, and nothing fails."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments`` (None: those of the process) and give its exit status."""
    signals.install()
    _open_missing()
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # one line a step instead of bars
    try:
        from workbench.cli.app import app

        app(args=list(arguments) if arguments is not None else None, prog_name="workbench")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except KeyboardInterrupt:  # before or after a verb's own care
        print("Interrupted.", file=sys.stderr)
        return signals.INTERRUPTED
    return 0
