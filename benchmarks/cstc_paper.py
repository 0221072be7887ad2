"""The findings of the CSTC paper (ICML 2013) on tables of several kinds, next to all else that there is, in one run.

A tree of classifiers, a cascade and a single stage are put over three kinds of banks: trees that pay for what they
read, as CSTC trains them by default; trees that know no prices, as the other two do; and models on a path of CEGB. At
each tradeoff all that go over a kind of bank have the very same one. Greedy Miser and CEGB are paths of models of one
fit. Models are chosen on valid and reported on test, costed row by row with resources; figures are those of
../shared/bench. Split 0 is the table's own, others are drawn by seed. A figure of what the chosen trees acquire at each
depth is drawn, too.

    python benchmarks/cstc_paper.py --quick                    # one split, few rows, trees and tradeoffs
    python benchmarks/cstc_paper.py mslr letter --splits 3 --depth 4 --output figures
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each fit has one thread
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import cascade_verdicts
import cegb_frontier
import cstc_levels
import cstc_points
import numpy as np
import paper_tables
from attrs import frozen
from cascade_figures import draw_prices
from cascade_measured import NEAR, budget_lines
from cstc_banks import BANKS
from cstc_points import CASCADE, PATHS, SINGLE, TREE, Plan, way
from paper_figures import Panel, draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cstc_points import Point

    from costframe.datasets import Dataset

SPLITS = {"mslr": 4, "nhanes": 2, "thyroid": 3, "letter": 2}  # more where splits differ more
TABLES = tuple(SPLITS)
TRADEOFFS, QUICK_TRADEOFFS = 8, 3
DEFAULT, OVER = way(TREE, "priced"), way(TREE, "CEGB")
MAIN = (way(SINGLE, "plain"), *PATHS, DEFAULT, OVER, way(CASCADE, "plain"))  # not all tables have the last
BOTH = "CEGB and CSTC over it"
CLAIMS = (
    *((other, DEFAULT) for other in MAIN if other not in (DEFAULT, OVER)),
    *((way(one, bank), way(TREE, bank)) for bank in BANKS for one in (SINGLE, CASCADE)),
    *((way(SINGLE, bank), way(CASCADE, bank)) for bank in BANKS),
    (way(TREE, "plain"), DEFAULT),
    ("CEGB", BOTH),
)
SUBTITLE = "The best model on valid at each budget, means over splits."


@frozen(eq=False)
class Measured:
    """All points of one table: for each way, a list for each split."""

    plan: Plan
    ways: dict[str, list[list[Point]]]

    def panel(self, ways: Sequence[str]) -> Panel:
        """Put those of the ways that there are in a panel."""
        data, table = self.plan.data, self.plan.table
        lines = budget_lines({name: self.ways[name] for name in ways if name in self.ways}, data.full_cost)
        return Panel(table, paper_tables.SCORES[table], data.costs.unit, data.full_cost, lines)

    def shown(self, name: str = DEFAULT) -> Point:
        """Choose, on valid, the tree of the first split whose levels are shown: one that has some, if any."""
        found = [point for point in self.ways[name][0] if point.levels is not None]
        deep = [point for point in found if len(point.levels.reach) > 1] or found
        best = max(point.valid_score for point in deep)
        return cascade_verdicts.cheapest(deep, NEAR * best)


def main() -> None:
    options = _options()
    options.output.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    for name in options.tables:
        measured.append(measure(name, options))
        draw_all(measured, options.output)
        print_figures(measured[-1])
        print_claims(measured[-1])
        print_levels(measured[-1])
    print_balance(measured)
    print(f"\nfigures in {options.output}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=[], help=f"by default {', '.join(TABLES)}")
    parser.add_argument("--quick", action="store_true", help="one split, few training rows, trees and tradeoffs")
    parser.add_argument("--splits", type=int, help="of each table, 2 to 4 by default")
    parser.add_argument("--tradeoffs", type=int, help=f"of each way, {TRADEOFFS} by default")
    parser.add_argument("--depth", type=int, help="levels of trees, by default those of CSTC")
    parser.add_argument("--workers", type=int, default=2, help="splits that are measured at a time, 2 by default")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for figures")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(paper_tables.SCORES):
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    if not paper_tables.FOLDER.is_dir():
        parser.error(f"there is no folder {paper_tables.FOLDER}")
    options.tables = options.tables or list(TABLES)
    options.tradeoffs = options.tradeoffs or (QUICK_TRADEOFFS if options.quick else TRADEOFFS)
    return options


def measure(name: str, options: argparse.Namespace) -> Measured:
    """Do all fits on a table, a process a split."""
    row, start = cstc_points.tradeoffs(options.tradeoffs), time.perf_counter()
    count = options.splits or (1 if options.quick else SPLITS.get(name, 2))
    plans = [Plan(name, split, row, options.depth, options.quick) for split in range(count)]
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        splits = list(pool.map(cstc_points.points, plans))
    ways = {label: [found[label] for found in splits] for label in splits[0] if all(label in one for one in splits)}
    print(f"\n{name}: {len(ways)} ways on {count} splits in {time.perf_counter() - start:.0f} s", flush=True)
    ways[BOTH] = [one + other for one, other in zip(ways["CEGB"], ways[OVER], strict=True)]
    return Measured(plans[0], ways)


def draw_all(measured: list[Measured], output: Path) -> None:
    """Draw what is known so far."""
    draw(
        output / "cstc_frontier",
        "Trees of classifiers next to all else",
        SUBTITLE,
        [one.panel(MAIN) for one in measured],
    )
    for bank in BANKS:
        ways = [way(algorithm, bank) for algorithm in (SINGLE, TREE, CASCADE)]
        title = "Tree, cascade and single stage over the same bank: " + {"CEGB": "CEGB"}.get(bank, f"{bank} trees")
        draw(output / f"cstc_over_{bank.lower()}", title, SUBTITLE, [one.panel(ways) for one in measured])
    panels = []
    for found in measured:
        classes, _, alone = cstc_levels.price_classes(found.plan.data.costs)
        if len(classes) > 1:
            shown = found.shown()
            panels.append((f"{found.plan.table}, any row", shown.levels, alone))
            panels.append((f"{found.plan.table}, the mean row", shown.on_average, alone))
    if panels:
        about = f"The cheapest tree with routes within {1 - NEAR:.0%} of the best on valid. Names: price (features)."
        draw_prices(output / "cstc_prices", "Features acquired by depth, by price", about, panels, step="depth")


def print_figures(found: Measured) -> None:
    """Print the figures of ../shared/bench for each way."""
    common, full = cegb_frontier.shared_bench(), found.plan.data.full_cost
    print("budgets:", "  ".join(f"{share:.0%}" for share in common.BUDGETS), f"of the cost of all features, {full:g}")
    for name, splits in found.ways.items():
        sides = [
            common.figures([_as_dict(point) for point in points], full)
            | {"seconds": sum(point.seconds for point in points)}
            for points in splits
        ]
        cegb_frontier.say(found.plan.table, name, sides)


def _as_dict(point: Point) -> dict[str, float]:
    return {
        "val": point.valid_score,
        "val_cost": point.valid_cost,
        "test": point.test_score,
        "test_cost": point.test_cost,
    }


def print_claims(found: Measured) -> None:
    """Print whether one way is better than another, and by how much, in Markdown."""
    print("\n| table | claim | verdict, and by how much |\n| --- | --- | --- |")
    for first, second in CLAIMS:
        if first in found.ways and second in found.ways:
            verdict = cascade_verdicts.compare(found.ways[first], found.ways[second])
            print(f"| {found.plan.table} | {second} beats {first} | {verdict} |")


def print_levels(found: Measured) -> None:
    """Print what the tree that is shown acquires at each depth."""
    shown = found.shown()
    print(
        f"\n{found.plan.table}: the tree at tradeoff {shown.tradeoff:.2g}, in units of the constant's loss per cost of "
        f"all features, scores {shown.test_score:.4f} at {shown.test_cost:.4g} on test"
    )
    costs = found.plan.data.costs
    cstc_levels.print_levels(found.plan.table, costs, shown.levels, shown.on_average)
    trees = [point.on_average for points in found.ways[DEFAULT] for point in points if point.on_average is not None]
    told = cstc_levels.deeper(costs, trees)
    print(f"\n{found.plan.table}: dear features come deeper than cheap ones: {told}\n", flush=True)


def print_balance(measured: Sequence[Measured]) -> None:
    """Print what the tree gains over the cascade, the best balanced table first, in Markdown, and a verdict."""
    found = [one for one in measured if way(CASCADE, BANKS[0]) in one.ways]
    found.sort(key=lambda one: -_rarer(one.plan.data))
    verdicts = {
        bank: [cascade_verdicts.compare(one.ways[way(CASCADE, bank)], one.ways[way(TREE, bank)]) for one in found]
        for bank in BANKS
    }
    print(f"\n| the tree against the cascade on | rarer labels | {' | '.join(BANKS)} |\n|{' --- |' * (2 + len(BANKS))}")
    for at, one in enumerate(found):
        cells = [str(verdicts[bank][at]) for bank in BANKS]
        print(f"| {one.plan.table} | {_rarer(one.plan.data):.0%} | {' | '.join(cells)} |")
    if len(found) > 1:
        first, last = found[0].plan.table, found[-1].plan.table
        print(f"\nThe tree gains more over the cascade on {first}, whose labels are balanced best, than on {last}:")
        for bank, several in verdicts.items():
            word = "yes" if several[0].gain > several[-1].gain else "no"
            print(f"- {bank}: {word}, {several[0].gain:+.2f} % against {several[-1].gain:+.2f} %")


def _rarer(data: Dataset) -> float:
    """Return the share of the rarer of two classes, or of grades above the middle one or not, if they are fewer."""
    labels = data.part("train").y
    above = float(np.mean(labels > (labels.min() + labels.max()) / 2))
    return min(above, 1 - above)


if __name__ == "__main__":
    main()
