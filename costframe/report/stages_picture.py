"""The drawing of stages: boxes of texts and panels, and the ways between them; measures are in inches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from costframe.core.arrays import F8, I8
from costframe.core.stages.stages import Route
from costframe.report.drawn_text import cut_text, width_of, wrap_text
from costframe.report.stage_boxes import Line, StageBox
from costframe.report.stage_panels import PANEL_HEIGHT, Panels
from costframe.report.style import COLORS, GRAY, INK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _BETWEEN, GAP, _MARGIN, _INSET = 2.5, 0.65, 0.18, 0.25, 0.09
_TITLE, _LINE, _LEAST_WIDTH, _ARC = 0.25, 0.165, 6.2, 0.2
_HEAD_SIZE, _LINE_SIZE, _NOTE_SIZE = 9.0, 8.0, 8.0  # points
_DPI, _MOST_DOTS, _LONGEST = 150, 4e7, 3e4
_KINDS: dict[str, dict[str, Any]] = {
    "plain": {}, "resource": {"fontstyle": "italic"}, "faint": {"color": GRAY}
}  # fmt: skip


@frozen
class Way:
    """A way from one box to another, by their numbers."""

    start: int
    end: int
    share: float | None  # of all rows that take it; None without rows
    side: int = 0  # -1, 0 or 1: whether it leaves the box below its middle, at it, or above
    label: str = ""


class Picture:
    """Boxes and the ways between them, laid out in inches."""

    def __init__(
        self,
        boxes: Sequence[StageBox],
        place: tuple[I8, F8],
        ways: Sequence[Way],
        panels: Panels | None,
        title: str,
        notes: str,
    ) -> None:
        """Lay out boxes by column, int64 (boxes,), and height of the center, float64 (boxes,)."""
        self.boxes, self.ways, self.panels = boxes, ways, panels
        self.heights = [height_of(box) for box in boxes]
        self.column, center = place
        inner = max((self.column.max() + 1) * (_WIDTH + _BETWEEN) - _BETWEEN, _LEAST_WIDTH)
        self.title = cut_text(title, inner, 12, "bold")
        self.notes = wrap_text(notes, inner, _NOTE_SIZE)
        self.legend = [] if panels is None else [str(label) for label in panels.labels]
        self.floor = _MARGIN + _LINE * (len(self.notes) + bool(self.legend)) + 0.15
        self.left, self.center = _MARGIN + self.column * (_WIDTH + _BETWEEN), center + self.floor
        self.top = float(max(middle + height / 2 for middle, height in zip(self.center, self.heights, strict=True)))
        longest = max((self._columns_between(way) for way in ways), default=0)
        self.size = inner + 2 * _MARGIN, self.top + (0.25 + longest * _ARC if longest else 0) + 0.42 + _MARGIN

    @property
    def dpi(self) -> float:
        """Resolution of a figure of this size that is not too large."""
        width, height = self.size
        return float(min(_DPI, _LONGEST / max(width, height), math.sqrt(_MOST_DOTS / (width * height))))

    def draw(self, axes: Axes) -> None:
        """Draw on axes, as large as they have room; texts and lines shrink and grow with the picture."""
        width, height = self.size
        axes.set_axis_off()
        axes.set(xlim=(0, width), ylim=(0, height), autoscale_on=False)  # inches
        axes.set_aspect("equal", anchor="NW")
        bold: Any = {"fontsize": 12, "fontweight": "bold", "parse_math": False}
        axes.text(_MARGIN, height - _MARGIN, self.title, va="top", **bold)
        for way in self.ways:
            self._way(axes, way)
        for number in range(len(self.boxes)):
            self._box(axes, number)
        self._below(axes)
        keep_in_scale(axes, width)

    def _columns_between(self, way: Way) -> int:
        return int(self.column[way.end] - self.column[way.start]) - 1

    def _way(self, axes: Axes, way: Way) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        between = self._columns_between(way)
        if between:  # over the boxes between
            first, last = self.left[way.start] + 0.75 * _WIDTH, self.left[way.end] + 0.25 * _WIDTH
            begin, end = (self.center[n] + self.heights[n] / 2 for n in (way.start, way.end))
            crest = self.top + 0.1 + between * _ARC
            bow = crest + (crest - max(begin, end)) / 3  # a curve reaches 3/4 of the height of its handles
            points = [(first, begin), (first, bow), (last, bow), (last, end)]
            label_at = (first + last) / 2, (begin + end) / 8 + 0.75 * bow
        else:
            first, last, end = self.left[way.start] + _WIDTH, self.left[way.end], self.center[way.end]
            level = math.isclose(end, self.center[way.start], abs_tol=1e-9)
            begin = self.center[way.start] + (0 if level else way.side * 0.1)
            middle = (first + last) / 2
            points = [(first, begin), (middle, begin), (middle, end), (last, end)]
            label_at = middle, (begin + end) / 2 + 0.1
        wide = {"lw": 1.2} if way.share is None else {"lw": 0.8 + 7 * way.share, "ls": "-" if way.share else ":"}
        path = Path(points, [1, 4, 4, 4])
        axes.add_patch(PathPatch(path, fc="none", ec=PALE, alpha=0.7, capstyle="butt", zorder=1, **wide))
        if way.label:
            axes.text(*label_at, way.label, ha="center", va="center", fontsize=_LINE_SIZE, parse_math=False)

    def _box(self, axes: Axes, number: int) -> None:
        from matplotlib.patches import FancyBboxPatch

        box, height = self.boxes[number], self.heights[number]
        left, top = float(self.left[number]), float(self.center[number]) + height / 2
        unused = box.share == 0
        color = PALE if unused else COLORS[0] if isinstance(box.stage, Route) else COLORS[2]
        axes.add_patch(FancyBboxPatch(
            (left, top - height), _WIDTH, height, boxstyle="round,pad=0,rounding_size=0.06", fc="white", ec=color,
            lw=1.3, ls="--" if unused else "-", zorder=2,
        ))  # fmt: skip
        self._line(axes, left, top - 0.06, box.title, _HEAD_SIZE, {"fontweight": "bold", "color": color})
        for i, line in enumerate(box.lines):
            self._line(axes, left, top - 0.06 - _TITLE + 0.03 - i * _LINE, line, _LINE_SIZE, _KINDS[line.kind])
        if self.panels is not None and box.has_panel:
            corner = left + _INSET, top - height + 0.04
            self.panels.draw(axes, corner, _WIDTH - 2 * _INSET, box.stage, box.seen)

    @staticmethod
    def _line(axes: Axes, left: float, top: float, line: Line, size: float, style: dict[str, Any]) -> None:
        weight, room = str(style.get("fontweight", "normal")), _WIDTH - 2 * _INSET
        right = cut_text(line.right, 0.6 * room, size)
        room -= width_of(right, size) + 0.12 if right else 0
        left_text = cut_text(line.left, room, size, weight)
        shared: Any = {"va": "top", "fontsize": size, "parse_math": False, "zorder": 3}
        axes.text(left + _INSET, top, left_text, **shared, **style)
        color = style.get("color", INK)
        axes.text(left + _WIDTH - _INSET, top, right, ha="right", color=color, **shared)

    def _below(self, axes: Axes) -> None:
        """Draw the legend, and the notes on how to read the picture."""
        from matplotlib.patches import Rectangle

        style: Any = {"fontsize": _NOTE_SIZE, "parse_math": False, "va": "top"}
        y = self.floor - 0.15
        left, room = _MARGIN, (self.size[0] - 2 * _MARGIN) / max(len(self.legend), 1) - 0.3
        for label, color in zip(self.legend, COLORS, strict=False):
            shown = cut_text(label, room, _NOTE_SIZE)
            axes.add_patch(Rectangle((left, y - 0.12), 0.1, 0.1, color=color, lw=0, alpha=0.75))
            axes.text(left + 0.15, y, shown, **style)
            left += width_of(shown, _NOTE_SIZE) + 0.35
        for i, note in enumerate(self.notes):
            axes.text(_MARGIN, y - (i + bool(self.legend)) * _LINE, note, color=GRAY, **style)


def height_of(box: StageBox) -> float:
    """Return the height of a box in inches."""
    return _TITLE + _LINE * len(box.lines) + (PANEL_HEIGHT + 0.1 if box.has_panel else 0.06) + 0.03


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
