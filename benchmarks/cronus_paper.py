"""Needs ../shared, but for synthetic: the findings of the Cronus paper (AISTATS 2012), and whether they hold elsewhere.

    python benchmarks/cronus_paper.py --quick             # one split, smaller tables, few tradeoffs
    python benchmarks/cronus_paper.py --splits 2          # also prints rows and features at each stage
    python benchmarks/cronus_paper.py --over-cegb nhanes  # savings over a model trained with prices

By default it compares five ways to use one bank of boosted trees, each at a row of tradeoffs: the trees in their order,
the single stage, the cascade at its start, by the paper's recipe, and optimized. Half of the training rows train the
bank, the other half the cascades. With --over-cegb, it compares models of CEGB on all training rows with cascades over
some of them, on the same rows. At each budget, it scores the best affordable model on valid on test. Of many negatives,
train and valid have a sample with larger weights.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from costframe.training.scoring import score_named
from harness.cronus_tables import KINDS, load_parts
from harness.pictures import Panel, draw
from harness.points import (
    NEAR,
    PARTS,
    by_split,
    cheapest,
    compare,
    follow_rows,
    levels_text,
    markdown,
    prefix,
    standard_error,
    with_errors,
)
from harness.tables import OUTPUT, options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.cronus_tables import Part, Table
    from harness.points import Point

TABLES = ("synthetic", "mslr", "mslr-3", "nhanes", "cover")
TABLES_OVER_CEGB = ("nhanes", "cover", "mslr", "thyroid", "heart")
TREES, PREFIXES = 100, (0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100)
LADDER: dict[str, tuple[str, dict[str, Any]]] = {
    "single stage": ("reweighted", {}),
    "initialized": ("cronus", {"optimize": False}),
    "as printed": ("cronus", {"recipe": "paper"}),
    "optimized": ("cronus", {}),
}
CLAIMS = (
    ("greedy", "single stage"),
    ("single stage", "initialized"),
    ("initialized", "as printed"),
    ("initialized", "optimized"),
    ("single stage", "optimized"),
)
MODELS = tuple(np.geomspace(0.02, 1.28, 7).tolist())  # tradeoffs of CEGB, in units of the constant's loss per cost
UNDER, OVER = MODELS[1::2], (0.3, 1.0)  # models below cascades; tradeoffs of cascades in units of the model's
BOTH, CLOSE = "CEGB and cascades", 0.002  # as good on valid: at most this much less


def main() -> None:
    asked = options(
        __doc__,
        TABLES,
        known=KINDS,
        free=("synthetic",),
        over_cegb={"action": "store_true", "help": "cascades over CEGB in place of the ladder"},
        quick={"action": "store_true", "help": "one split, a third of the training rows, few trees and tradeoffs"},
        splits={"type": int, "default": 2},
        output=OUTPUT,
    )
    if asked.over_cegb and asked.tables == list(TABLES):
        asked.tables = list(TABLES_OVER_CEGB)
    panels = []
    for name in asked.tables:
        found = by_split(measure_split, name, 1 if asked.quick else asked.splits, asked.over_cegb, asked.quick)
        table = load_parts(name, 0, quick=asked.quick)
        ways = {way: several for (score, way), several in found.items() if score == table.kind.scores[0]}
        panels.append(Panel(name, table.kind.scores[0], table.costs.unit, table.costs.full_cost(), ways))
        figure, title = ("over_cegb", "Cascades over CEGB") if asked.over_cegb else ("ladder", "Ways to use one bank")
        draw(asked.output / f"cronus_{figure}", title, panels)
        for score in table.kind.scores:
            several = {way: points for (one, way), points in found.items() if one == score}
            print_claims(f"{name}, {score}", several, over_cegb=asked.over_cegb)
        for way in () if asked.over_cegb else list(LADDER)[1:]:
            cascades = [point for point in ways[way][0] if "levels" in point]
            shown = cheapest(cascades, NEAR * max(point["val"] for point in cascades))
            print(f"\n{name}, {way}, within 1 % of the best\n\n{levels_text(shown['levels'], table.costs)}", flush=True)
    print(f"\npictures in {asked.output}")


def measure_split(name: str, split: int, over_cegb: bool, quick: bool) -> dict[tuple[str, str], list[Point]]:
    """Fit all models of one split; return points by score and way, each way with the constant."""
    table = load_parts(name, split, quick=quick)
    plain = boost(table, split, TREES // (3 if quick else 1))
    found: dict[tuple[str, str], list[Point]] = defaultdict(list)
    constant = measure(table, prefix(plain, 0))
    for way, model, noted in (_over_cegb if over_cegb else _ladder)(table, plain, quick=quick):
        for score, point in measure(table, model).items():
            found[score, way] = found[score, way] or [constant[score]]
            found[score, way].append(point | noted)
    if over_cegb:
        for score in table.kind.scores:
            found[score, BOTH] = found[score, "CEGB"] + found[score, "cascade over CEGB"]
    return dict(found)


def boost(table: Table, seed: int, trees: int) -> cf.StageTree:
    """Boost trees without prices, of few columns each, and add them up."""
    rows = table.parts["bank"]
    settings = {"engine": "cart", "n_estimators": trees, "min_samples_leaf": _least_leaf(rows), "ridge": 0.01}
    model = cf.estimator("reweighted", costs=table.costs, tradeoff=0.0, random_state=seed, n_jobs=1, **settings)
    bank = model.fit(rows.X, rows.positive, sample_weight=rows.weight).predictor_.bank
    constant = 2 * np.average(rows.positive, weights=rows.weight) - 1
    return cf.StageTree(bank, (cf.Answer(np.arange(len(bank)), np.ones(len(bank)), [constant], "identity"),))


def _least_leaf(rows: Part) -> int:
    return int(np.clip(len(rows.X) // 400, 3, 20))


def _ladder(table: Table, plain: cf.StageTree, *, quick: bool) -> Iterator[tuple[str, cf.StageTree, Point]]:
    for share in PREFIXES[1:]:
        yield "greedy", prefix(plain, max(1, len(plain.bank) * share // 100)), {}
    row = np.geomspace(2.0, 0.02, 3 if quick else 4).tolist()
    test = table.parts["test"]
    for way, (algorithm, settings) in LADDER.items():
        for tradeoff in row[1::2] if way == "as printed" else row:
            model = fit_over(table, "train", algorithm, plain, tradeoff * table.price_of_loss("square"), settings)
            met = {} if algorithm == "reweighted" else follow_rows(model, table.costs, test.X, test.positive)
            yield way, model, {"levels": met} if met else {}


def _over_cegb(table: Table, plain: cf.StageTree, *, quick: bool) -> Iterator[tuple[str, cf.StageTree, Point]]:
    rows, seen = table.parts["all"], table.parts["choice"]
    settings = {"n_estimators": len(plain.bank), "learning_rate": 0.1, "min_samples_leaf": _least_leaf(rows)}
    settings |= {"max_leaves": 16, "l2_regularization": 1.0, "n_jobs": 1}
    weights = {"sample_weight": rows.weight, "sample_weight_val": seen.weight}
    for tradeoff in np.geomspace(2.0, 0.02, 4).tolist():
        price = tradeoff * table.price_of_loss("square")
        yield "cascade over plain trees", fit_over(table, "train", "cronus", plain, price, {}), {}
    for tradeoff in UNDER if quick else MODELS:
        model = cf.estimator("cegb", costs=table.costs, tradeoff=tradeoff * table.price_of_loss("log"), **settings)
        model.fit(rows.X, rows.positive, X_val=seen.X, y_val=seen.positive, **weights)
        whole = model.predictor_
        for count in dict.fromkeys(len(whole.bank) * share // 100 for share in PREFIXES):
            yield "CEGB", prefix(whole, count), {"tradeoff": tradeoff, "whole": count == len(whole.bank)}
        for times in OVER if tradeoff in UNDER and len(whole.bank) else ():
            price = tradeoff * times * table.price_of_loss("square")
            yield "cascade over CEGB", fit_over(table, "all", "cronus", whole, price, {}), {"tradeoff": tradeoff}


def fit_over(
    table: Table, part: str, algorithm: str, bank: cf.StageTree, tradeoff: float, settings: dict[str, Any]
) -> cf.StageTree:
    """Fit over a bank, a ranker for a ranking."""
    rows, seen = table.parts[part], table.parts["choice"]
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


def measure(table: Table, model: cf.StageTree) -> dict[str, Point]:
    """Return the model's point by each score of the table."""
    found: dict[str, Point] = {name: {} for name in table.kind.scores}
    for part, key in PARTS:
        rows = table.parts[part]
        cost = cf.ExpectedCost(table.costs).evaluate(model, rows.X, sample_weight=rows.weight, n_jobs=1).mean
        y, predictions = rows.grade if table.kind.ranking else rows.positive, model.decision_function(rows.X, n_jobs=1)
        for name, point in found.items():
            point |= {key: score_named(name)(y, predictions, rows.weight, rows.qid), f"{key}_cost": cost}
    return found


