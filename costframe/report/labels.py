"""Labels of points in pictures, where they cover least of what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.arrays import F8
from costframe.report.style import GRAY, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

# Places of a label, in points from its point: many directions, ever further away.
_PLACES = np.array([
    (distance * across, distance * up)
    for distance in (7, 11, 16, 24, 34, 48, 66, 90, 120, 160, 210)
    for across, up in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, 0.5), (1, -0.5), (-1, -0.5), (-1, 0.5), (0.5, -1),
                       (-0.5, -1), (0.5, 1), (-0.5, 1))
])  # fmt: skip
_BESIDE = np.array([(4, 0), (-4, 0)])
_PIECES = 16  # of a line, for slanted ones
_OUTSIDE, _NEAR = 10.0, 0.2  # what a square pixel outside, and a pixel of distance, count in covered square pixels


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
