"""What pictures share: colors, settings, texts cut to a width, reproducible files, and displays.

A display is scikit-learn's: `plot` draws on axes and keeps them.
"""

from __future__ import annotations

import contextlib
import io
import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define, field

from costframe.core.checks import check_choice, needed
from costframe.core.errors import DataError, ParameterError, printable, shown
from costframe.core.tables.rows import check_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import ArrayLike, NDArray

__all__ = ["COLORS", "GRAY", "INK", "PALE", "STYLE", "Display", "ModelDisplay", "as_labels", "cut_text",
           "keep_in_scale", "new_figure", "percent", "to_bytes", "to_drawable", "width_of", "wrap_text"]  # fmt: skip

# Distinct for color-blind readers too (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, GRAY, PALE = "#333333", "#666666", "#999999"

_OURS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 10,
    "svg.hashsalt": "costframe",  # names in the file are not random
    "axes.edgecolor": PALE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
STYLE: Any = ["default", _OURS]  # for matplotlib's style.context


def new_figure(size: tuple[float, float], dpi: float, **how: Any) -> Figure:
    """Make a figure of a size in inches that no window shows; call it within the style."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=dpi, **how)
    FigureCanvasAgg(figure)
    return figure


def to_bytes(figure: Figure, kind: str) -> bytes:
    """Return the figure as a reproducible file of the kind "png" or "svg"; call it within the style."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return file.getvalue()


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a drawable text in inches, in matplotlib's own font of `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def to_drawable(text: str) -> str:
    """Return the text with escapes for unprintable characters, and one sign for all without a glyph."""
    return "".join(letter if ord(letter) in _letters() else "\N{REPLACEMENT CHARACTER}" for letter in printable(text))


def cut_text(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Return the text, drawable on one line; a text wider than `width` inches has "…" in place of its middle."""
    text = to_drawable(text)
    if width_of(text, size, weight) <= width:
        return text
    low, high = 0, len(text)  # `low` letters fit, `high` letters do not
    while high - low > 1:
        middle = (low + high) // 2
        if width_of(_cut(text, middle), size, weight) <= width:
            low = middle
        else:
            high = middle
    return _cut(text, low)


def _cut(text: str, count: int) -> str:
    """Keep `count` letters, at both ends: names that begin alike often differ at the end."""
    last = count * 2 // 5
    return text[: count - last].rstrip() + "…" + text[len(text) - last :].lstrip()


def wrap_text(text: str, width: float, size: float) -> list[str]:
    """Break a text at spaces into lines of at most `width` inches; cut longer words."""
    lines: list[str] = []
    for word in to_drawable(text).split():
        if lines and width_of(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(cut_text(word, width, size))
    return lines


def percent(share: float) -> str:
    """Return a share in percent as text; "< 1 %" and "> 99 %" at the ends."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def keep_in_scale(axes: Axes, width: float) -> None:
    """Scale all texts and lines of axes now, whenever the axes have another width than `width`, in inches."""
    from matplotlib.artist import Artist
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    kinds = ((Text, "fontsize"), (Line2D, "linewidth"), (Line2D, "markersize"), (Patch, "linewidth"))
    sizes: list[tuple[Any, str, float]] = [
        (part, name, getattr(part, f"get_{name}")()) for kind, name in kinds for part in axes.findobj(kind)
    ]
    for text in axes.findobj(Text):
        text.set_in_layout(False)

    class Scaling(Artist):
        """An invisible part of the axes, which is drawn first."""

        scale = 1.0

        def draw(self, _renderer: Any) -> None:
            """Set the sizes before the other parts are drawn."""
            scale = axes.get_window_extent().width / axes.figure.dpi / width
            if not math.isclose(scale, self.scale, rel_tol=1e-6):
                self.scale = scale
                for part, name, size in sizes:
                    part.set(**{name: size * scale})

    scaling = Scaling()
    scaling.set(zorder=-1, in_layout=False)
    axes.add_artist(scaling)


DPI = 150


@define(eq=False)
class Display(ABC):
    """A picture of data, to draw on axes any number of times.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Those of the last `plot`.
    figure_ : matplotlib Figure
        Their figure.
    """

    ax_: Axes = field(init=False, repr=False)
    figure_: Figure | SubFigure = field(init=False, repr=False)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return 6.4, 4.2

    @property
    def dpi(self) -> float:
        """Resolution of a figure of its own."""
        return DPI

    @abstractmethod
    def draw(self, ax: Axes) -> None:
        """Draw on axes, in the current style."""

    def plot(self, ax: Any = None) -> Self:
        """Draw, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure of pyplot, as notebooks show it.
        """
        needed("matplotlib", "cli")
        from matplotlib import style
        from matplotlib.axes import Axes

        if ax is None:
            import matplotlib.pyplot as plt

            with style.context(STYLE):
                ax = plt.figure(figsize=self.size, dpi=min(100, self.dpi), layout="constrained").add_subplot()
                self.draw(ax)
        elif isinstance(ax, Axes):
            with _room_for_labels(ax):
                self.draw(ax)
        else:
            raise ParameterError(f"ax: expected axes of matplotlib, got {shown(ax)}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def to_bytes(self, kind: str = "png", size: tuple[float, float] | None = None) -> bytes:
        """Return the picture as a file; equal data give equal bytes.

        It draws on a figure of its own, without pyplot, and leaves `ax_` as it is.

        Parameters
        ----------
        kind : {"png", "svg"}
        size : (float, float), optional
            Width and height in inches.
        """
        check_choice("kind", kind, ("png", "svg"))
        return self.to_files(kind, size=size)[0]

    def to_files(self, *kinds: str, size: tuple[float, float] | None = None) -> list[bytes]:
        """Return the picture, drawn once, as a file of each kind; the bytes are those of `to_bytes`."""
        needed("matplotlib", "cli")
        from matplotlib import style

        with style.context(STYLE):
            dpi = self.dpi if size is None else DPI
            figure = new_figure(self.size if size is None else size, dpi=dpi, layout="constrained")
            self.draw(figure.add_subplot())
            return [to_bytes(figure, kind) for kind in kinds]


@contextlib.contextmanager
def _room_for_labels(ax: Axes) -> Iterator[None]:
    """Lay out the figure of axes so that labels fit, if it has no layout of its own and no other axes."""
    figure = ax.figure.canvas.figure
    if figure.get_layout_engine() is not None or figure.axes != [ax]:
        yield
        return
    figure.set_layout_engine("constrained")
    try:
        yield
        figure.draw_without_rendering()
    finally:
        figure.set_layout_engine(None)  # the places stay, and other layouts may follow


@define(eq=False)
class ModelDisplay(Display):
    """A picture of one model, perhaps on rows."""

    @classmethod
    @abstractmethod
    def of(cls, *given: Any, **options: Any) -> Self:
        """Prepare the picture without drawing it."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        costs: object = None,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted estimator or predictor; see `of` for the arguments, and `plot` for `ax`."""
        return cls.of(estimator, X, y, costs, **options).plot(ax)


def as_labels(y: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return the labels of rows, (n_rows,), numbers or texts; refuse others."""
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.dtype.kind in "iufb":
        check_target(labels, n_rows, "y")
        return labels
    if labels.shape != (n_rows,):
        raise DataError(f"y: expected one label a row, shape ({n_rows},), got {labels.shape}")
    return labels.astype(np.str_)
