"""The boxes of stages: their texts, and panels with histograms of values, or values against labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.core.errors import format_count
from costframe.core.stages.stages import Answer, Route
from costframe.report.pictures import COLORS, INK, PALE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from costframe.core.stages.stages import Stage
    from costframe.report.stage_statistics import Acquired, StageSeen

__all__ = ["PANEL_HEIGHT", "Line", "Panels", "StageBox", "decision", "money", "percent"]

_NAMELESS = "unit"  # default unit of a cost model
_MOST_ITEMS = 4  # most lines of acquired items
_GIVES = {"sigmoid": "the sigmoid of its score", "softmax": "the softmax of its scores", "identity": "its score"}

PANEL_HEIGHT = 0.95  # inches, with the numbers below
_BELOW, _BESIDE = 0.16, 0.42  # room for the numbers
_BINS, _MOST_POINTS = 24, 300
_SMALL: Any = {"fontsize": 6.5, "color": "#666666", "parse_math": False}
_HUGE = 1e300  # larger values are cut, so that differences do not overflow

_Range = tuple[float, float]


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

    @classmethod
    def of(
        cls,
        name: str,
        stage: Stage,
        seen: StageSeen,
        share: float | None,
        unit: str | None,
        first: Sequence[Line],
        last: Sequence[Line],
    ) -> StageBox:
        """Make a box whose acquisitions stand between `first` and `last`; prices are shown if they have a `unit`."""
        title = Line(name, "" if share is None else f"{100 * share:.3g} % of rows")
        if share == 0:
            lines = [Line("no row comes here", kind="faint")]
        else:
            lines = [*_learners_line(seen), *_acquired_lines(seen.acquired, unit), *last]
        return cls(title, (*first, *lines), stage, seen, share)

    @property
    def has_panel(self) -> bool:
        """Whether the box has values to draw."""
        return self.seen.values is not None and bool(np.isfinite(self.seen.values).any())


def percent(share: float) -> str:
    """Return a share in percent as text; "< 1 %" and "> 99 %" at the ends."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def money(amount: float, unit: str) -> str:
    """Return an amount with its unit, if the unit has a name."""
    return f"{amount:.4g}" if unit == _NAMELESS else f"{amount:.4g} {unit}"


def decision(stage: Stage, seen: StageSeen) -> Line:
    """Return a line that says how a stage routes or answers."""
    if isinstance(stage, Route):
        return Line(f"up if score > {stage.threshold:.4g}")
    if seen.n_learners == 0 and len(stage.intercept) == 1:
        return Line(f"answers {stage.predictions(stage.intercept[None])[0, 0]:.4g}")
    if stage.link == "ranked":
        return Line(f"answers with a rank of level {stage.level:.4g}")
    return Line(f"answers with {_GIVES[stage.link]}")


def _learners_line(seen: StageSeen) -> list[Line]:
    if not seen.n_learners:
        return []
    new = "" if seen.n_new == 0 else ", all new" if seen.n_new == seen.n_learners else f", {seen.n_new:,} new"
    return [Line(f"evaluates {format_count(seen.n_learners, 'learner')}{new}", kind="faint")]


def _acquired_lines(acquired: Sequence[Acquired], unit: str | None) -> list[Line]:
    if not acquired:
        return [Line("acquires nothing new", kind="faint")]
    shown = acquired if len(acquired) <= _MOST_ITEMS else acquired[: _MOST_ITEMS - 1]
    lines = [Line("acquires", "" if unit is None else "price" if unit == _NAMELESS else unit, kind="faint")]
    for one in shown:
        price = "" if unit is None else f"{one.price:.4g}"
        some = "" if one.share == 1 else f"({percent(one.share)})"
        kind = "resource" if one.is_resource else "plain"
        lines.append(Line(one.name, " ".join(part for part in (some, price) if part), kind))
    if len(shown) < len(acquired):
        lines.append(Line(f"+ {len(acquired) - len(shown):,} more"))
    return lines


@frozen(eq=False)
class Panels:
    """The common settings of all panels."""

    answers: _Range  # of all predictions, a common scale for answers
    labels: tuple[Any, ...] = ()  # with a color each, ascending
    codes: NDArray[np.int64] | None = None  # (n,): position of each row's label in `labels`
    target: NDArray[np.float64] | None = None  # (n,): labels to draw predictions against

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
        beside = 0.0 if self.target is None else _BESIDE
        place = corner[0] + beside, corner[1] + _BELOW, width - beside, PANEL_HEIGHT - _BELOW
        panel = axes.inset_axes(place, transform=axes.transData)
        panel.patch.set_visible(False)
        panel.spines[:].set(linewidth=0.7)
        panel.spines[["top", "right"] if beside else ["top", "right", "left"]].set_visible(False)
        if self.target is None:
            self._histogram(panel, stage, values, rows)
        else:
            self._scatter(panel, stage, values, self.target[rows])
        panel.set(xticks=[], yticks=[])

    def _histogram(self, panel: Axes, stage: Stage, values: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
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
        panel.set_xlim(0.0, 1.0)
        what = "largest output" if several else "prediction" if isinstance(stage, Answer) else "score"
        _number_below(panel, (0.0, n_outputs - 1.0) if several else ends, what)
        if isinstance(stage, Route) and ends[0] <= stage.threshold <= ends[1]:
            panel.axvline(float(_along(stage.threshold, ends)), color=INK, lw=1.0, ls=(0, (2, 1.5)))

    def _scatter(self, panel: Axes, stage: Stage, values: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        assert self.target is not None  # noqa: S101 - without it, panels are histograms
        across = _range(self.target)
        upward = self.answers if isinstance(stage, Answer) else _range(values)
        if isinstance(stage, Answer) and stage.link == "identity":
            ends = np.array([max(across[0], upward[0]), min(across[1], upward[1])])
            if ends[0] < ends[1]:  # the line of perfect predictions
                panel.plot(_along(ends, across), _along(ends, upward), color=INK, lw=0.7, alpha=0.6)
        some = np.unique(np.linspace(0, len(values) - 1, _MOST_POINTS).astype(np.int64))
        x, y = _along(target[some], across), _along(values[some], upward)
        panel.plot(x, y, ".", ms=3, mew=0, color=COLORS[0], alpha=0.6)
        if isinstance(stage, Route) and upward[0] <= stage.threshold <= upward[1]:
            panel.axhline(float(_along(stage.threshold, upward)), color=INK, lw=1.0, ls=(0, (2, 1.5)))
        panel.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))  # room for the size of a point
        _number_below(panel, across, "label")
        for at, text, side in ((0.0, f"{upward[0]:.3g}", "bottom"), (1.0, f"{upward[1]:.3g}", "top")):
            panel.text(-0.02, at, text, ha="right", va=side, transform=panel.transAxes, **_SMALL)
        what = "prediction" if isinstance(stage, Answer) else "score"
        panel.text(-0.02, 0.5, what, ha="right", va="center", rotation=90, transform=panel.transAxes, **_SMALL)


def _number_below(panel: Axes, ends: _Range, what: str) -> None:
    for x, text, side in ((0.0, f"{ends[0]:.3g}", "left"), (0.5, what, "center"), (1.0, f"{ends[1]:.3g}", "right")):
        panel.text(x, -0.04, text, ha=side, va="top", transform=panel.transAxes, **_SMALL)


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


def _along(values: Any, ends: _Range) -> NDArray[np.float64]:
    """Return the places of values in a range, 0 to 1; matplotlib does not scale huge values itself."""
    return (np.asarray(values, np.float64) - ends[0]) / (ends[1] - ends[0])
