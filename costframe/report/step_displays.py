"""Pictures of a model's rows, step by step: rows left, shares acquired, and what each row acquires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, I8
from costframe.core.display import format_cost
from costframe.report.display import ModelDisplay, as_labels
from costframe.report.drawn_text import cut_text, percent, to_drawable
from costframe.report.legends import lay_out_figure, put_above
from costframe.report.price_groups import PriceGroup, group_items
from costframe.report.row_steps import RowSteps, follow_rows
from costframe.report.style import COLORS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AXES = {"depth": "depth of the stage", "stop": "stop", "round": "round of acquisition"}
_MOST_SHADES, _MOST_GROUPS = 6, 12  # shades are those of a legend
_NUMBER, _PERCENT = 0.25, 0.42  # inches of "100" and of "100 %"


@define(eq=False)
class StepDisplay(ModelDisplay):
    """A picture of rows that go through a model, step by step."""

    steps: RowSteps
    y: NDArray[Any] | None = None  # (n,): labels of the followed rows
    title: str | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        costs: object = None,
        *,
        acquisition: str = "path",
        n_jobs: int | None = None,
        **options: Any,
    ) -> Self:
        """Send rows through a model.

        Steps are the depths of a stage tree with routes, the stops of a plan, and else the rounds of acquisition.

        Parameters
        ----------
        estimator : Predictor, or a fitted estimator whose `predictor_` is one
        X : float64 (n, d), or data frame
        y : (n,), optional
            Labels, of which at most six different ones are told apart.
        costs : CostModel, or anything `CostModel.of` accepts
            By default the model's own prices.
        acquisition : {"path", "learner"}
        n_jobs : int, optional
            Threads; None uses all cores.
        **options
            Parameters of the display.

        Raises
        ------
        ParameterError
            If the estimator is no fitted model of costframe.
        DataError
            If the columns of X are not the model's, there is no row, or y does not fit X.
        """
        steps = follow_rows(estimator, X, costs, acquisition=acquisition, n_jobs=n_jobs)
        labels = as_labels(y, steps.n_given)
        return cls(steps, None if labels is None else labels[steps.rows], **options)

    @property
    def _labels(self) -> list[tuple[str, B1]]:
        """Name and rows of each label, if there are at most six; else one without a name."""
        labels = [] if self.y is None else np.unique(self.y).tolist()
        if not 1 < len(labels) <= len(COLORS):
            return [("", np.ones(len(self.steps.last), np.bool_))]
        return [(to_drawable(str(label)), self.y == label) for label in labels]

    def _rows_text(self) -> str:
        n, given = len(self.steps.rows), self.steps.n_given
        return f"{n:,} of {given:,} rows" if n < given else "rows"

    def _number_steps(self, ax: Axes, width: float, note: str = "") -> None:
        """Write the numbers of steps below axes of a width in inches."""
        some = self._some_steps(max(int(width / _NUMBER), 2))
        ax.set_xticks(some, [str(self.steps.numbers[step]) for step in some])
        ax.set_xlabel(_AXES[self.steps.word] + note, loc="right")

    def _groups(self, ax: Axes) -> list[PriceGroup]:
        """Return as many groups as the axes have room for names."""
        return group_items(self.steps, int(np.clip(4 * lay_out_figure(ax)[1], 4, _MOST_GROUPS)))

    def _some_steps(self, most: int) -> list[int]:
        """Return at most some of the steps, evenly spaced."""
        return list(range(0, self.steps.count, -(-self.steps.count // most)))


@define(eq=False)
class RowsPerStageDisplay(StepDisplay):
    """The share of rows that are not yet done, before each stage, stop or round; colors tell labels apart."""

    def draw(self, ax: Axes) -> None:
        """Draw bars, stacked by label."""
        steps, below = self.steps, np.zeros(self.steps.count)
        handles: dict[str, Any] = {}
        for (name, rows), color in zip(self._labels, COLORS, strict=False):
            left = np.array([(rows & (steps.last >= step)).sum() for step in range(steps.count)]) / len(rows)
            bars = ax.bar(range(steps.count), left, bottom=below, color=color, width=0.8)
            below += left
            if name:
                handles[name] = bars
        put_above(ax, handles, self.title)
        width, _ = lay_out_figure(ax)
        if steps.count * _PERCENT <= width:
            for step, share in enumerate(below):
                ax.annotate(percent(share), (step, share), (0, 2), textcoords="offset points", ha="center",
                            fontsize="small")  # fmt: skip
        ax.set(ylim=(0, 1.12), xlim=(-0.6, max(steps.count, 3) - 0.4), ylabel=f"share of {self._rows_text()} left")
        ax.yaxis.set_major_formatter(lambda share, _position: f"{100 * share:.0f} %" if share <= 1 else "")
        ax.grid(visible=True, axis="y", color="#e9e9e9", lw=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        self._number_steps(ax, width)


@define(eq=False)
class AcquisitionDisplay(StepDisplay):
    """The share of rows that have each feature or resource after each stage, stop or round.

    If there are many, a group is all features and resources of one price, and shares are means over them.
    """

    def draw(self, ax: Axes) -> None:
        """Draw a table of shades with numbers."""
        steps, groups = self.steps, self._groups(ax)
        shares = np.array([[group.share(step) for step in range(steps.count)] for group in groups])
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        _name_groups(ax, [group.label for group in groups], steps.prices.unit)
        put_above(ax, {}, self.title)
        width, _ = lay_out_figure(ax)
        if steps.count * _NUMBER <= width:
            for (row, step), share in np.ndenumerate(shares):
                ax.text(step, row, f"{100 * share:.0f}", ha="center", va="center", fontsize="small",
                        color="white" if share > 0.6 else INK)  # fmt: skip
        self._number_steps(ax, width, "\n% of rows that have it by then")


@define(eq=False)
class RowAcquisitionDisplay(StepDisplay):
    """What each row acquires: rows side by side, by label if there are at most six, then by cost.

    Shades tell in which stage, stop or round; if features are grouped by price, the last in which the row acquires
    any of a group.
    """

    def draw(self, ax: Axes) -> None:
        """Draw a picture with a column for each row."""
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Rectangle

        steps, groups = self.steps, self._groups(ax)
        parts = [np.flatnonzero(rows)[np.argsort(steps.per_row[rows], kind="stable")] for _, rows in self._labels]
        when = np.array([group.steps.max(axis=1) for group in groups])[:, np.concatenate(parts)]
        shades = [COLORS[0]] if steps.count == 1 else colormaps["viridis"](np.linspace(0.1, 0.85, steps.count))
        ax.imshow(np.ma.masked_less(when, 0), cmap=ListedColormap(shades), vmin=-0.5, vmax=steps.count - 0.5,
                  aspect="auto", interpolation="nearest")  # fmt: skip
        for row in range(1, len(groups)):
            ax.axhline(row - 0.5, color="white", lw=1.5)
        _name_groups(ax, [group.label for group in groups], steps.prices.unit)
        handles = {
            f"{steps.word} {steps.numbers[step]}": Rectangle((0, 0), 1, 1, color=shades[step])
            for step in self._some_steps(_MOST_SHADES)
        }
        put_above(ax, handles, self.title)
        self._name_rows(ax, parts)

    def _name_rows(self, ax: Axes, parts: list[I8]) -> None:
        """Name the labels below their rows, with lines between them."""
        ends = np.cumsum([len(part) for part in parts])
        for end in ends[:-1]:
            ax.axvline(end - 0.5, color=INK, lw=1)
        middles = [float(end - len(part) / 2 - 0.5) for end, part in zip(ends, parts, strict=True)]
        width = lay_out_figure(ax)[0] / len(self.steps.last)  # inches of a row
        names = [cut_text(name, width * len(part), 10) for (name, _), part in zip(self._labels, parts, strict=True)]
        ax.set_xticks(middles, names, parse_math=False)
        ax.tick_params(axis="x", length=0)
        low, high = format_cost(float(self.steps.per_row.min())), format_cost(float(self.steps.per_row.max()))
        ax.set_xlabel(f"{self._rows_text()}, by cost: {low if low == high else f'{low} to {high}'}", loc="right")


def _name_groups(ax: Axes, labels: list[str], unit: str) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel(to_drawable(f"price ({unit})"), parse_math=False)
