"""Needs ../shared, but for synthetic: the figures and claims of the Cronus paper (AISTATS 2012) on public tables.

    python benchmarks/cronus_paper.py --quick            # one ranking and one table of two classes, smaller
    python benchmarks/cronus_paper.py --output figures   # all tables, five re-splits each

All ways use one bank of boosted trees, whose training rows are half of all: the trees in their order (GBRT), the
single stage, the cascade at its start and optimized, all by default and as printed (`recipe="paper"`), early exit,
Soft-Cascade and AND-OR. The other half trains weights and thresholds. At each budget the best model on valid is scored
on test. Of many negatives, train and valid have a sample with larger weights.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from costframe.report.style import COLORS
from costframe.training.scoring import score_named
from harness.cronus_tables import KINDS, load_parts
from harness.experiment import Claim, better, by_split, measure_all, paper_options, report_claims, saved_beyond
from harness.pictures import DASHES, Panel, draw, dress, pale_to_dark, sheet
from harness.points import NEAR, PARTS, cheapest, follow_rows, prefix
from harness.tables import single_prices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from harness.cronus_tables import Part, Table
    from harness.points import Point

TABLES = ("synthetic", "mslr", "nhanes", "cover")
QUICK = ("synthetic", "nhanes")
TREES, PREFIXES = 100, (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100)
GBRT, PRINTED = "GBRT", ", as printed"
SINGLE, START, CRONUS = "single stage", "initialized", "Cronus"
EXIT, SOFT, AND_OR = "early exit", "Soft-Cascade", "AND-OR"
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    SINGLE: ("reweighted", {}),
    START: ("cronus", {"optimize": False}),
    CRONUS: ("cronus", {}),
    SINGLE + PRINTED: ("reweighted", {"recipe": "paper"}),
    START + PRINTED: ("cronus", {"optimize": False, "recipe": "paper"}),
    CRONUS + PRINTED: ("cronus", {"recipe": "paper"}),
    SOFT: ("soft-cascade", {}),
    AND_OR: ("and-or", {}),
}
BOUNDS = {"bounds": (5, 20, 50, 150, 200)}  # of their stages in the paper, whose prices synthetic has
LEFT = (GBRT, SINGLE, START, CRONUS)
RIGHT = (GBRT, EXIT, SOFT, AND_OR, CRONUS, CRONUS + PRINTED)
MOST, LEAST = 2.0, 0.02  # tradeoffs, in units of the constant's loss per cost of all features
STAGES = 10


def main() -> None:
    asked = paper_options(__doc__, TABLES, quick=QUICK, known=KINDS, free=("synthetic",))
    found = measure_all(measure_split, asked, asked.quick)
    printed = tuple(name + PRINTED for name in LEFT[1:])
    for figure, title, names in (
        ("2_left", "Ways to use one bank", LEFT),
        ("2_left_printed", "Ways to use one bank, as printed", (GBRT, *printed)),
        ("2_right", "Cronus and other ways to reject", RIGHT),
    ):
        draw(asked.output / f"cronus_{figure}", title, [_panel(table, ways, names) for table, ways in found.items()])
    for figure, title, draw_one in (("3", STAYING, _draw_staying), ("4", EXTRACTED, _draw_extracted)):
        with sheet(asked.output / f"cronus_{figure}", f"Stage by stage (figure {figure})", title, len(found)) as places:
            for axes, (table, ways) in zip(places, found.items(), strict=True):
                draw_one(axes, table, ways)
    report_claims("cronus", claims(found), asked)


STAYING = "Share of test rows that reach each stage of the cheapest cascade within 1 % of the best, first split."
EXTRACTED = "Share of the features of each price that any row has acquired up to a stage of the optimized cascade."


def measure_split(name: str, split: int, quick: bool) -> dict[str, list[Point]]:
    """Fit all ways over one bank; return points by way, each way with the constant."""
    table = load_parts(name, split, quick=quick)
    plain = boost(table, split, TREES // (3 if quick else 1))
    found: dict[str, list[Point]] = defaultdict(lambda: [measure(table, prefix(plain, 0))])
    for share in PREFIXES:
        found[GBRT].append(measure(table, prefix(plain, max(1, len(plain.bank) * share // 100))))
    found[EXIT] += early_exits(table, plain)
    row = np.geomspace(MOST, LEAST, 3 if quick else 4).tolist()
    test = table.parts["test"]
    for way, (algorithm, given) in WAYS.items():
        settings = given | (BOUNDS if name == "synthetic" and way in (SOFT, AND_OR) else {})
        for tradeoff in (
            row[1 : 2 if quick else 3] if way.endswith(PRINTED) else row
        ):  # the printed minimizer is slow at low tradeoffs
            model = fit(table, algorithm, plain, tradeoff * table.price_of_loss(), settings)
            levels = follow_rows(model, table.costs, test.X, test.positive) if algorithm == "cronus" else []
            found[way].append(measure(table, model) | {"levels": levels})
    return dict(found)


def boost(table: Table, seed: int, trees: int) -> cf.StageTree:
    """Boost trees without prices, of few columns each, and add them up."""
    rows = table.parts["bank"]
    least_leaf = int(np.clip(len(rows.X) // 400, 3, 20))
    settings = {"engine": "cart", "n_estimators": trees, "min_samples_leaf": least_leaf, "ridge": 0.01}
    model = cf.estimator("reweighted", costs=table.costs, tradeoff=0.0, random_state=seed, n_jobs=1, **settings)
    bank = model.fit(rows.X, rows.positive, sample_weight=rows.weight).predictor_.bank
    constant = 2 * np.average(rows.positive, weights=rows.weight) - 1
    return cf.StageTree(bank, (cf.Answer(np.arange(len(bank)), np.ones(len(bank)), [constant], "identity"),))


def fit(table: Table, algorithm: str, bank: cf.StageTree, tradeoff: float, settings: dict[str, Any]) -> cf.StageTree:
    """Fit over a bank, a ranker for a ranking."""
    rows, seen = table.parts["train"], table.parts["choice"]
    weights = {"sample_weight": rows.weight, "sample_weight_val": seen.weight}
    given = {"costs": table.costs, "tradeoff": tradeoff, "bank": bank, "n_jobs": 1, **settings}
    if table.kind.ranking:
        model = cf.estimator(algorithm, "ranking", relevant=table.kind.positive, **given)
        model.fit(rows.X, rows.grade, X_val=seen.X, y_val=seen.grade, qid=rows.qid, qid_val=seen.qid, **weights)
    else:
        model = cf.estimator(algorithm, **given)
        model.fit(rows.X, rows.positive, X_val=seen.X, y_val=seen.positive, **weights)
    fitted: cf.StageTree = model.predictor_
    return fitted


def early_exits(table: Table, plain: cf.StageTree) -> list[Point]:
    """Return the models of early exit from the trees in their order, at all thresholds."""
    rows, seen, ranks = table.parts["train"], table.parts["choice"], table.kind.ranking
    if not ranks:  # log odds of labels -1 and 1
        answer = plain.stages[0]
        assert isinstance(answer, cf.Answer)  # noqa: S101 - a boosted model has no other stage
        odds = cf.Answer(answer.learners, 2 * answer.weights, 2 * answer.intercept, "sigmoid")
        plain = cf.StageTree(plain.bank, (odds,))
    given = {"costs": table.costs, "tradeoff": 0.0, "model": plain, "n_jobs": 1}
    model: Any = cf.estimator("early-exit", "ranking" if ranks else "classification", **given)
    queries = {"qid": rows.qid, "qid_val": seen.qid} if ranks else {}
    weights = {"sample_weight": rows.weight, "sample_weight_val": seen.weight}
    path = model.fit_path(rows.X, rows.positive, X_val=seen.X, y_val=seen.positive, **queries, **weights)
    return [measure(table, path.predictor(point)) for point in path.frontier()]


def measure(table: Table, model: cf.Predictor) -> Point:
    """Return the model's score and exact mean cost on valid and test."""
    point: Point = {}
    for part, key in PARTS:
        rows = table.parts[part]
        here = model.of_queries(rows.qid) if table.kind.ranking else model
        cost = cf.ExpectedCost(table.costs).evaluate(here, rows.X, sample_weight=rows.weight, n_jobs=1).mean
        point |= {key: score(table, rows, here.decision_function(rows.X)), f"{key}_cost": cost}
    return point


