"""Texts in the boxes of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.errors import format_count
from costframe.core.stages.stages import Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.stages.stages import Stage
    from costframe.report.stages_seen import Acquired, StageSeen

__all__ = ["Line", "StageBox", "acquired_lines", "learners_line", "make_boxes", "money", "percent"]

_NAMELESS = "unit"  # default unit of a cost model
_MOST = 4  # most lines of acquired items
_GIVES = {"sigmoid": "the sigmoid of its score", "softmax": "the softmax of its scores", "identity": "its score"}


@frozen
class Line:
    """A line of a box: text at the left and at the right; `kind` is "plain", "resource" or "faint"."""

    left: str
    right: str = ""
    kind: str = "plain"


@frozen(eq=False)
class StageBox:
    """The texts of a stage's box.

    Attributes
    ----------
    title : Line
    lines : tuple of Line
    stage : Answer or Route
    seen : StageSeen
    share : float or None
        Share of all rows that reach the stage; None without rows.
    """

    title: Line
    lines: tuple[Line, ...]
    stage: Stage
    seen: StageSeen
    share: float | None

    @property
    def has_panel(self) -> bool:
        """Whether the box has values to draw."""
        return self.seen.values is not None and bool(np.isfinite(self.seen.values).any())


def make_boxes(
    stages: Sequence[Stage], seen: Sequence[StageSeen], per_row: NDArray[np.float64] | None, unit: str | None
) -> list[StageBox]:
    """Make the boxes of stages.

    Parameters
    ----------
    stages : sequence of Answer or Route
    seen : sequence of StageSeen
        One for each stage.
    per_row : float64 (n,) or None
        Cost of each row, if rows and prices are known.
    unit : str or None
        Unit of prices; None shows no prices.
    """
    boxes = []
    total = None if seen[0].rows is None else len(seen[0].rows)
    for number, (stage, mine) in enumerate(zip(stages, seen, strict=True)):
        share = None if total is None or mine.rows is None else len(mine.rows) / total
        title = Line(f"stage {number}", "" if share is None else f"{100 * share:.3g} % of rows")
        lines = [_decision(stage, mine)]
        if share == 0:
            lines.append(Line("no row comes here", kind="faint"))
        else:
            lines += [*learners_line(mine), *acquired_lines(mine.acquired, unit)]
            if per_row is not None and unit is not None and not isinstance(stage, Route):
                lines.append(Line("mean cost of these rows", money(per_row[mine.rows].mean(), unit)))
        boxes.append(StageBox(title, tuple(lines), stage, mine, share))
    return boxes


def percent(share: float) -> str:
    """Return a share in percent as text; "< 1 %" and "> 99 %" at the ends."""
    if share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def money(amount: float, unit: str) -> str:
    """Return an amount with its unit, if the unit has a name."""
    return f"{amount:.4g}" if unit == _NAMELESS else f"{amount:.4g} {unit}"


def _decision(stage: Stage, seen: StageSeen) -> Line:
    if isinstance(stage, Route):
        return Line(f"up if score > {stage.threshold:.4g}")
    if seen.n_learners == 0 and len(stage.intercept) == 1:
        return Line(f"answers {stage.predictions(stage.intercept[None])[0, 0]:.4g}")
    if stage.link == "ranked":
        return Line(f"answers with a rank of level {stage.level:.4g}")
    return Line(f"answers with {_GIVES[stage.link]}")


def learners_line(seen: StageSeen) -> list[Line]:
    """Return a line with the number of evaluated learners, or no line if it is zero."""
    if not seen.n_learners:
        return []
    new = "" if seen.n_new == 0 else ", all new" if seen.n_new == seen.n_learners else f", {seen.n_new:,} new"
    return [Line(f"evaluates {format_count(seen.n_learners, 'learner')}{new}", kind="faint")]


def acquired_lines(acquired: Sequence[Acquired], unit: str | None) -> list[Line]:
    """Return lines of acquired items, of the first ones if there are many."""
    if not acquired:
        return [Line("acquires nothing new", kind="faint")]
    shown = acquired if len(acquired) <= _MOST else acquired[: _MOST - 1]
    lines = [Line("acquires", "" if unit is None else "price" if unit == _NAMELESS else unit, kind="faint")]
    for one in shown:
        price = "" if unit is None else f"{one.price:.4g}"
        some = "" if one.share == 1 else f"({percent(one.share)})"
        lines.append(Line(one.name, " ".join(part for part in (some, price) if part),
                          "resource" if one.is_resource else "plain"))  # fmt: skip
    if len(shown) < len(acquired):
        lines.append(Line(f"+ {len(acquired) - len(shown):,} more"))
    return lines
