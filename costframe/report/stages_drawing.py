"""Drawing of stages: boxes of texts, panels with their values, and the ways between them; measures are in inches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.report.pictures import COLORS, GRAY, INK, PALE, cut_text, keep_in_scale, width_of, wrap_text
from costframe.report.stages import StageSeen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_HEIGHT = 0.95  # with the numbers below
_BELOW = 0.16  # room for the numbers
_BINS = 24
_SMALL: Any = {"fontsize": 6.5, "color": GRAY, "parse_math": False}
_HUGE = 1e300  # larger values are cut, so that differences do not overflow
_WIDTH, _BETWEEN, GAP, _MARGIN, _INSET = 2.5, 0.65, 0.18, 0.25, 0.09
_TITLE, _LINE, _LEAST_WIDTH, _ARC = 0.25, 0.165, 6.2, 0.2
_HEAD_SIZE, _LINE_SIZE, _NOTE_SIZE = 9.0, 8.0, 8.0  # points
_DPI, _MOST_DOTS, _LONGEST = 150, 4e7, 3e4
_KINDS: dict[str, dict[str, Any]] = {
    "plain": {}, "resource": {"fontstyle": "italic"}, "faint": {"color": GRAY}
}  # fmt: skip
_Range = tuple[float, float]
_Outline = list[_Range]  # lowest and highest point of a stage's subtree, for each column from the stage on


@frozen
class Line:
    """A line of a box: text at the left and at the right; `kind` is "plain", "resource" or "faint"."""

    left: str
    right: str = ""
    kind: str = "plain"


@frozen(eq=False)
class StageBox:
    """The texts of a stage's box."""

    title: Line
    lines: tuple[Line, ...]
    stage: Stage
    seen: StageSeen
    share: float | None  # of all rows that reach the stage; None without rows

    @property
    def has_panel(self) -> bool:
        """Whether the box has values to draw."""
        return self.seen.values is not None and bool(np.isfinite(self.seen.values).any())


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


def place_stages(stages: Sequence[Stage], heights: Sequence[float], gap: float) -> tuple[I8, F8]:
    """Place the box of each stage in a column, without touching boxes or crossing ways.

    A route is midway between its two next stages, or level with the one that is a route, so that a chain is straight.
    Two boxes of one column are at least `gap` apart. It returns the column of each stage, which is the number of routes
    on the path to it, int64, and the height of its center, float64; the lowest point of all boxes is at zero.
    """
    column, up = np.zeros(len(stages), np.int64), np.zeros(len(stages))  # up: relative to the parent's center
    outlines: list[_Outline] = [[(-height / 2, height / 2)] for height in heights]
    for number in reversed(range(len(stages))):
        stage = stages[number]
        if isinstance(stage, Route):
            shifts = _shifts(stage, stages, _apart(outlines[stage.below], outlines[stage.above], gap))
            up[stage.below], up[stage.above] = shifts
            lower, upper = (
                [(low + by, high + by) for low, high in outlines[child]]
                for child, by in zip((stage.below, stage.above), shifts, strict=True)
            )
            both = [(low[0], high[1]) for low, high in zip(lower, upper, strict=False)]
            outlines[number] += both + lower[len(both) :] + upper[len(both) :]
            outlines[stage.below] = outlines[stage.above] = []
    center = np.zeros(len(stages))
    for number, stage in enumerate(stages):
        if isinstance(stage, Route):
            for child in (stage.below, stage.above):
                column[child], center[child] = column[number] + 1, center[number] + up[child]
    return column, center - (center - np.asarray(heights) / 2).min()


def _shifts(stage: Route, stages: Sequence[Stage], apart: float) -> tuple[float, float]:
    routes = isinstance(stages[stage.below], Route), isinstance(stages[stage.above], Route)
    if routes == (True, False):
        return 0.0, apart
    if routes == (False, True):
        return -apart, 0.0
    return -apart / 2, apart / 2


def _apart(lower: _Outline, upper: _Outline, gap: float) -> float:
    """Return the least distance of the root of `upper` above that of `lower`."""
    return max(low[1] - high[0] for low, high in zip(lower, upper, strict=False)) + gap


