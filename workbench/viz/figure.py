"""Figures without pyplot: made anywhere, shown in any notebook, never twice, readable on light and dark
pages.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import SaveError, wrong_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

# Okabe and Ito's palette: told apart with the common kinds of colour blindness.
BLUE, ORANGE, GREEN, SKY = "#0072B2", "#E69F00", "#009E73", "#56B4E9"
VERMILLION, PURPLE, YELLOW, BLACK = "#D55E00", "#CC79A7", "#F0E442", "#000000"
CARD, INK, QUIET, RULE = "#FAFAF8", "#1F2328", "#5F6670", "#D8DADF"

DPI = 150
CSS_DPI = 96

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "figure.facecolor": CARD,
    "axes.facecolor": CARD,
    "savefig.facecolor": CARD,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": RULE,
    "axes.titlecolor": INK,
    "xtick.color": QUIET,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "text.parse_math": False,  # op and model names may hold dollar signs
}


class Figure:
    """A finished picture and its text: PNG for notebooks and reports, ``alt`` for terminals and screen
    readers.
    """

    def __init__(self, figure: MplFigure, alt: str) -> None:
        self._figure = figure
        self.alt = alt
        _settle(figure)

    @property
    def axes(self) -> list[Axes]:
        """matplotlib's axes, for those who want to change the picture."""
        return list(self._figure.axes)

    @property
    def figure(self) -> MplFigure:
        """matplotlib's own figure."""
        return self._figure

    def to_png(self) -> bytes:
        """The picture as PNG with a palette; the same bytes for the same data and the same libraries."""
        from PIL import Image

        drawn, packed = io.BytesIO(), io.BytesIO()
        with style():
            self._figure.savefig(drawn, format="png", dpi=DPI)
        # 256 colours are plenty for flat pictures, and a third of the size: notebooks and reports carry many.
        image = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        image.save(packed, "PNG", optimize=True, dpi=(DPI, DPI))
        return packed.getvalue()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the PNG file in one step: it is there whole, or what was there before is.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        return write_atomic(path, self.to_png())

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        import base64

        width, height = (int(side * CSS_DPI) for side in self._figure.get_size_inches())
        png = base64.b64encode(self.to_png()).decode("ascii")
        data = {"image/png": png, "text/plain": self.alt}
        return data, {"image/png": {"width": width, "height": height}}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Our fonts and colours, for the time of drawing only: a user's own settings stay untouched."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


def canvas(width: float, height: float) -> MplFigure:
    """An empty figure in inches that pyplot does not know about; draw inside :func:`style`."""
    from matplotlib.figure import Figure as MplFigure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06, wspace=0.03, hspace=0.04)
    return MplFigure(figsize=(width, height), layout=layout)


def _settle(figure: MplFigure) -> None:
    """Lay everything out once: constrained layout moves things a little with every drawing."""
    with style():
        figure.set_dpi(DPI)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def say(text: str, alt: str | None = None) -> Figure:
    """A picture of one sentence: what a plot shows when there is nothing to draw."""
    with style():
        figure = canvas(8, 1.1)
        axes = figure.add_subplot()
        axes.set_axis_off()
        axes.text(0.5, 0.5, text, ha="center", va="center", color=QUIET, fontsize=11, wrap=True)
    return Figure(figure, alt or text)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """:func:`write_atomic` for text; what UTF-8 cannot hold (a half of a pair, from the name of a file) is a
    question mark.
    """
    return write_atomic(path, text.encode("utf-8", "replace"))


def write_atomic(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file through a temporary sibling, so that it is never half there.

    Raises:
        SaveError: the folder is missing, full or not writable.
    """
    if not isinstance(path, str | os.PathLike):
        raise wrong_type("path", path, "the name of a file")
    target = Path(path)
    temporary = ""
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        why = getattr(error, "strerror", None) or error
        raise SaveError(
            f"Cannot write {str(target)!r}: {why}. What was there before is untouched. "
            "Choose a folder that exists, is writable and has room."
        ) from error
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
    return target


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
