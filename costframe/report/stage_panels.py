"""Panels in the boxes of stages: how often their scores or predictions occur, by label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.stages.stages import Answer, Route, Stage
from costframe.report.stage_statistics import StageStatistics
from costframe.report.style import COLORS, GRAY, INK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_HEIGHT = 0.95  # inches, with the numbers below
_BELOW = 0.16  # room for the numbers
_BINS = 24
_SMALL: Any = {"fontsize": 6.5, "color": GRAY, "parse_math": False}
_HUGE = 1e300  # larger values are cut, so that differences do not overflow
_Range = tuple[float, float]


@frozen(eq=False)
class Panels:
    """The common settings of all panels."""

    answers: _Range  # of all predictions, a common scale for answers
    labels: tuple[Any, ...] = ()  # with a color each, ascending
    codes: I8 | None = None  # (n,): position of each row's label in `labels`

    @classmethod
    def of(cls, stages: Sequence[Stage], seen: Sequence[StageStatistics], y: NDArray[Any] | None) -> Panels:
        """Choose the settings: at most six different labels get colors."""
        drawn = [_one_value(mine.values) for stage, mine in zip(stages, seen, strict=True) if isinstance(stage, Answer)]
        answers = _range(np.concatenate(drawn))
        if y is None:
            return cls(answers)
        labels, codes = np.unique(y, return_inverse=True)
        few = len(labels) <= len(COLORS)
        return cls(answers, tuple(labels.tolist()), codes.astype(np.int64)) if few else cls(answers)

    def draw(self, axes: Axes, corner: tuple[float, float], width: float, stage: Stage, seen: StageStatistics) -> None:
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
