"""One piece of work in one background thread, which can be asked to stop between its steps."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancelled(Exception):
    """Somebody asked the work to stop; raised by :meth:`Job.check` alone."""


class Job:
    """Runs ``work(job)``, here or in a thread; ``work`` calls :meth:`check` between its steps."""

    def __init__(self, work: Callable[[Job], None]) -> None:
        self._work = work
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Work in a thread that does not keep the kernel alive."""
        self._thread = threading.Thread(target=self.run, name="workbench-panel", daemon=True)
        self._thread.start()

    def run(self) -> None:
        """Work in this thread."""
        self._work(self)

    def cancel(self) -> None:
        """Ask the work to stop after its current step."""
        self._stop.set()

    def check(self) -> None:
        """Go on, or raise.

        Raises:
            Cancelled: somebody asked the work to stop.
        """
        if self._stop.is_set():
            raise Cancelled

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the thread; whether it has ended."""
        if self._thread is not None:
            self._thread.join(seconds)
            return not self._thread.is_alive()
        return True


class WithJob:
    """For a widget that does one piece of work at a time."""

    _job: Job | None = None  # of the class: close() is called even where the constructor failed

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the background work; whether it has ended."""
        return self._job is None or self._job.wait(seconds)

    def _stop(self) -> bool:
        """Ask the work to stop; whether a thread is at it."""
        if self._job is not None:
            self._job.cancel()
        return not self.wait(0)
