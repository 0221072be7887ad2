"""Cascades over models that were trained with prices, or elsewhere: what they save at equal score.

A model is CEGB, Greedy Miser or xgboost, trained on all training rows, with validation data to stop by. The cascade is
put over the model, on the same rows: it begins with the model's own weights in its own order too, and is chosen on the
validation data. Two questions are answered, on test, all choices being made on valid: what a cascade saves against the
model that it is over, and whether a row of models together with cascades over some of them is better, at equal
budgets, than the row of models alone, each with few of its trees to all.

    python benchmarks/cronus_banks.py --quick            # one split, smaller tables, few tradeoffs
    python benchmarks/cronus_banks.py --splits 2 --output figures

All tables with two splits took half an hour on two cores, of which other programs left a fifth or so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cascade_measured
import cascade_points
import cascade_savings
import cascade_tables
import cascade_verdicts
import numpy as np
from attrs import evolve
from cascade_banks import Source
from cascade_measured import Fits, Measured
from cascade_points import Variant
from paper_figures import draw

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

TABLES = ("nhanes", "cover", "thyroid", "heart", "mslr")
MODELS = tuple(np.geomspace(0.02, 1.28, 7).tolist())  # tradeoffs, in units of the constant's loss per cost of all
UNDER = {"cegb": MODELS[1::2], "miser": MODELS[1::3]}  # those of models that have cascades over them
OVER = (0.3, 1.0)  # tradeoffs of cascades, in units of that of the model
TRADEOFFS = 4  # of cascades over trees that know no prices
GREEDY, CASCADE = Variant("greedy"), Variant("cronus")
FAMILIES = {"cegb": "CEGB", "miser": "Greedy Miser", "xgboost": "xgboost"}
PLAIN = "cascade over plain trees"


def main() -> None:
    options = _options()
    options.output.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    for name in options.tables:
        ways = _ways(quick=options.quick)
        found = cascade_measured.measure(name, ways, quick=options.quick, splits=options.splits)
        measured.append(_with_both(found))
        draw_all(measured, options.output)
        print_claims(measured[-1])
    print(f"figures in {options.output}")


def _options() -> argparse.Namespace:
    return cascade_tables.options(cascade_tables.parser(str(__doc__), TABLES), TABLES)


def _ways(*, quick: bool) -> dict[str, list[Fits]]:
    row = cascade_points.tradeoffs(TRADEOFFS)
    ways = {PLAIN: [Fits(CASCADE, row)]}
    for family, name in FAMILIES.items():
        if family == "xgboost":
            source = Source(family, 0.0, "all")
            ways |= {name: [Fits(GREEDY, source=source)], _cascade(name): [Fits(CASCADE, row, source)]}
            continue
        under = UNDER[family][1:2] if quick else UNDER[family]
        ways[name] = [Fits(GREEDY, source=Source(family, tradeoff, "all")) for tradeoff in MODELS]
        ways[_cascade(name)] = [
            Fits(CASCADE, tuple(tradeoff * times for times in OVER), Source(family, tradeoff, "all"))
            for tradeoff in under
        ]
    return ways


def _cascade(name: str) -> str:
    return f"cascade over {name}"


def _both(name: str) -> str:
    return f"{name} and cascades"


def _with_both(found: Measured) -> Measured:
    """Add, for each family, models and cascades together."""
    both = {
        _both(name): [models + over for models, over in zip(found.ways[name], found.ways[_cascade(name)], strict=True)]
        for name in FAMILIES.values()
    }
    return evolve(found, ways=found.ways | both)


def draw_all(measured: list[Measured], output: Path) -> None:
    """Draw what is known so far, a figure for each kind of model."""
    for family, name in FAMILIES.items():
        draw(
            output / f"cronus_over_{family}",
            f"Cascades over {name}",
            "The best model at each budget, means over splits.",
            [found.panel((name, _cascade(name), PLAIN)) for found in measured],
        )


def print_claims(found: Measured) -> None:
    """Print what cascades are worth on a table, in Markdown."""
    print("\n| table | score | claim | verdict, and by how much |\n| --- | --- | --- | --- |")
    for score, ways in found.scored().items():
        for name in FAMILIES.values():
            for first, second in ((name, _both(name)), (name, _cascade(name)), (PLAIN, _cascade(name))):
                verdict = cascade_verdicts.compare(ways[first], ways[second])
                print(f"| {found.table} | {score} | {second} beats {first} | {verdict} |")
    print("\n| table | score | model | tradeoff | its score, cost | cheapest cascade over it, as good on valid |")
    print("| --- | --- | --- | --- | --- | --- |")
    for score, ways in found.scored().items():
        for name in FAMILIES.values():
            for saved in cascade_savings.savings(ways[name], ways[_cascade(name)]):
                print(f"| {found.table} | {score} | {name} | {saved} |")
    print(flush=True)


if __name__ == "__main__":
    main()
