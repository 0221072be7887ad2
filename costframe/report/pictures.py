"""What pictures share: colors, settings, reproducible files, displays, and where labels and legends go.

A display is scikit-learn's: `plot` draws on axes and keeps them.
"""

from __future__ import annotations

import contextlib
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.checks import check_choice, needed
from costframe.core.errors import DataError, ParameterError, printable, shown
from costframe.core.tables.rows import check_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

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
    """A picture of data, to draw on axes any number of times."""

    ax_: Axes = field(init=False, repr=False)  # those of the last `plot`
    figure_: Figure | SubFigure = field(init=False, repr=False)  # their figure

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


# Places of a label, in points from its point: many directions, ever further away.
_PLACES = np.array([
    (distance * across, distance * up)
    for distance in (7, 11, 16, 24, 34, 48, 66, 90, 120, 160, 210)
    for across, up in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, 0.5), (1, -0.5), (-1, -0.5), (-1, 0.5), (0.5, -1),
                       (-0.5, -1), (0.5, 1), (-0.5, 1))
])  # fmt: skip
_BESIDE = np.array([(4, 0), (-4, 0)])
_LEGEND = 8.5  # points
_PIECES = 16  # of a line, for slanted ones
_OUTSIDE, _NEAR = 10.0, 0.2  # what a square pixel outside, and a pixel of distance, count in covered square pixels


def lay_out(ax: Axes) -> tuple[float, float]:
    """Do the layout of the figure; return width and height of the axes in inches."""
    figure = ax.figure.canvas.figure
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    extent = ax.get_window_extent()
    return extent.width / ax.figure.dpi, extent.height / ax.figure.dpi


def put_above(ax: Axes, handles: Mapping[str, Any], title: str | None) -> None:
    """Put a title and a legend above the axes and the numbers beside them.

    The legend has drawable names, perhaps none, in as many columns as fit.
    """
    lay_out(ax)
    own = ax.get_window_extent()
    begin = min([own.x0, *(text.get_window_extent().x0 for text in ax.get_yticklabels() if text.get_text())])
    left, height = (begin - own.x0) / own.width, 0.0
    if handles:
        widths = [width_of(name, _LEGEND) + 0.42 for name in handles]  # in inches, with the sign and a gap
        room, columns = (own.x1 - begin) / ax.figure.dpi, len(handles)
        while columns > 1 and sum(max(part) for part in _columns(widths, columns)) > room:
            columns -= 1
        columns = -(-len(handles) // -(-len(handles) // columns))  # as few as the same number of lines needs
        legend = ax.legend(
            handles.values(), handles, loc="lower left", bbox_to_anchor=(left, 1.0), ncols=columns, frameon=False,
            fontsize=_LEGEND, handlelength=1.2, handletextpad=0.5, columnspacing=1.0, borderpad=0.2, borderaxespad=0.2,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)
        height = legend.get_window_extent().height * 72 / ax.figure.dpi
    if title is not None:
        how: Any = {"loc": "left", "x": left, "fontweight": "bold", "parse_math": False}
        ax.set_title(to_drawable(title), pad=6 + height, **how)


def _columns(widths: list[float], count: int) -> list[list[float]]:
    """Fill columns one after the other, as legends do; the first ones have one entry more if needed."""
    sizes = [len(widths) // count + (column < len(widths) % count) for column in range(count)]
    ends = [sum(sizes[: column + 1]) for column in range(count)]
    return [widths[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def marker_boxes(line: Line2D) -> F8:
    """Return the boxes of a line's markers in pixels: float64 (markers, 4), left, low, right, high."""
    at = line.get_transform().transform(line.get_xydata())
    reach = 0.5 * (line.get_markersize() + line.get_markeredgewidth()) * line.figure.dpi / 72
    return np.hstack([at - reach, at + reach])


def line_boxes(line: Line2D) -> F8:
    """Return boxes along a line, steps included, as `marker_boxes`: float64 (pieces, 4)."""
    x, y = line.get_data()
    if str(line.get_drawstyle()) == "steps-post":
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    return _along(line.get_transform().transform(np.column_stack([x, y])))


def bar_boxes(bars: LineCollection) -> F8:
    """Return boxes along lines, such as error bars, as `marker_boxes`: float64 (pieces, 4)."""
    lines = [_along(bars.get_transform().transform(segment)) for segment in bars.get_segments()]
    return np.vstack([np.empty((0, 4)), *lines])


def _along(at: F8) -> F8:
    """Return small boxes along the way from point to point, float64 (points, 2) in pixels."""
    steps, reach = np.linspace(0, 1, _PIECES + 1)[:, None], 1.5
    ways = [begin + steps * (end - begin) for begin, end in pairwise(at)]
    begin, end = (np.vstack([np.empty((0, 2)), *(way[part] for way in ways)]) for part in (slice(-1), slice(1, None)))
    return np.hstack([np.minimum(begin, end) - reach, np.maximum(begin, end) + reach])


def place_label(
    ax: Axes, text: str, points: Sequence[tuple[float, float]], taken: F8, *, beside: bool = False, **style: Any
) -> F8:
    """Write lines of text near one of some points of the axes, where they cover least of what is there.

    Parameters
    ----------
    ax : matplotlib Axes
        The layout of their figure is done.
    text : str
        Its lines must be drawable; see `to_drawable`.
    points : sequence of (float, float)
        In data coordinates.
    taken : float64 (boxes, 4)
        What is there, in pixels: left, low, right, high.
    beside : bool
        Whether the text may only be close to the left or right of a point; else a thin line joins them.

    Returns
    -------
    float64 (boxes + 1, 4)
        `taken`, and the box of the text.
    """
    from matplotlib.text import Text

    label = ax.annotate(
        text, points[0], (0, 0), textcoords="offset points", parse_math=False, annotation_clip=False, zorder=7,
        arrowprops=None if beside else {"arrowstyle": "-", "color": PALE, "lw": 0.8, "shrinkA": 1, "shrinkB": 5},
        **{"fontsize": "small", "color": GRAY, "multialignment": "left", **style},
    )  # fmt: skip
    label.set_in_layout(False)
    extent, point = Text.get_window_extent(label), ax.figure.dpi / 72
    places = _BESIDE if beside else _PLACES
    moves = np.tile(places, (len(points), 1)) * point
    begin = np.repeat(ax.transData.transform(points), len(places), axis=0) + moves
    low = begin - np.array([extent.width, extent.height]) * (1 - np.sign(moves)) / 2
    boxes = np.hstack([low, low + np.array([extent.width, extent.height])])
    whole = np.array([ax.get_window_extent().extents])
    outside = extent.width * extent.height - _shared(boxes, whole).sum(axis=1)
    price = _shared(boxes, taken).sum(axis=1) + _OUTSIDE * outside + _NEAR * np.hypot(*moves.T)
    best = int(price.argmin())
    label.xy = points[best // len(places)]
    label.set_position(places[best % len(places)])
    across, up = np.sign(moves[best]).astype(int).tolist()
    label.set(ha=("center", "left", "right")[across], va=("center", "bottom", "top")[up])
    return np.vstack([taken, boxes[best]])


def _shared(boxes: F8, others: F8) -> F8:
    """Return the area that each box shares with each other one: float64 (boxes, others)."""
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    sides = np.clip(high - np.maximum(boxes[:, None, :2], others[None, :, :2]), 0.0, None)
    return np.asarray(sides.prod(axis=2), np.float64)
