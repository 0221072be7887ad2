"""The findings of the Cronus paper (AISTATS 2012), a figure each, and whether they hold on tables of several kinds.

Four ways to use one bank of boosted trees are compared: the trees as they were added, the single stage, the cascade as
it is initialized, and as it is optimized. Each of the last three has a geometric row of tradeoffs. At each budget the
best model on valid that costs no more there is scored on test.

    python benchmarks/cronus_paper.py --quick            # one split, smaller tables, few tradeoffs
    python benchmarks/cronus_paper.py --splits 2 --output figures
    python benchmarks/cronus_paper.py --learner          # a tree acquires all that it may read, as in the paper

All tables with two splits took 20 minutes on two cores, of which other programs left a fifth or so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cascade_figures
import cascade_measured
import cascade_points
import cascade_tables
import cascade_verdicts
import numpy as np
import paper_tables
from cascade_measured import NEAR, Fits, Measured
from cascade_points import Variant
from paper_figures import draw

if TYPE_CHECKING:
    import argparse

TABLES = ("synthetic", "mslr", "mslr-3", "nhanes", "cover")
TRADEOFFS, QUICK_TRADEOFFS = 4, 3
SLOW = "as printed"  # has every other tradeoff only, but not the largest
FINAL = "optimized"
WAYS: dict[str, Variant] = {
    "greedy": Variant("greedy"),
    "single stage": Variant("reweighted"),
    "initialized": Variant("cronus", (("optimize", False),)),
    SLOW: Variant("cronus", (("recipe", "paper"),)),
    FINAL: Variant("cronus"),
}
CASCADES = tuple(WAYS)[2:]
CLAIMS = (
    ("greedy", "single stage"),
    ("single stage", "initialized"),
    ("initialized", "as printed"),
    ("initialized", "optimized"),
    ("single stage", "optimized"),
)


def main() -> None:
    options = _options()
    options.output.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    for name in options.tables:
        measured.append(measure(name, options))
        draw_all(measured, options)
        print_claims(measured[-1])
        print_stages(measured[-1])
    print(f"figures in {options.output}")


def _options() -> argparse.Namespace:
    parser = cascade_tables.parser(str(__doc__), TABLES)
    parser.add_argument("--learner", action="store_true", help="trees acquire all features that they may read")
    return cascade_tables.options(parser, TABLES)


def measure(name: str, options: argparse.Namespace) -> Measured:
    """Do all fits on a table."""
    row = cascade_points.tradeoffs(QUICK_TRADEOFFS if options.quick else TRADEOFFS)
    rows = {"greedy": (0.0,), SLOW: row[1::2]}
    ways = {way: [Fits(variant, rows.get(way, row))] for way, variant in WAYS.items()}
    acquisition = "learner" if options.learner else "path"
    return cascade_measured.measure(name, ways, quick=options.quick, acquisition=acquisition, splits=options.splits)


def draw_all(measured: list[Measured], options: argparse.Namespace) -> None:
    """Draw what is known so far."""
    suffix = "_learner" if options.learner else ""
    draw(
        options.output / f"cronus_planes{suffix}",
        "Re-weighting and re-ordering trees",
        "The best model at each budget, means over splits. Every way uses the same trees.",
        [found.panel(tuple(WAYS)) for found in measured],
    )
    about = f"The cheapest cascade within {1 - NEAR:.0%} of the best on valid."
    cascade_figures.draw_reach(
        options.output / f"cronus_reach{suffix}",
        "Rows that remain",
        f"{about} Dots: of the relevant rows.",
        [cascade_figures.Flow(found.table, {way: found.shown(way) for way in CASCADES}) for found in measured],
    )
    panels = []
    for found in measured:
        prices = paper_tables.prices_alone(cascade_tables.load(found.table, 0).costs)
        if len(np.unique(prices)) > 1:
            panels.append((found.table, found.shown(FINAL), prices))
    if panels:
        cascade_figures.draw_prices(
            options.output / f"cronus_prices{suffix}",
            "Features read, by price",
            f"{about} Optimized; names: the price, with what else it needs (number of features).",
            panels,
        )


def print_claims(found: Measured) -> None:
    """Print each claim on a table, in Markdown."""
    print("\n| table | score | claim | verdict, and by how much |\n| --- | --- | --- | --- |")
    for score, ways in found.scored().items():
        for first, second in CLAIMS:
            verdict = cascade_verdicts.compare(ways[first], ways[second])
            print(f"| {found.table} | {score} | {second} beats {first} | {verdict} |")


def print_stages(found: Measured) -> None:
    """Print the stages that are shown: rows that come, and shares of cheap and dear features read, in Markdown."""
    print("\n| table | cascade | rows at each stage | relevant rows | cheap features read | dear features read |")
    print("| --- | --- | --- | --- | --- | --- |")
    prices = paper_tables.prices_alone(cascade_tables.load(found.table, 0).costs)
    dear = prices >= prices.max() / 2
    for way in CASCADES:
        met = found.shown(way)
        cells = [met.reach, met.positives]
        cells += [cascade_figures.shares(met, chosen) if chosen.any() else [] for chosen in (~dear, dear)]
        shown = " | ".join(" ".join(f"{share:.2f}" for share in cell) for cell in cells)
        print(f"| {found.table} | {way} | {shown} |")
    print(flush=True)


if __name__ == "__main__":
    main()
