"""Needs ../shared, but for scales: the figures and claims of the CEGB paper (NIPS 2017) on public tables.

    python benchmarks/cegb_paper.py --quick            # three small tables
    python benchmarks/cegb_paper.py --output figures   # all tables, five re-splits each

Trees pay in five ways: for features and comparisons ("both", where four comparisons cost as much as the cheapest
feature), for features alone, for comparisons alone (each costs 1), for features at equal prices in training and at
true ones afterwards, and for comparisons whose prices differ by scale (table "scales", drawn frames). Fits are at a row
of tradeoffs, and the first trees of each fit are models too. At each budget the best model on valid is scored on test.
"Plain boosting" is tradeoff 0. Low budgets are 1 to 10 % of its cost, high ones 20 to 100 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from attrs import frozen

from costframe.core.prices.costs import CostModel, FeaturePrice
from harness.experiment import Claim, better, by_split, measure_all, paper_options, report_claims, saved_beyond
from harness.fits import fit_on_train, path_points, prefix_points, tradeoffs
from harness.images import draw_scales
from harness.pictures import Panel, draw
from harness.points import NEAR, gains
from harness.tables import SCORES, fewer_rows, load, single_prices

if TYPE_CHECKING:
    from costframe.datasets import Dataset
    from harness.points import Point

TABLES = ("mslr", "nhanes", "cover", "thyroid", "heart", "letter", "scales")
QUICK = ("heart", "thyroid", "scales")
KNOWN = {**SCORES, "mslr": "average_precision@5", "scales": "average_precision"}
ROWS, QUICK_ROWS = 12_000, 2_000  # most training rows
LOW, HIGH = (0.01, 0.02, 0.05, 0.1), (0.2, 0.5, 1.0)  # shares of the cost of plain boosting
SHALLOW, PLAIN = "depth 4", "plain boosting"


@frozen
class Way:
    """A way to train.

    Attributes
    ----------
    name : str
    settings : dict
    algorithm : str
    only_prices : float or None
        The one tradeoff, where there is one.
    path : bool
        Whether the models are those of `fit_path`.
    """

    name: str
    settings: dict[str, Any]
    algorithm: str = "cegb"
    tradeoff: float | None = None
    path: bool = False


USUAL = {"learning_rate": 0.1}
CEGB = Way("CEGB", {"max_leaves": 16, **USUAL})
NO_PRICES = Way(PLAIN, {"max_leaves": 16, **USUAL}, tradeoff=0.0)
PRINTED = Way("CEGB, as printed", {"max_leaves": 16, "recipe": "paper"})
PATH = Way("CEGB's path (default)", {}, path=True)
MISER = Way("Greedy Miser", {"max_depth": 4, **USUAL}, "miser")
PRUNED = Way("BudgetPrune", {}, "budgetprune", path=True)
DEEP = Way("64 leaves", {"max_leaves": 64, **USUAL})
BOUNDED = Way(SHALLOW, {"max_leaves": 16, "max_depth": 4, **USUAL})
BREADTH = Way("breadth first", {"max_leaves": 16, "growth": "breadth", **USUAL})
SETTINGS: dict[str, tuple[Way, ...]] = {
    "both": (CEGB, NO_PRICES, MISER, BOUNDED, DEEP),
    "features": (CEGB, NO_PRICES, PRINTED, PATH, MISER, PRUNED, BREADTH),
    "comparisons": (CEGB, NO_PRICES, PATH, MISER),
    "equal": (CEGB,),
    "scales": (CEGB, NO_PRICES, PATH, MISER),
}
FIGURES = {  # the paper's: title, setting, ways
    "2a": ("Features and comparisons cost", "both", (MISER.name, SHALLOW, CEGB.name, DEEP.name)),
    "2bcd": ("Features cost", "features", (MISER.name, PRUNED.name, PRINTED.name, CEGB.name, PATH.name)),
    "3b": ("Best-first growth (CEGB) or breadth-first", "features", (CEGB.name, BREADTH.name)),
    "prices": ("True, equal and no prices of features in training", "features", (CEGB.name, "equal prices", PLAIN)),
    "comparisons": ("Comparisons cost", "comparisons", (MISER.name, PLAIN, CEGB.name, PATH.name)),
    "4b": ("Scales at different prices of a comparison", "scales", (MISER.name, PLAIN, CEGB.name, PATH.name)),
}


def main() -> None:
    asked = paper_options(__doc__, TABLES, quick=QUICK, known=KNOWN, free=("scales",))
    found = measure_all(measure_split, asked, asked.quick)
    for figure, (title, setting, names) in FIGURES.items():
        panels = [_panel(table, ways, setting, names) for table, ways in found.items() if (setting, CEGB.name) in ways]
        if panels:
            draw(asked.output / f"cegb_{figure}", title, panels)
    panels = [_by_tradeoff(table, ways) for table, ways in found.items() if ("features", CEGB.name) in ways]
    if panels:
        draw(asked.output / "cegb_3a", "The influence of the tradeoff λ, first split", panels, shades=True)
    report_claims("cegb", claims(found), asked)


def measure_split(table: str, split: int, quick: bool) -> dict[tuple[str, str], list[Point]]:
    """Fit each way in each setting that the table has; return points by setting and way."""
    data = draw_scales(split) if table == "scales" else fewer_rows(load(table, split), QUICK_ROWS if quick else ROWS)
    found: dict[tuple[str, str], list[Point]] = {}
    for setting, ways in SETTINGS.items():
        if (setting == "scales") != (table == "scales") or (setting == "equal" and not _informative(data)):
            continue
        paid = attrs.evolve(data, costs=paid_prices(data.costs, setting))
        trained = paid.costs if setting != "equal" else equal_prices(data.costs)
        plain = fit(paid, NO_PRICES, 0.0, trained, quick)
        for way in ways:
            if way.algorithm == "budgetprune" and len(data.classes) != 2:
                continue
            row = tradeoffs(data, 3e-3, 10.0, 3 if quick else 6, cost=plain[-1]["val_cost"])
            grid = [0.0, *row] if way.tradeoff is None else [way.tradeoff]
            prices = flat_prices(trained) if way is PRINTED else trained
            points = [point for at in ([0.0] if way.path else grid) for point in fit(paid, way, at, prices, quick)]
            key = ("features", "equal prices") if setting == "equal" else (setting, way.name)
            found[key] = plain[:1] + points
    return found


def _informative(data: Dataset) -> bool:
    return bool(data.costs.resources) or len({feature.cost for feature in data.costs.features}) > 1


def paid_prices(costs: CostModel, setting: str) -> CostModel:
    """Return the prices of predictions in a setting."""
    if setting == "both":
        each = single_prices(costs)
        return attrs.evolve(costs, split=float(each[each > 0].min()) / 4)
    if setting == "comparisons":
        return CostModel(tuple(map(FeaturePrice, costs.names)), split=1.0, unit="comparisons")
    return costs


def flat_prices(costs: CostModel) -> CostModel:
    """Return prices of features that hold those of their resources, which the paper does not have."""
    return CostModel(tuple(map(FeaturePrice, costs.names, single_prices(costs).tolist())), unit=costs.unit)


def equal_prices(costs: CostModel) -> CostModel:
    """Return a price of each feature that is the mean of all."""
    mean = costs.full_cost() / len(costs.names)
    return CostModel(tuple(FeaturePrice(name, mean) for name in costs.names), unit=costs.unit)


def fit(paid: Dataset, way: Way, tradeoff: float, trained: CostModel, quick: bool) -> list[Point]:
    """Fit once; measure the models of more and more trees, the constant first, or those of the path."""
    score, settings = KNOWN[paid.name], dict(way.settings)
    if way.path:
        return path_points(paid, way.algorithm, score, {"costs": trained, **settings})
    if "recipe" not in settings:
        settings["min_samples_leaf"] = int(np.clip(len(paid.part("train")) // 200, 5, 20))
        if paid.task == "ranking" and way.algorithm == "cegb":
            settings["objective"] = "squared"  # as in the paper
    settings |= {"costs": trained, "n_estimators": 40 if quick else 100}
    whole = fit_on_train(paid, way.algorithm, tradeoff, **settings)
    return prefix_points(paid, whole, score, tradeoff=tradeoff)


def _panel(table: str, ways: dict[tuple[str, str], Any], setting: str, names: tuple[str, ...]) -> Panel:
    chosen = {name: ways[setting, name] for name in names if (setting, name) in ways}
    unit = {"scales": "comparisons a pixel", "comparisons": "comparisons"}.get(setting)
    return Panel(table, KNOWN[table], unit or load(table, 0).costs.unit, _plain_cost(ways, setting), chosen)


def _plain_cost(ways: dict[tuple[str, str], Any], setting: str) -> float:
    """Return the mean cost of plain boosting."""
    return float(np.mean([points[-1]["val_cost"] for points in ways[setting, PLAIN]]))


def _by_tradeoff(table: str, ways: dict[tuple[str, str], Any]) -> Panel:
    """Put CEGB's models on the first split in a panel, a line for each tradeoff that buys something."""
    points = [point for point in ways["features", CEGB.name][0] if point["val_cost"] > 0]
    lines = {
        at: [point for point in points if point["tradeoff"] == at] for at in {one["tradeoff"]: 0 for one in points}
    }
    return attrs.evolve(
        _panel(table, ways, "features", (CEGB.name,)), ways={f"λ = {at:.1g}": [one] for at, one in lines.items()}
    )


