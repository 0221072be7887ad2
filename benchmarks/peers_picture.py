"""One picture: by how much each side is above LightGBM at each budget, in the mean over tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from paper_figures import DASHES, name_lines, sheet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

GREYS = ("#5c5c5c", "#8a8a8a", "#ababab")  # peers are grey and dashed, costframe's algorithms have colors


@frozen(eq=False)
class Summary:
    """A side in the mean over tables.

    Attributes
    ----------
    mean, error : float64 (budgets,)
        Points above LightGBM, and the standard error over splits.
    n_tables : int
    saved : float
        Share of the cost of all features saved within 1 % of the best score.
    """

    mean: np.ndarray
    error: np.ndarray
    n_tables: int
    saved: float


def draw_differences(
    path: Path, sides: Mapping[str, Summary], budgets: Sequence[float], n_tables: int, peers: Sequence[str] = ()
) -> None:
    """Write `path`.png and .svg: mean difference to LightGBM in points against the budget, a line a side."""
    from matplotlib import colormaps

    shown = {side: one for side, one in sides.items() if side != "LightGBM"}
    palette = iter([*colormaps["tab10"].colors[:7], *colormaps["tab10"].colors[8:]])
    greys = iter(zip(GREYS, DASHES[1:], strict=False))
    looks = {side: next(greys) if side in peers else (next(palette), "-") for side in shown}
    place, mean_of = np.arange(len(budgets)), f"mean over {n_tables} table{'s' if n_tables > 1 else ''}"
    with sheet(path, "Score at equal budget", f"test score, points above LightGBM, {mean_of}", 1) as (axes,):
        axes.figure.set_size_inches(8.4, 4.8)
        for side, one in shown.items():
            color, dashes = looks[side]
            axes.plot(place, one.mean, color=color, ls=dashes, lw=1.8, marker="o", ms=4)
            axes.fill_between(place, one.mean - one.error, one.mean + one.error, color=color, alpha=0.1, lw=0)
        axes.axhline(0.0, color="#444444", lw=1.2)
        axes.set_xticks(place, [f"{share:.0%}" for share in budgets])
        axes.set_xlabel("budget, as a share of the cost of all features")
        axes.set_ylabel("points above LightGBM (best of 42 fits)")
        axes.grid(visible=True, color="#e9e9e9", lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        ends = [(_label(side, one, n_tables), float(one.mean[-1])) for side, one in shown.items()]
        name_lines(axes, ends, [color for color, _ in looks.values()])


def _label(side: str, one: Summary, n_tables: int) -> str:
    return side if one.n_tables == n_tables else f"{side} ({one.n_tables} tables)"