@frozen(eq=False)
class Panels:
    """The common settings of all panels."""

    answers: _Range  # of all predictions, a common scale for answers
    labels: tuple[Any, ...] = ()  # with a color each, ascending
    codes: I8 | None = None  # (n,): position of each row's label in `labels`

    @classmethod
    def of(cls, stages: Sequence[Stage], seen: Sequence[StageSeen], y: NDArray[Any] | None) -> Panels:
        """Choose the settings: at most six different labels get colors."""
        drawn = [_one_value(mine.values) for stage, mine in zip(stages, seen, strict=True) if isinstance(stage, Answer)]
        answers = _range(np.concatenate(drawn))
        if y is None:
            return cls(answers)
        labels, codes = np.unique(y, return_inverse=True)
        few = len(labels) <= len(COLORS)
        return cls(answers, tuple(labels.tolist()), codes.astype(np.int64)) if few else cls(answers)

    def draw(self, axes: Axes, corner: tuple[float, float], width: float, stage: Stage, seen: StageSeen) -> None:
        """Draw a stage's panel; `axes` is in inches, `corner` is the lower left one."""
        values = _one_value(seen.values)
        finite = np.isfinite(values)
        assert seen.rows is not None  # noqa: S101 - a stage with values has rows
        rows, values = seen.rows[finite], np.clip(values[finite], -_HUGE, _HUGE)
        place = corner[0], corner[1] + _BELOW, width, PANEL_HEIGHT - _BELOW
        panel = axes.inset_axes(place, transform=axes.transData)
        panel.patch.set_visible(False)
        panel.spines[:].set(linewidth=0.7)
        panel.spines[["top", "right", "left"]].set_visible(False)
        n_outputs = stage.n_predictions if isinstance(stage, Answer) else 1
        several = isinstance(stage, Answer) and n_outputs > 1
        ends = (-0.5, n_outputs - 0.5) if several else self.answers if isinstance(stage, Answer) else _range(values)
        along, n_labels = _along(values, ends), max(len(self.labels), 1)
        codes = np.zeros(len(rows), np.int64) if self.codes is None else self.codes[rows]
        panel.hist(
            [along[codes == code] for code in range(n_labels)],
            bins=n_outputs if several else _BINS,
            range=(0.0, 1.0),
            histtype="stepfilled",
            stacked=True,
            color=COLORS[:n_labels] if self.labels else [PALE],
            alpha=0.75,
            lw=0,
        )
        panel.set(xlim=(0.0, 1.0), xticks=[], yticks=[])
        what = "largest output" if several else "prediction" if isinstance(stage, Answer) else "score"
        low, high = (0.0, n_outputs - 1.0) if several else ends
        for x, text, side in ((0.0, f"{low:.3g}", "left"), (0.5, what, "center"), (1.0, f"{high:.3g}", "right")):
            panel.text(x, -0.04, text, ha=side, va="top", transform=panel.transAxes, **_SMALL)
        if isinstance(stage, Route) and ends[0] <= stage.threshold <= ends[1]:
            panel.axvline(float(_along(stage.threshold, ends)), color=INK, lw=1.0, ls=(0, (2, 1.5)))


def _one_value(values: F8 | None) -> F8:
    """Return the values of one output, or the index of the largest of several: float64 (m,)."""
    if values is None or not len(values):
        return np.empty(0)
    return values[:, 0] if values.shape[1] == 1 else values.argmax(axis=1).astype(np.float64)


def _range(values: F8) -> _Range:
    finite = np.clip(values[np.isfinite(values)], -_HUGE, _HUGE)
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = 0.5 * max(abs(low), abs(high)) or 0.5
    # Values that differ by rounding only count as equal.
    return (low, high) if high - low > 1e-9 * room else (low - room, high + room)


def _along(values: Any, ends: _Range) -> F8:
    """Return the places of values in a range, 0 to 1; matplotlib does not scale huge values itself."""
    return (np.asarray(values, np.float64) - ends[0]) / (ends[1] - ends[0])
