"""All figures of peers_frontier.py as a page of Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

OPENING = """# Score at equal budget

Made by `benchmarks/peers_frontier.py`. Budgets are shares of the cost of all features. Each side chooses its models by
its own estimates; they are scored on test rows, and what a test row is charged is counted exactly, resources included.
LightGBM is the best of 42 fits: plain, and ten strengths each of its lazy and coupled penalties, at two sizes of trees.
The prototype is planned acquisition in 140 lines with LightGBM as its engine. Scores are means over splits of the rows
with standard errors; a table's last column says how many splits. Defaults of the planner and of CEGB's path were chosen
while looking at these tables, their test scores included, which flatters both a little.
"""


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


def by_budget(figures: Iterable[dict[str, Any]]) -> np.ndarray:
    """Return scores: float64 (splits, budgets)."""
    return np.array([one["by_budget"] for one in figures], np.float64)


def error_of(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over splits, NaN for a single one."""
    n = len(values)
    return values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(values.shape[1:], np.nan)


def report(
    tables: Mapping[str, Mapping[str, Mapping[int, dict[str, Any]]]],
    summary: Mapping[str, Summary],
    budgets: Sequence[float],
) -> str:
    """Return a page with the summary over tables, and a table of figures for each."""
    head = [f"{share:.0%}" for share in budgets]
    lines = [
        OPENING,
        "## Over all tables, points above LightGBM",
        "",
        *_row(["side", *head, "saved within 1 %", "tables"]),
    ]
    for side, one in summary.items():
        cells = [f"{mean:+.1f} ± {error:.1f}" for mean, error in zip(one.mean, one.error, strict=True)]
        lines += _row([side, *cells, f"{one.saved:.0%}", str(one.n_tables)])[:1]
    for name, sides in tables.items():
        lines += ["", f"## {name}", "", *_row(["side", *head, "saved within 1 %", "at", "splits"])]
        for side, by_split in sides.items():
            each = list(by_split.values())
            scores = by_budget(each)
            cells = [
                f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"
                for mean, error in zip(scores.mean(axis=0), error_of(scores), strict=True)
            ]
            saved, reached = (np.mean([one[key] for one in each]) for key in ("saving", "within1_test"))
            lines += _row([side, *cells, f"{saved:.0%}", f"{reached:.3f}", str(len(each))])[:1]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> list[str]:
    """Return a row of a table, and the line that would end its head."""
    return [f"| {' | '.join(cells)} |", "|---" * len(cells) + "|"]
