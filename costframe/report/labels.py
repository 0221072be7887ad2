"""Labels of a picture: near their points and off the data; legends and titles above the axes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.report.pictures import GRAY, PALE, to_drawable, width_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

__all__ = ["bar_boxes", "lay_out", "line_boxes", "marker_boxes", "place_label", "put_above"]

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


def marker_boxes(line: Line2D) -> NDArray[np.float64]:
    """Return the boxes of a line's markers in pixels: float64 (markers, 4), left, low, right, high."""
    at = line.get_transform().transform(line.get_xydata())
    reach = 0.5 * (line.get_markersize() + line.get_markeredgewidth()) * line.figure.dpi / 72
    return np.hstack([at - reach, at + reach])


def line_boxes(line: Line2D) -> NDArray[np.float64]:
    """Return boxes along a line, steps included, as `marker_boxes`: float64 (pieces, 4)."""
    x, y = line.get_data()
    if str(line.get_drawstyle()) == "steps-post":
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    return _along(line.get_transform().transform(np.column_stack([x, y])))


def bar_boxes(bars: LineCollection) -> NDArray[np.float64]:
    """Return boxes along lines, such as error bars, as `marker_boxes`: float64 (pieces, 4)."""
    lines = [_along(bars.get_transform().transform(segment)) for segment in bars.get_segments()]
    return np.vstack([np.empty((0, 4)), *lines])


def _along(at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return small boxes along the way from point to point, float64 (points, 2) in pixels."""
    steps, reach = np.linspace(0, 1, _PIECES + 1)[:, None], 1.5
    ways = [begin + steps * (end - begin) for begin, end in pairwise(at)]
    begin, end = (np.vstack([np.empty((0, 2)), *(way[part] for way in ways)]) for part in (slice(-1), slice(1, None)))
    return np.hstack([np.minimum(begin, end) - reach, np.maximum(begin, end) + reach])


def place_label(
    ax: Axes,
    text: str,
    points: Sequence[tuple[float, float]],
    taken: NDArray[np.float64],
    *,
    beside: bool = False,
    **style: Any,
) -> NDArray[np.float64]:
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


def _shared(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area that each box shares with each other one: float64 (boxes, others)."""
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    sides = np.clip(high - np.maximum(boxes[:, None, :2], others[None, :, :2]), 0.0, None)
    return np.asarray(sides.prod(axis=2), np.float64)
