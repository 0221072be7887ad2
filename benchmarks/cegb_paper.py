"""Needs ../shared: the comparisons of the CEGB paper (NIPS 2017) on other tables: pictures, and which claims hold.

    python benchmarks/cegb_paper.py --quick            # two small tables, about a minute
    python benchmarks/cegb_paper.py --output figures   # all tables, about half an hour on two cores

Every fit gives models of more and more of its trees. At each budget, the script scores the best affordable model on
valid on test. Curves and verdicts are means over several splits: whether the first scores higher than the second at low
budgets and at high ones, and by how many points (hundredths).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from attrs import frozen

import costframe as cf
from costframe.core.prices.costs import FeaturePrice
from harness.pictures import Panel, draw
from harness.points import NEAR, by_split, cheapest, gains, markdown, measure, prefix, verdict
from harness.tables import OUTPUT, SCORES, STORED, fitting_rows, load, options, single_prices

if TYPE_CHECKING:
    import argparse

    from costframe.datasets import Dataset
    from harness.points import Point

SPLITS = {"heart": 5, "sat12": 5, "thyroid": 3}  # 2 of the others
QUICK = ("heart", "thyroid")
PREFIXES = (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100)  # trees, in per cent
BUDGETS = {"low": (0.01, 0.02, 0.05, 0.1), "high": (0.2, 0.5, 1.0)}  # shares of the cost of all features
COMPARISON = 1 / 4000  # of the cost of all features: a tree's four comparisons cost a thousandth of it


@frozen
class Variant:
    """A way to train.

    Attributes
    ----------
    name : str
    settings : dict
    algorithm : str
    prices : {"true", "comparisons", "equal", "none"}
        In training; "equal" and "none" pay the true ones in prediction, "comparisons" are true ones and a price of
        each comparison.
    """

    name: str
    settings: dict[str, int | str]
    algorithm: str = "cegb"
    prices: str = "true"


CEGB = Variant("CEGB", {"max_leaves": 16})
COMPARISONS = {
    "depth": (
        "Shallow or deep trees; four comparisons cost 0.1 % of all features",
        (
            Variant("Greedy Miser", {"max_depth": 4}, "miser", "comparisons"),
            Variant("depth 4", {"max_leaves": 16, "max_depth": 4}, prices="comparisons"),
            Variant("16 leaves", {"max_leaves": 16}, prices="comparisons"),
            Variant("64 leaves", {"max_leaves": 64}, prices="comparisons"),
        ),
    ),
    "growth": (
        "Best-first growth (CEGB) or breadth-first",
        (CEGB, Variant("breadth first", {"max_leaves": 16, "growth": "breadth"})),
    ),
    "prices": (
        "True prices (CEGB) or equal ones in training",
        (
            CEGB,
            Variant("equal prices", {"max_leaves": 16}, prices="equal"),
            Variant("no prices", {"max_leaves": 16}, prices="none"),
        ),
    ),
}
VARIANTS = list({one.name: one for _, several in COMPARISONS.values() for one in several}.values())
CLAIMS = (
    ("shallow trees (depth 4, 16 leaves) beat Greedy Miser (depth 4)", "depth 4", "Greedy Miser"),
    ("any depth beats depth 4, at 16 leaves", "16 leaves", "depth 4"),
    ("any depth beats depth 4, at 64 leaves", "64 leaves", "depth 4"),
    ("best-first beats breadth-first, at equal leaves", "CEGB", "breadth first"),
    ("true prices beat equal ones", "CEGB", "equal prices"),
    ("equal prices beat none", "equal prices", "no prices"),
)


@frozen(eq=False)
class Measured:
    """All points of one table, by way and split."""

    data: Dataset
    ways: dict[str, list[list[Point]]]

    def panel(self, ways: dict[str, list[list[Point]]]) -> Panel:
        """Put ways in a panel."""
        return Panel(self.data.name, SCORES[self.data.name], self.data.costs.unit, self.data.full_cost, ways)


def main() -> None:
    asked = _options()
    found: list[Measured] = []
    for name in asked.tables:
        splits = 2 if asked.quick else SPLITS.get(name, 2)
        found.append(Measured(load(name, 0), by_split(measure_split, name, splits, asked.quick)))
        for figure, (title, variants) in COMPARISONS.items():
            names = [one.name for one in variants]
            panels = [one.panel({way: one.ways[way] for way in names}) for one in found if set(names) <= {*one.ways}]
            if panels:
                draw(asked.output / f"cegb_{figure}", title, panels)
        panels = [one.panel({f"λ = {at:.1g}": [points] for at, points in by_tradeoff(one).items()}) for one in found]
        draw(asked.output / "cegb_tradeoff", "The influence of the tradeoff λ, first split", panels, shades=True)
    print_claims(found)
    print(f"\npictures in {asked.output}")


def _options() -> argparse.Namespace:
    quick = {"action": "store_true", "help": "few trees and tradeoffs, on two small tables by default"}
    asked = options(__doc__, STORED, quick=quick, output=OUTPUT)
    if asked.quick and asked.tables == list(STORED):
        asked.tables = list(QUICK)
    return asked


def measure_split(name: str, split: int, quick: bool) -> dict[str, list[Point]]:
    """Fit each variant at each tradeoff; return the points of the models that the first trees of each make."""
    data = load(name, split)
    informative = data.costs.resources or len({feature.cost for feature in data.costs.features}) > 1
    variants = [one for one in VARIANTS if informative or one.prices not in ("equal", "none")]
    grid = tradeoffs(data, 4 if quick else 6)
    return {
        one.name: [
            point
            for tradeoff in ([0.0] if one.prices == "none" else grid)
            for point in fit(data, one, tradeoff, 40 if quick else 100)
        ]
        for one in variants
    }


def fit(data: Dataset, variant: Variant, tradeoff: float, rounds: int) -> list[Point]:
    """Fit once, and measure the models of more and more trees, the constant first."""
    least_leaf = int(np.clip(len(data.part("train")) // 200, 5, 20))
    settings: dict[str, Any] = {"n_estimators": rounds, "learning_rate": 0.1, "min_samples_leaf": least_leaf}
    settings |= {"n_jobs": 1, **variant.settings}
    costs = trained_at(data, variant.prices)
    model = cf.estimator(variant.algorithm, data.task, costs=costs, tradeoff=tradeoff, **settings)
    rows = fitting_rows(data)
    model.fit(**{key: rows[key] for key in ("X", "y", "qid") if key in rows})
    paid = attrs.evolve(data, costs=costs) if variant.prices == "comparisons" else data
    whole = model.predictor_
    counts = dict.fromkeys(len(whole.bank) * share // 100 for share in PREFIXES)
    noted = [{"tradeoff": tradeoff, "trees": count} for count in counts]
    return [measure(paid, prefix(whole, each["trees"]), SCORES[data.name], **each) for each in noted]


def trained_at(data: Dataset, prices: str) -> cf.CostModel:
    """Return the prices to train at."""
    if prices == "equal":
        mean = data.full_cost / len(data.feature_names)
        return cf.CostModel(tuple(FeaturePrice(name, mean) for name in data.feature_names), unit=data.costs.unit)
    if prices == "comparisons":
        return attrs.evolve(data.costs, split=COMPARISON * data.full_cost)
    return data.costs


def tradeoffs(data: Dataset, count: int) -> list[float]:
    """Return 0 and a geometric row, from where prices hardly count to where little is bought."""
    loss = np.log(2)
    if data.classes:
        share = np.unique(data.part("train").y, return_counts=True)[1] / len(data.part("train"))
        loss = -(share @ np.log(share))
    each = single_prices(data.costs)
    most = np.clip(0.3 * data.full_cost / each[each > 0].min(), 1.0, 30.0)
    return [0.0, *(np.geomspace(1e-3, most, count) * loss / data.full_cost).tolist()]


def by_tradeoff(found: Measured) -> dict[float, list[Point]]:
    """Return the points of CEGB on the first split that buy something, by tradeoff."""
    points = [point for point in found.ways[CEGB.name][0] if point["val_cost"] > 0]
    return {at: [point for point in points if point["tradeoff"] == at] for at in {p["tradeoff"]: 0 for p in points}}


def print_claims(found: list[Measured]) -> None:
    """Print each claim on each table, with mean differences of scores at low and high budgets."""
    rows = []
    for text, first, second in CLAIMS:
        cells = []
        for one in found:
            pair = [one.ways.get(name) for name in (second, first)]
            lows = [np.array(shares) * one.data.full_cost for shares in BUDGETS.values()]
            cells.append("; ".join(verdict(gains(*pair, budgets)) for budgets in lows) if all(pair) else "-")
        rows.append([text, *cells])
    ends = [{at: points[-1] for at, points in by_tradeoff(one).items()} for one in found]
    rows.append(["some tradeoff ends within 1 % of none at half of its cost", *map(_within_one_percent, ends)])
    rows.append(["the largest tradeoff ends more than 1 % lower", *map(_largest_is_worse, ends)])
    print(f"\n{markdown(['claim: at low budgets; at high budgets', *(one.data.name for one in found)], rows)}")


def _within_one_percent(ends: dict[float, Point]) -> str:
    plain = ends[0.0]
    near = cheapest(ends.values(), NEAR * plain["val"])
    share = near["test_cost"] / plain["test_cost"]
    said = f"{near['test']:.4f} at {share:.0%} of the cost of {plain['test']:.4f}"
    return f"{'yes' if share <= 0.5 else 'no'}: {said}"


def _largest_is_worse(ends: dict[float, Point]) -> str:
    last, plain = ends[max(ends)]["test"], ends[0.0]["test"]
    return f"{'yes' if last < NEAR * plain else 'no'}: {last:.4f} against {plain:.4f}"


if __name__ == "__main__":
    main()