def score(table: Table, part: Part, predictions: np.ndarray) -> float:
    """Return the score of the table's kind."""
    return score_named(table.kind.score)(part.positive, predictions, part.weight, part.qid)


def claims(found: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """Return what the paper says, in its order."""
    several = []
    for end in ("", PRINTED):
        ladder = (GBRT, SINGLE + end, START + end, CRONUS + end)
        pairs = [*pairwise(ladder), (SINGLE + end, CRONUS + end)]
        pairs += [(one, CRONUS + end) for one in (EXIT, SOFT, AND_OR)]
        several += [better(f"2: {second} beats {first}", found, first, second) for first, second in pairs]
    for way in (CRONUS, CRONUS + PRINTED):
        text = f"2: {way} is within 1 % of GBRT at a tenth of its cost"
        several.append(by_split(text, found, (way, GBRT), _below_a_tenth, "% of cost"))
        text, begun = f"3: fewer rows reach the second stage of {way} than at its start", way.replace(CRONUS, START)
        several.append(by_split(text, found, (way, begun), _fewer_left, "% of rows"))
        text = f"3: {way} keeps fewer than {STAGES} stages"
        several.append(by_split(text, found, (way,), _stages_gone, "stages gone"))
        text = f"4: of cheap features {way} acquires a larger share first than of expensive ones"
        several.append(by_split(text, found, (way,), _cheap_first, "%"))
        text = f"4: {way} acquires some expensive feature in its first stage"
        several.append(by_split(text, found, (way,), _dear_first, "% of them"))
    return several


def shown(points: list[Point]) -> Point:
    """Return the cheapest cascade within 1 % of the best cascade on valid."""
    cascades = [point for point in points if point.get("levels")]
    return cheapest(cascades, NEAR * max(point["val"] for point in cascades))


def _below_a_tenth(_table: str, points: list[Point], plain: list[Point]) -> float:
    return saved_beyond(0.1, points, plain)


def _fewer_left(_table: str, optimized: list[Point], begun: list[Point]) -> float:
    left = [
        shown(points)["levels"][1].rows if len(shown(points)["levels"]) > 1 else 0.0 for points in (begun, optimized)
    ]
    return 100 * (left[0] - left[1])


def _stages_gone(_table: str, points: list[Point]) -> float:
    return float(STAGES - len(shown(points)["levels"]))


def _cheap_first(table: str, points: list[Point]) -> float:
    """Return how much of the final number of cheap features the first stage acquires, less that of expensive ones."""
    levels, dear = shown(points)["levels"], _expensive(table)
    first, last = (levels[at].acquired > 0 for at in (0, -1))
    shares = [first[kind].sum() / last[kind].sum() if last[kind].any() else np.nan for kind in (~dear, dear)]
    return float(100 * (shares[0] - shares[1]))


def _dear_first(table: str, points: list[Point]) -> float:
    return float(100 * (shown(points)["levels"][0].acquired[_expensive(table)] > 0).mean())


def _expensive(table: str) -> np.ndarray:
    """Tell which features cost at least half of the highest price: bool (d,)."""
    prices = single_prices(load_parts(table, 1, quick=True).costs)
    return np.asarray(prices >= prices.max() / 2)


def _panel(name: str, ways: Mapping[str, Any], names: tuple[str, ...]) -> Panel:
    table = load_parts(name, 1, quick=True)
    chosen = {way: ways[way] for way in names if way in ways}
    return Panel(name, table.kind.score, table.costs.unit, table.costs.full_cost(), chosen)


def _draw_staying(axes: Axes, table: str, ways: Mapping[str, Any]) -> None:
    """Draw the share of rows that reach each stage."""
    for at, way in enumerate((START, CRONUS, START + PRINTED, CRONUS + PRINTED)):
        rows = [level.rows for level in shown(ways[way][0])["levels"]]
        axes.step(
            range(1, len(rows) + 1), rows, where="mid", color=COLORS[at], ls=DASHES[at], marker="o", ms=3, label=way
        )
    axes.set_yscale("log")
    axes.legend(fontsize=7, frameon=False)
    dress(axes, table, "stage", "share of rows")


def _draw_extracted(axes: Axes, table: str, ways: Mapping[str, Any]) -> None:
    """Draw the share of features of each price that any row has acquired up to each stage."""
    prices = single_prices(load_parts(table, 1, quick=True).costs)
    levels = shown(ways[CRONUS][0])["levels"]
    groups = np.unique(prices)
    for price, color in zip(groups, pale_to_dark(len(groups)), strict=True):
        share = [(level.acquired[prices == price] > 0).mean() for level in levels]
        label = f"price {price:g} ({int((prices == price).sum())})"
        axes.plot(range(1, len(levels) + 1), share, color=color, marker="o", ms=3, label=label)
    axes.set_ylim(0, 1.03)
    axes.legend(fontsize=7, frameon=False)
    dress(axes, table, "stage", "share of the features acquired")


if __name__ == "__main__":
    main()
