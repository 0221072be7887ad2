"""The comparisons of the CEGB paper (NIPS 2017) on the tables of ../shared/data: a figure each, and which claims hold.

Every fit gives models of more and more of its trees. At each budget, the best model on valid that costs no more there
is scored on test. Curves and verdicts are means over several splits.

    python benchmarks/cegb_paper.py --quick            # two small tables, about a minute
    python benchmarks/cegb_paper.py --output figures   # all tables, about half an hour on two cores
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import paper_tables
from attrs import frozen
from paper_claims import Claim, largest_is_worse, within_one_percent
from paper_figures import LEAST, MOST, Line, Panel, draw
from paper_points import Job, Point, Variant, at_budgets, run

CEGB = Variant("16 leaves, best first")
BREADTH = Variant("16 leaves, breadth first", settings=(("max_leaves", 16), ("growth", "breadth")))
EQUAL = Variant("equal prices", trained="equal")
PLAIN = Variant("no prices", plain=True)
BOTH = {"trained": "comparisons", "paid": "comparisons"}
MISER = Variant("Greedy Miser", "miser", (("max_depth", 4),), **BOTH)
SHALLOW = Variant("depth 4", settings=(("max_leaves", 16), ("max_depth", 4)), **BOTH)
ANY_DEPTH = Variant("16 leaves", **BOTH)
MORE_LEAVES = Variant("64 leaves", settings=(("max_leaves", 64),), **BOTH)


@frozen
class Comparison:
    """A figure: variants at equal budgets, and what is claimed of them."""

    name: str
    title: str
    subtitle: str
    lines: dict[str, Variant]
    claims: tuple[Claim, ...]
    needs_prices: bool = False


COMPARISONS = (
    Comparison(
        "depth",
        "Shallow or deep trees",
        "The best model at each budget, means over splits. Four comparisons cost 0.1 % of all features.",
        {"Greedy Miser": MISER, "depth 4": SHALLOW, "16 leaves": ANY_DEPTH, "64 leaves": MORE_LEAVES},
        (
            Claim("shallow trees (depth 4, 16 leaves) beat Greedy Miser (depth 4)", SHALLOW, MISER),
            Claim("any depth beats depth 4, at 16 leaves", ANY_DEPTH, SHALLOW),
            Claim("any depth beats depth 4, at 64 leaves", MORE_LEAVES, SHALLOW),
        ),
    ),
    Comparison(
        "growth",
        "Best-first or breadth-first growth",
        "The best model at each budget, means over splits. Trees of 16 leaves.",
        {"best first": CEGB, "breadth first": BREADTH},
        (Claim("best-first beats breadth-first, at equal leaves", CEGB, BREADTH),),
    ),
    Comparison(
        "prices",
        "True prices or equal ones in training",
        "The best model at each budget, means over splits. All of them pay the true prices when they predict.",
        {"true prices": CEGB, "equal prices": EQUAL, "no prices": PLAIN},
        (
            Claim("true prices beat equal ones", CEGB, EQUAL),
            Claim("equal prices are like none", EQUAL, PLAIN, better=False),
        ),
        needs_prices=True,
    ),
)
INFLUENCE = (
    "The influence of the tradeoff",
    "One fit a line, from few trees to all, on the table's own split. Darker: a larger tradeoff λ, in loss per cost.",
)


@frozen(eq=False)
class Measured:
    """All points of one table: by split and variant, and those of CEGB on the first split by tradeoff."""

    name: str
    splits: list[dict[Variant, list[Point]]]
    lines: dict[float, list[Point]]

    def panel(self, lines: tuple[Line, ...]) -> Panel:
        """Put lines in a panel."""
        data = paper_tables.load(self.name, 0)
        return Panel(self.name, paper_tables.SCORES[self.name], data.costs.unit, data.full_cost, lines)


def main() -> None:
    options = _options()
    options.output.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    for name in options.tables:
        if found := measure(name, quick=options.quick):
            measured.append(found)
            draw_all(measured, options.output)
    if measured:
        print(f"\nfigures in {options.output}\n")
        print_claims(measured)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "tables", nargs="*", default=[], help=f"some of {', '.join(paper_tables.SCORES)}; all by default"
    )
    parser.add_argument("--quick", action="store_true", help="few trees and tradeoffs, on two small tables by default")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "figures", help="folder for figures")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(paper_tables.SCORES):
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    if not paper_tables.FOLDER.is_dir():
        parser.error(f"there is no folder {paper_tables.FOLDER}")
    options.tables = options.tables or (["heart", "thyroid"] if options.quick else list(paper_tables.SCORES))
    return options


def measure(name: str, *, quick: bool) -> Measured | None:
    """Do all fits on a table; None where an algorithm lacks its task."""
    data = paper_tables.load(name, 0)
    if missing := paper_tables.missing_algorithm(data.task):
        print(f"{name}: left out, {missing} has no {data.task}")
        return None
    start = time.perf_counter()
    splits, rounds, count = (2, 40, 4) if quick else (paper_tables.SPLITS[name], 100, 6)
    grid = paper_tables.tradeoffs(data, count)
    variants = {variant for one in COMPARISONS if _informative(one, name) for variant in one.lines.values()}
    jobs = {
        (split, variant): [Job(name, split, variant, t, rounds) for t in (grid[:1] if variant.plain else grid)]
        for split in range(splits)
        for variant in sorted(variants | {CEGB}, key=str)
    }
    done = run([job for several in jobs.values() for job in several], workers=2)
    pooled: list[dict[Variant, list[Point]]] = [{} for _ in range(splits)]
    for (split, variant), several in jobs.items():
        pooled[split][variant] = [point for job in several for point in done[job]]
    print(f"{name}: {len(done)} fits in {time.perf_counter() - start:.0f} s", flush=True)
    return Measured(name, pooled, {job.tradeoff: done[job] for job in jobs[0, CEGB]})


def draw_all(measured: list[Measured], output: Path) -> None:
    """Draw what is known so far."""
    for comparison in COMPARISONS:
        shown = [found for found in measured if _informative(comparison, found.name)]
        if shown:
            panels = [found.panel(_budget_lines(comparison, found)) for found in shown]
            draw(output / f"cegb_{comparison.name}", comparison.title, comparison.subtitle, panels)
    panels = [found.panel(_tradeoff_lines(found)) for found in measured]
    draw(output / "cegb_tradeoff", *INFLUENCE, panels, ordered=True)


def _informative(comparison: Comparison, name: str) -> bool:
    return not (comparison.needs_prices and paper_tables.equally_priced(paper_tables.load(name, 0)))


def _budget_lines(comparison: Comparison, found: Measured) -> tuple[Line, ...]:
    budgets = np.geomspace(LEAST, MOST, 90) * paper_tables.load(found.name, 0).full_cost
    lines = []
    for label, variant in comparison.lines.items():
        scores = np.array([at_budgets(split[variant], budgets) for split in found.splits])
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
        lines.append(Line(label, budgets, scores.mean(axis=0), error))
    return tuple(lines)


def _tradeoff_lines(found: Measured) -> tuple[Line, ...]:
    lines = []
    for tradeoff, points in sorted(found.lines.items()):
        bought = [point for point in points if point.test_cost > 0]
        if bought:
            cost, score = np.array([(point.test_cost, point.test_score) for point in bought]).T
            lines.append(Line(f"λ = {tradeoff:.1g}", cost, score))
    return tuple(lines)


def print_claims(measured: list[Measured]) -> None:
    """Print a table in Markdown: each claim on each table, with mean differences of scores at low and high budgets."""
    rows = [["claim", *(found.name for found in measured)]]
    for comparison in COMPARISONS:
        for claim in comparison.claims:
            cells = [
                claim.verdict(found.splits, paper_tables.load(found.name, 0).full_cost)
                if _informative(comparison, found.name)
                else "-"
                for found in measured
            ]
            rows.append([claim.text, *cells])
    for text, check in (
        ("some tradeoff ends within 1 % of none at half of its cost", within_one_percent),
        ("the largest tradeoff ends more than 1 % lower", largest_is_worse),
    ):
        rows.append([text, *(check(found.lines) for found in measured)])
    rows.insert(1, ["---"] * len(rows[0]))
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
