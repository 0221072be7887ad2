"""One picture: the test score of each side at each budget, a panel a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from paper_figures import DASHES, sheet
from peers_report import by_budget, error_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COLUMNS = 4
COLORS = (
    "#1f77b4",
    "#d9660a",
    "#2a9134",
    "#8c4fb5",
    "#b8860b",
    "#17a2b8",
    "#c2185b",
)  # ours; peers are grey and dashed
GREYS = ("#222222", "#777777", "#a0a0a0", "#bdbdbd")


def draw_tables(
    path: Path,
    tables: Mapping[str, Mapping[str, Mapping[int, dict[str, Any]]]],
    budgets: Sequence[float],
    peers: Sequence[str],
    scores: Mapping[str, str],
) -> None:
    """Write `path`.png and .svg: mean test score over splits against the budget, with its standard error."""
    every = dict.fromkeys(side for sides in tables.values() for side in sides)
    ours = [side for side in every if side not in peers]
    looks: dict[str, tuple[str, Any]] = {side: (COLORS[place % len(COLORS)], "-") for place, side in enumerate(ours)}
    looks |= {side: (GREYS[place], DASHES[place + 1]) for place, side in enumerate(s for s in peers if s in every)}
    place = np.arange(len(budgets))
    with sheet(path, "Test score at equal budget", "budgets are shares of the cost of all features", 1 + len(tables),
               COLUMNS) as panels:  # fmt: skip
        for axes, (name, sides) in zip(panels, tables.items(), strict=False):
            for side, by_split in sides.items():
                score = by_budget(by_split.values())
                color, dashes = looks[side]
                error = np.nan_to_num(error_of(score))
                mean, front = score.mean(axis=0), 2 + len(every) - list(every).index(side)
                axes.plot(place, mean, color=color, ls=dashes, lw=1.5, marker="o", ms=2.5, zorder=front)
                axes.fill_between(place, mean - error, mean + error, color=color, alpha=0.12, lw=0)
            axes.set_title(f"{name}, {scores[name]}", fontsize=9.5, loc="left")
            axes.set_xticks(place, [f"{share:.0%}" for share in budgets], fontsize=8)
            axes.grid(visible=True, color="#e9e9e9", lw=0.7)
            axes.spines[["top", "right"]].set_visible(False)
        legend = panels[len(tables)]
        legend.set_axis_off()
        lines = [legend.plot([], [], color=color, ls=dashes, lw=1.5)[0] for color, dashes in looks.values()]
        legend.legend(lines, list(looks), loc="center left", frameon=False, fontsize=10)