def print_claims(title: str, ways: dict[str, list[list[Point]]], *, over_cegb: bool) -> None:
    """Print whether one way is better than another, and what cascades save over models of CEGB."""
    over = (("CEGB", BOTH), ("CEGB", "cascade over CEGB"), ("cascade over plain trees", "cascade over CEGB"))
    claims = over if over_cegb else CLAIMS
    rows = [[f"{second} beats {first}", compare(ways[first], ways[second])] for first, second in claims]
    print(f"\n{markdown([title, 'verdict'], rows)}", flush=True)
    for tradeoff in UNDER if over_cegb else ():
        pairs = zip(ways["CEGB"], ways["cascade over CEGB"], strict=True)
        saved = np.array([_saving(tradeoff, *pair) for pair in pairs])
        ratio, kept = with_errors(saved.mean(axis=0), standard_error(saved), ".2f")
        print(f"over CEGB at {tradeoff:.2g}: {ratio} times its cost, {kept} points of score")


def _saving(tradeoff: float, models: list[Point], cascades: list[Point]) -> tuple[float, float]:
    """Return cost and gain on test of the cheapest cascade over a model that is as good on valid."""
    model = next(point for point in models if point.get("tradeoff") == tradeoff and point["whole"])
    over = [point for point in cascades if point.get("tradeoff") == tradeoff]
    best = cheapest([model, *over], model["val"] - CLOSE)
    ratio = best["test_cost"] / model["test_cost"] if model["test_cost"] else 1.0
    return ratio, 100 * (best["test"] - model["test"])


if __name__ == "__main__":
    main()
