"""Cascades over trees that were trained with prices, or elsewhere, and what they save at equal score.

A bank is the trees of CEGB or Greedy Miser, at a row of tradeoffs, or of an adopted xgboost model, trained on half of
the training rows; cascade and single stage are fitted on the others. They are compared with these models themselves,
from few of their trees to all, trained on all training rows, and on the same half: the best on valid at each budget,
scored on test.

    python benchmarks/cronus_banks.py --quick            # smaller tables, few tradeoffs: some minutes
    python benchmarks/cronus_banks.py --output figures   # all tables: about half an hour on two cores
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cascade_measured
import cascade_points
import cascade_tables
import cascade_verdicts
import paper_tables
from cascade_banks import Source
from cascade_measured import Fits, Measured
from cascade_points import FEW, Variant
from paper_figures import draw

TABLES = ("nhanes", "cover", "mslr", "thyroid", "heart", "synthetic")
TRAINED = (0.03, 0.1, 0.3, 1.0)  # tradeoffs of a bank, in units of the constant's loss per cost of all features
QUICK_TRAINED = (0.1,)
TRADEOFFS, QUICK_TRADEOFFS = 6, 4
GREEDY, SINGLE = Variant("greedy"), Variant("reweighted")
CASCADES = (Variant("cronus"), Variant("cronus", FEW))
FAMILIES = {"cegb": "CEGB", "miser": "Greedy Miser", "xgboost": "xgboost"}
PLAIN = "cascade over plain trees"


def main() -> None:
    options = _options()
    options.output.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    for name in options.tables:
        ways = _ways(quick=options.quick)
        measured.append(cascade_measured.measure(name, ways, quick=options.quick, splits=options.splits))
        draw_all(measured, options.output)
        print_claims(measured[-1])
    print(f"figures in {options.output}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=[], help=f"some of {', '.join(TABLES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a third of the training rows, few trees and tradeoffs")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for figures")
    parser.add_argument("--splits", type=int, help="of each table, by default as many as it has")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(cascade_tables.KINDS):
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    options.tables = options.tables or list(TABLES)
    if set(options.tables) != {"synthetic"} and not paper_tables.FOLDER.is_dir():
        parser.error(f"there is no folder {paper_tables.FOLDER}; without it there is the table 'synthetic'")
    return options


def _ways(*, quick: bool) -> dict[str, list[Fits]]:
    row = cascade_points.tradeoffs(QUICK_TRADEOFFS if quick else TRADEOFFS)
    ways = {PLAIN: [Fits(variant, row) for variant in CASCADES]}
    for family, name in FAMILIES.items():
        trained = (0.0,) if family == "xgboost" else QUICK_TRAINED if quick else TRAINED
        for rows, label in (("all", name), ("bank", _half(name))):
            ways[label] = [Fits(GREEDY, sources=(Source(family, tradeoff, rows),)) for tradeoff in trained]
        for variants, label in (((SINGLE,), _single(name)), (CASCADES, _cascade(name))):
            ways[label] = [
                Fits(variant, row, (Source(family, tradeoff),)) for variant in variants for tradeoff in trained
            ]
    return ways


def _half(name: str) -> str:
    return f"{name}, half of the rows"


def _single(name: str) -> str:
    return f"single stage over {name}"


def _cascade(name: str) -> str:
    return f"cascade over {name}"


def draw_all(measured: list[Measured], output: Path) -> None:
    """Draw what is known so far, a figure for each kind of bank."""
    for family, name in FAMILIES.items():
        draw(
            output / f"cronus_over_{family}",
            f"A cascade over the trees of {name}",
            "The best model at each budget, means over splits; each way has models of several tradeoffs.",
            [found.panel((name, _half(name), _single(name), _cascade(name))) for found in measured],
        )


def print_claims(found: Measured) -> None:
    """Print what each way is worth on a table, in Markdown."""
    print("\n| table | claim | verdict, and by how much |\n| --- | --- | --- |")
    for name in FAMILIES.values():
        pairs = [(name, _single(name)), (name, _cascade(name)), (_half(name), _cascade(name))]
        pairs += [(_single(name), _cascade(name)), (PLAIN, _cascade(name))]
        for first, second in pairs:
            verdict = cascade_verdicts.compare(found.ways[first], found.ways[second])
            print(f"| {found.table} | {second} beats {first} | {verdict} |")
    print(flush=True)


if __name__ == "__main__":
    main()
