"""Needs ../shared: rows that need different features, and a hospital's prices, at budgets in units of the prices.

    python benchmarks/policies.py [cube-nm nhanes1 ...] [--splits 3] [--sides planner GDFS ...]

On the tables cube*, each class shows in other features; on cube-nm*, a context that costs one action says in which.
GDFS and DIME are learned policies and need PyTorch, that of the Python which COSTFRAME_TORCH names; AACO asks the
nearest neighbours of a row; "knapsack" buys the same features for all rows, as CoAI does; see harness/sides.py. Each
side's model of best score on valid within a budget on the mean cost there is shown by its score on test, with the
standard error over splits: a table's own, then drawn ones. Some models of GDFS and DIME keep a budget on each row.
"""

from __future__ import annotations

import time

import numpy as np

from harness.points import at_budgets, markdown, measure_constant, standard_error, with_errors
from harness.sides import PEERS, points_of
from harness.tables import SCORES, load, options

CUBE, CONTEXT = (3, 5, 7, 10), (3, 5, 7, 10, 14)
BUDGETS = {
    "cube": CUBE,
    "cube-20k": CUBE,
    "cube-nm": CONTEXT,
    "cube-nm-20k": CONTEXT,
    "nhanes1": (0.1, 5, 10, 25, 45, 53),
}
SIDES = ("planner", "LightGBM", "GDFS", "knapsack")


def main() -> None:
    """Print a table for each table of rows."""
    asked = options(
        __doc__,
        tuple(BUDGETS),
        known=BUDGETS,
        splits={"type": int, "default": 3},
        sides={"nargs": "+", "default": SIDES, "help": f"algorithms of costframe, or {', '.join(PEERS)}"},
    )
    for name in asked.tables:
        lines = []
        for side in asked.sides:
            scores, start = [], time.perf_counter()
            for split in range(asked.splits):
                constant = measure_constant(load(name, split), SCORES[name])
                scores.append(at_budgets([constant, *points_of(side, name, split, None)], BUDGETS[name]))
            each = np.array(scores)
            lines.append([side, *with_errors(each.mean(axis=0), standard_error(each), ".3f")])
            print(name, *lines[-1], f"{time.perf_counter() - start:.0f} s", sep=" | ", flush=True)
        print("\n" + markdown([name, *map(str, BUDGETS[name])], lines) + "\n", flush=True)


if __name__ == "__main__":
    main()
