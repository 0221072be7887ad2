"""Panels in the boxes of stages: histograms of values, or values against labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.stages.stages import Answer, Route
from costframe.report.pictures import COLORS, INK, PALE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from costframe.core.stages.stages import Stage
    from costframe.report.stages_seen import StageSeen

__all__ = ["PANEL_HEIGHT", "Panels"]

PANEL_HEIGHT = 0.95  # inches, with the numbers below
_BELOW, _BESIDE = 0.16, 0.42  # room for the numbers
_BINS, _MOST_POINTS = 24, 300
_SMALL: Any = {"fontsize": 6.5, "color": "#666666", "parse_math": False, "zorder": 4}
_HUGE = 1e300  # larger values are cut, so that differences do not overflow

_Range = tuple[float, float]


@frozen(eq=False)
class Panels:
    """The common settings of all panels.

    Attributes
    ----------
    answers : (float, float)
        Range of all predictions, a common scale for answers.
    labels : tuple
        Labels with a color each, ascending.
    codes : int64 (n,) or None
        Position of each row's label in `labels`.
    target : float64 (n,) or None
        Labels to draw predictions against.
    """

    answers: _Range
    labels: tuple[Any, ...] = ()
    codes: NDArray[np.int64] | None = None
    target: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, stages: Sequence[Stage], seen: Sequence[StageSeen], y: NDArray[Any] | None) -> Panels:
        """Choose the settings: at most six labels get colors, more labels an axis if they are numbers, else nothing."""
        drawn = [_one_value(mine.values) for stage, mine in zip(stages, seen, strict=True) if isinstance(stage, Answer)]
        answers = _range(np.concatenate(drawn))
        if y is None:
            return cls(answers)
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) <= len(COLORS):
            return cls(answers, tuple(labels.tolist()), codes.astype(np.int64))
        one_output = all(len(stage.intercept) == 1 for stage in stages)
        if not (one_output and y.dtype.kind in "iuf"):
            return cls(answers)
        return cls(answers, target=np.clip(y.astype(np.float64), -_HUGE, _HUGE))

    def draw(self, axes: Axes, corner: tuple[float, float], width: float, stage: Stage, seen: StageSeen) -> None:
        """Draw a stage's panel; `axes` is in inches, `corner` is the lower left one."""
        values = _one_value(seen.values)
        finite = np.isfinite(values)
        assert seen.rows is not None  # noqa: S101 - a stage with values has rows
        rows, values = seen.rows[finite], np.clip(values[finite], -_HUGE, _HUGE)
        frame = _Frame(axes, corner[0], corner[1] + _BELOW, width, PANEL_HEIGHT - _BELOW)
        if self.target is None:
            self._histogram(frame, stage, values, rows)
        else:
            self._scatter(frame, stage, values, self.target[rows])

    def _histogram(self, frame: _Frame, stage: Stage, values: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        several = isinstance(stage, Answer) and len(stage.intercept) > 1
        n_outputs = len(stage.intercept)
        across = (-0.5, n_outputs - 0.5) if several else self.answers if isinstance(stage, Answer) else _range(values)
        n_bins = n_outputs if several else _BINS
        bins = np.minimum((_along(values, across) * n_bins).astype(np.int64), n_bins - 1)
        codes = np.zeros(len(rows), np.int64) if self.codes is None else self.codes[rows]
        counts = np.zeros((max(len(self.labels), 1), n_bins))
        np.add.at(counts, (codes, bins), 1)
        tops = np.vstack([np.zeros(n_bins), np.cumsum(counts, axis=0)]) / counts.sum(axis=0).max()
        for code in range(len(counts)):
            frame.steps(0.94 * tops[code], 0.94 * tops[code + 1], COLORS[code] if self.labels else PALE)
        what = "largest output" if several else "prediction" if isinstance(stage, Answer) else "score"
        frame.numbers_below((0.0, n_outputs - 1.0) if several else across, what)
        if isinstance(stage, Route) and across[0] <= stage.threshold <= across[1]:
            at = float(_along(np.array([stage.threshold]), across)[0])
            frame.line((at, at), (0.0, 1.0), ls=(0, (2, 1.5)))

    def _scatter(self, frame: _Frame, stage: Stage, values: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        assert self.target is not None  # noqa: S101 - without it, panels are histograms
        across = _range(self.target)
        upward = self.answers if isinstance(stage, Answer) else _range(values)
        frame = frame.without_left(_BESIDE)
        if isinstance(stage, Answer) and stage.link == "identity":
            ends = np.array([max(across[0], upward[0]), min(across[1], upward[1])])
            if ends[0] < ends[1]:
                frame.line(_inside(ends, across), _inside(ends, upward), lw=0.7, alpha=0.6)
        some = np.unique(np.linspace(0, len(values) - 1, _MOST_POINTS).astype(np.int64))
        frame.points(_inside(target[some], across), _inside(values[some], upward))
        if isinstance(stage, Route) and upward[0] <= stage.threshold <= upward[1]:
            at = float(_inside(np.array([stage.threshold]), upward)[0])
            frame.line((0.0, 1.0), (at, at), ls=(0, (2, 1.5)))
        frame.numbers_below(across, "label")
        frame.numbers_beside(upward, "prediction" if isinstance(stage, Answer) else "score")


@frozen(eq=False)
class _Frame:
    """A rectangle of the picture; coordinates in it are shares of its width and height."""

    axes: Axes
    left: float
    bottom: float
    width: float
    height: float

    def without_left(self, room: float) -> _Frame:
        return _Frame(self.axes, self.left + room, self.bottom, self.width - room, self.height)

    def _at(self, x: Any, y: Any) -> tuple[Any, Any]:
        return self.left + self.width * np.asarray(x), self.bottom + self.height * np.asarray(y)

    def steps(self, low: NDArray[np.float64], high: NDArray[np.float64], color: str) -> None:
        edges = np.repeat(np.linspace(0, 1, len(low) + 1), 2)[1:-1]
        low, high = np.repeat(low, 2), np.repeat(high, 2)
        x, y = self._at(np.append(edges, edges[::-1]), np.append(high, low[::-1]))
        self.axes.fill(x, y, color=color, lw=0, alpha=0.75, zorder=3)

    def points(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
        self.axes.plot(*self._at(x, y), ".", ms=3, mew=0, color=COLORS[0], alpha=0.6, zorder=3)

    def line(self, x: Any, y: Any, **style: Any) -> None:
        self.axes.plot(*self._at(x, y), color=INK, zorder=4, **({"lw": 1.0} | style))

    def numbers_below(self, ends: _Range, what: str) -> None:
        self.axes.plot(*self._at([0, 1], [0, 0]), color=PALE, lw=0.7, zorder=4)
        y = self.bottom - 0.03
        for x, text, side in ((0.0, _short(ends[0]), "left"), (0.5, what, "center"), (1.0, _short(ends[1]), "right")):
            self.axes.text(self._at(x, 0)[0], y, text, ha=side, va="top", **_SMALL)

    def numbers_beside(self, ends: _Range, what: str) -> None:
        self.axes.plot(*self._at([0, 0], [0, 1]), color=PALE, lw=0.7, zorder=4)
        for y, text, side in ((0.0, _short(ends[0]), "bottom"), (1.0, _short(ends[1]), "top")):
            self.axes.text(self.left - 0.03, self._at(0, y)[1], text, ha="right", va=side, **_SMALL)
        x, y = self.left - 0.03, self._at(0, 0.5)[1]
        self.axes.text(x, y, what, ha="right", va="center", rotation=90, **_SMALL)


def _one_value(values: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the values of one output, or the index of the largest of several: float64 (m,)."""
    if values is None or not len(values):
        return np.empty(0)
    return values[:, 0] if values.shape[1] == 1 else values.argmax(axis=1).astype(np.float64)


def _range(values: NDArray[np.float64]) -> _Range:
    finite = np.clip(values[np.isfinite(values)], -_HUGE, _HUGE)
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = 0.5 * max(abs(low), abs(high)) or 0.5
    # Values that differ by rounding only count as equal.
    return (low, high) if high - low > 1e-9 * room else (low - room, high + room)


def _along(values: NDArray[np.float64], ends: _Range) -> NDArray[np.float64]:
    return (values - ends[0]) / (ends[1] - ends[0])


def _inside(values: NDArray[np.float64], ends: _Range) -> NDArray[np.float64]:
    """Like `_along`, with room for the size of a point."""
    return 0.04 + 0.92 * _along(values, ends)


def _short(number: float) -> str:
    return f"{number:.3g}"