def claims(found: dict[str, Any]) -> list[Claim]:
    """Return what the paper says, in its order."""
    several: list[Claim] = []
    for setting, text, first, second in (
        ("both", "2a: with depth 4 and 16 leaves, CEGB beats Greedy Miser", MISER.name, SHALLOW),
        ("both", "2a: deeper trees of 16 leaves beat depth 4", SHALLOW, CEGB.name),
        ("both", "2a: trees of 64 leaves beat depth 4", SHALLOW, DEEP.name),
        ("features", "2b-d: CEGB beats Greedy Miser", MISER.name, CEGB.name),
        ("features", "2b-d: CEGB, as printed beats Greedy Miser", MISER.name, PRINTED.name),
        ("features", "2b-d: CEGB's path beats Greedy Miser", MISER.name, PATH.name),
        ("features", "2b-d: CEGB beats BudgetPrune", PRUNED.name, CEGB.name),
        ("features", "2b-d: CEGB's path beats BudgetPrune", PRUNED.name, PATH.name),
        ("features", "3b: best-first growth beats breadth-first", BREADTH.name, CEGB.name),
        ("features", "true prices in training beat equal ones", "equal prices", CEGB.name),
    ):
        several += _at_budgets(text, found, (setting, first), (setting, second))
    one, other = ("features", PLAIN), ("features", "equal prices")
    several.append(better("equal prices in training are as good as none", found, one, other, equal=True))
    for setting in ("features", "comparisons", "scales"):
        text = f"{setting}: some tradeoff is within 1 % of plain boosting at half of its cost"
        ways = ((setting, CEGB.name), (setting, PLAIN))
        several.append(by_split(text, found, ways, lambda _, *each: saved_beyond(0.5, *each), "% of cost"))
    text, ways = (
        "3a: the largest tradeoff ends more than 1 % below none",
        (("features", CEGB.name), ("features", PLAIN)),
    )
    several.append(by_split(text, found, ways, _largest_is_worse, "points"))
    for setting in ("comparisons", "scales"):
        text = f"{setting}: CEGB beats Greedy Miser"
        several += _at_budgets(text, found, (setting, MISER.name), (setting, CEGB.name))
    return several


def _at_budgets(text: str, found: dict[str, Any], first: Any, second: Any) -> list[Claim]:
    """Compare two ways at low and at high budgets."""
    margins: dict[str, dict[str, np.ndarray]] = {"low": {}, "high": {}}
    for table, ways in found.items():
        if first in ways and second in ways:
            for name, shares in (("low", LOW), ("high", HIGH)):
                budgets = np.array(shares) * _plain_cost(ways, first[0])
                margins[name][table] = gains(ways[first], ways[second], budgets)
    return [Claim(f"{text}, at {name} budgets", each) for name, each in margins.items()]


def _largest_is_worse(_table: str, points: list[Point], plain: list[Point]) -> float:
    last = max(point["tradeoff"] for point in points if "tradeoff" in point)
    end = [point for point in points if point.get("tradeoff") == last][-1]
    return float(100 * (NEAR * plain[-1]["test"] - end["test"]))


if __name__ == "__main__":
    main()
