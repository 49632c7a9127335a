"""What the verbs share: exit statuses, errors as text, where output goes, one line a step."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from workbench.cli.signals import INTERRUPTED, stopped_by
from workbench.errors import SaveError, UnknownNameError, WorkbenchError

if TYPE_CHECKING:
    from rich.console import Console

FAILED, USAGE, BROKEN_PIPE = 1, 2, 141
PIPED_WIDTH = 160
"""Columns of a table that no terminal shows: rich's own guess of 80 would cut reasons into slices."""

_WORDS = {
    "Pass allow_lossy=True (--allow-lossy)": "Give --allow-lossy",
    "Pass load_weights=False": "Give --no-weights",
    "load_weights=False": "--no-weights",
    "with load_weights=True": "without --no-weights",
    "read_weights=True": "--read-weights",
    "Pass overwrite=True": "Give --overwrite",
    "padding='any'": "--padding any",
    "padding='right'": "--padding right",
    "with dtype=": "with --dtype",
    "workbench.load(": "workbench.load() in Python (",
}
"""What error texts say to Python, in the command line's words."""


@contextlib.contextmanager
def guarded(show_traceback: bool) -> Iterator[None]:
    """Turn what may go wrong into one text on stderr and an exit status."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        status = _status(error)
        if status is None:
            raise  # a bug of ours: Python shows where
        if show_traceback and status != BROKEN_PIPE:
            traceback.print_exc()
        raise typer.Exit(status) from None
    if stopped_by() is not None:  # somebody on the way swallowed the interruption
        raise typer.Exit(_interrupted())


def _status(error: BaseException) -> int | None:
    """The exit status that an error means, after saying what people should know of it."""
    if stopped_by() is not None or isinstance(error, KeyboardInterrupt):
        return _interrupted()
    if isinstance(error, BrokenPipeError):
        _forget_stdout()
        return BROKEN_PIPE
    if isinstance(error, OSError) and not isinstance(error, WorkbenchError):
        _forget_stdout()
        where = f": {error.filename}" if error.filename else " while writing the output"
        note(f"Error: {error.strerror or error}{where}")
        return FAILED
    if isinstance(error, WorkbenchError):
        note(f"Error: {in_our_words(str(error))}")
        return USAGE if isinstance(error, UnknownNameError) else FAILED
    return None


def _interrupted() -> int:
    number = stopped_by()
    note("Interrupted." if number in (None, signal.SIGINT) else "Terminated.")
    return INTERRUPTED if number is None else 128 + number


def in_our_words(text: str) -> str:
    """An error text with the options of the command line instead of the arguments of Python."""
    for python, option in _WORDS.items():
        text = text.replace(python, option)
    return text


def _forget_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's own last flush does not complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str) -> None:
    """A line for people, on stderr."""
    with contextlib.suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


def emit(text: str) -> None:
    """Text on stdout, at once: a reader that has gone is noticed here."""
    sys.stdout.write(text)
    sys.stdout.flush()


@contextlib.contextmanager
def step(text: str, *, spinner: bool = True) -> Iterator[None]:
    """Say what goes on: a line, and on a terminal a clock beside it until it is done.

    ``spinner=False`` where the step may draw a bar of its own.
    """
    if not (spinner and sys.stderr.isatty()):
        note(f"{text} ...")
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(text, total=None)
        yield


@contextlib.contextmanager
def only_ours_on_stdout() -> Iterator[None]:
    """While libraries work, whatever they print goes to stderr: stdout is for the result alone."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def console(*, stderr: bool = False) -> Console:
    """Where tables for people go: the terminal's width, or a wide one where there is no terminal."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Quiet(file=stream, width=width, highlight=False, markup=False, emoji=False)


def check_can_write(path: Path | None) -> None:
    """Refuse a report's path before minutes of work, not after them.

    Raises:
        SaveError: its folder is missing or not writable, or the path is a folder.
    """
    if path is None:
        return
    folder = path.parent
    if path.is_dir():
        raise SaveError(f"{path} is a folder; give the name of a file.")
    if not folder.is_dir():
        raise SaveError(f"Cannot write {path}: there is no folder {folder}. Make it first.")
    if not os.access(folder, os.W_OK):
        raise SaveError(f"Cannot write {path}: the folder {folder} is not writable.")
