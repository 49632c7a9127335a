"""Open a graph in Netron: one process and one private folder for each model.

Netron keeps the served model in its request handler's class, so that two models in one process show the last
one twice; hence a process each. It also serves every file below the model's folder to whoever can reach the
port; hence a folder of its own, readable by the user alone, that holds the graph without weights, on
loopback. Source: netron 9.3.3, ``server.py``.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx_ir as ir

from workbench.analysis.histogram import as_model
from workbench.analysis.markup import escape
from workbench.errors import ExecutionError, UnsupportedError
from workbench.viz.figure import write_atomic
from workbench.widgets.light_model import light_bytes

HOST = "127.0.0.1"
MOST_DAYS = 180
"""Netron shows nothing but a request to update when it is older. Source: netron 9.3.3, ``browser.js``."""

START_SECONDS = 30.0
ABOUT = (
    "Shown without weights by a Netron of its own on the kernel's machine, until it is closed or the kernel ends. "
    "It may ask about cookies first; its usage reports are switched off here."
)
_SERVER = Path(__file__).with_name("netron_server.py")  # run by its text: this folder holds a netron.py too


class NetronView:
    """A model shown by its own Netron. ``close()`` ends the process and removes its folder; so does the
    kernel's end.

    Attributes:
        name: what the page calls the model.
        url: address of the page, on this machine only.
    """

    def __init__(self, process: subprocess.Popen[str], folder: Path, name: str, port: int, height: int) -> None:
        self.name = name
        self.url = f"http://{HOST}:{port}"
        self.height = height
        self.notice = age_notice()
        self._process = process
        self._stop = weakref.finalize(self, _stop, process, folder)  # also at the interpreter's exit

    @property
    def closed(self) -> bool:
        """Whether the page is gone."""
        return not self._stop.alive or self._process.poll() is not None

    def close(self) -> None:
        """End the process and remove its folder; a second call does nothing."""
        self._stop()

    def __enter__(self) -> NetronView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"NetronView({self.name}{', closed' if self.closed else ''})"

    def to_html(self) -> str:
        """The page in a frame, with what a person should know about it."""
        if self.closed:
            return f"<p>The Netron of {escape(self.name)} is closed.</p>"
        return f"<div>{self.notice_html()}<p>{escape(ABOUT)}</p>{self.frame_html()}</div>"

    def notice_html(self) -> str:
        """The warning about an old Netron, or nothing."""
        return f"<p><strong>{escape(self.notice)}</strong></p>" if self.notice else ""

    def frame_html(self) -> str:
        """The page in a frame, below its name and address."""
        url, name = escape(self.url), escape(self.name)
        return (
            f'<p><strong>{name}</strong> at <a href="{url}" target="_blank" rel="noopener">{url}</a></p>'
            f'<iframe src="{url}" title="Netron: {name}" width="100%" height="{int(self.height)}" '
            'style="border:1px solid #8884"></iframe>'
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.to_html()}


def open_in_netron(model: Any, *, name: str | None = None, height: int = 600) -> NetronView:
    """Show a graph in Netron, in a process of its own.

    Args:
        model: an ``ir.Model``, ``ModelProto``, path of an ONNX file, or package of one model. It is not
        changed and
            its weights are not read.
        name: what the page shows as the file's name; taken from the path or the graph otherwise.
        height: of the frame in a notebook, in pixels.

    Raises:
        ModelFileError: the path holds no readable ONNX model.
        UnsupportedError: Netron is not installed, or the value is no model.
        ExecutionError: Netron did not start.
    """
    graph_model = as_model(model)
    title = name or _name_of(model, graph_model)
    folder = Path(tempfile.mkdtemp(prefix="workbench-netron-"))  # mode 0700
    process = None
    try:
        path = write_atomic(folder / f"{_file_name(title)}.onnx", light_bytes(graph_model))
        process = _start(path, folder)
        return NetronView(process, folder, title, _port(process, title), height)
    except BaseException:
        _stop(process, folder)
        raise


def _name_of(model: Any, graph_model: ir.Model) -> str:
    if isinstance(model, str | Path):
        return Path(model).stem
    if isinstance(model, Mapping) and len(model) == 1:
        return str(next(iter(model)))
    return graph_model.graph.name or "model"


def _file_name(name: str) -> str:
    """A name for a file and for Netron's page, which does not escape it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._")[:80] or "model"


def _start(path: Path, folder: Path) -> subprocess.Popen[str]:
    import importlib.util

    if importlib.util.find_spec("netron") is None:
        raise UnsupportedError("Netron is not installed. Install it with: pip install netron")
    with (folder / "netron.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-c", _SERVER.read_text(encoding="utf-8"), str(path), HOST, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
            start_new_session=True,  # an interrupt of the kernel is not for Netron
        )


def _port(process: subprocess.Popen[str], title: str) -> int:
    """Wait for the line with the port, but not for ever."""
    lines: list[str] = []
    stdout = process.stdout
    assert stdout is not None
    reader = threading.Thread(target=lambda: lines.append(stdout.readline()), daemon=True)
    reader.start()
    reader.join(START_SECONDS)
    if lines and lines[0].strip().isdigit():
        return int(lines[0])
    state = f"it ended with status {process.poll()}" if process.poll() is not None else "it did not answer"
    raise ExecutionError(
        f"Netron did not start for {title!r}: {state}. Try `python -m netron` in a terminal to see why."
    )


def _stop(process: subprocess.Popen[str] | None, folder: Path) -> None:
    if process is not None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
    shutil.rmtree(folder, ignore_errors=True)


def age_notice(today: datetime.date | None = None, page: str | None = None) -> str:
    """A sentence when the installed Netron is so old that it shows no models any more, otherwise nothing.

    ``page`` is Netron's ``index.html``, which carries the date of its build.
    """
    text = _index_html() if page is None else page
    found = re.search(r'<meta name="date" content="(\d{4})-(\d{2})-(\d{2})', text)
    if not found:
        return ""
    built = datetime.date(*map(int, found.groups()))
    days = ((today or datetime.date.today()) - built).days
    if days <= MOST_DAYS:
        return ""
    return (
        f"The installed Netron was built on {built}, {days} days ago. After {MOST_DAYS} days it only asks to be "
        "updated and shows no model. Update it with: pip install --upgrade netron"
    )


def _index_html() -> str:
    import importlib.util

    spec = importlib.util.find_spec("netron")
    if spec is None or not spec.origin:
        return ""
    path = Path(os.path.dirname(spec.origin)) / "index.html"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
