"""Needs ../shared, but for quadrants: the figures and claims of the CSTC paper (ICML 2013) on public tables.

    python benchmarks/cstc_paper.py --quick             # the synthetic experiment, a ranking and a table of classes
    python benchmarks/cstc_paper.py --output figures    # all tables, five re-splits each

"quadrants" is the synthetic experiment of section 5.1. On the other tables (section 5.2), a tree of classifiers, a
cascade and a single stage use one bank at each tradeoff: by default trees that pay for their features at this tradeoff,
and as printed (`recipe="paper"`) trees that know no prices. Beside them are Greedy Miser and CEGB (paths of models of
one fit, and Greedy Miser as printed), boosting without prices and early exit. At each budget the best model on valid is
scored on test.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from harness.experiment import Claim, better, by_split, measure_all, paper_options, report_claims
from harness.fits import fit_on_train, path_points, prefix_points, tradeoffs
from harness.pictures import Panel, draw
from harness.points import NEAR, cheapest, follow_rows, measure, measure_constant
from harness.quadrants import CLAIMED, draw_quadrants, fit_quadrants, measure_quadrants
from harness.tables import SCORES, fewer_rows, fitting_rows, load, single_prices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from costframe.datasets import Dataset
    from harness.points import Level, Point

TABLES = ("quadrants", "mslr", "nhanes", "letter", "heart")
QUICK = ("quadrants", "mslr", "heart")
ROWS, QUICK_ROWS = 4_000, 2_000  # most training rows
SINGLE, CASCADE, TREE, PRINTED = "single stage", "Cronus", "CSTC", ", as printed"
ALGORITHMS = {SINGLE: "reweighted", CASCADE: "cronus", TREE: "cstc"}
MISER, CEGB, PLAIN, EXIT = "Greedy Miser", "CEGB", "GBRT", "early exit"
PATHS = {MISER: "miser", CEGB: "cegb", PLAIN: "boosting", EXIT: "early-exit"}
PARTNERS = (SINGLE, CASCADE, MISER, CEGB, PLAIN, EXIT)
MOST, LEAST = 3.0, 0.03  # tradeoffs, in units of the loss of CSTC's best constant per cost of all features


def main() -> None:
    asked = paper_options(__doc__, TABLES, quick=QUICK, known=[*SCORES, "quadrants"], free=("quadrants",))
    found = measure_all(measure_split, asked, asked.quick)
    real = {table: ways for table, ways in found.items() if table != "quadrants"}
    for figure, title, end in (("default", "by default", ""), ("printed", "as printed", PRINTED)):
        panels = [_panel(table, ways, end) for table, ways in real.items()]
        if panels:
            draw(asked.output / f"cstc_5_2_{figure}", f"Trees of classifiers and all else, {title}", panels)
    for table, ways in found.items():
        for kind, written in ways["picture"][0][0].items():
            (asked.output / f"cstc_tree_{table}.{kind}").write_bytes(written)
    report_claims("cstc", claims(found), asked)


def measure_split(table: str, split: int, quick: bool) -> dict[str, list[Any]]:
    """Fit all ways on one split; return points by way, and the picture of a tree."""
    if table == "quadrants":
        return measure_synthetic(split, quick=quick)
    data = fewer_rows(load(table, split), QUICK_ROWS if quick else ROWS)
    score, rounds = SCORES[table], 40 if quick else 100
    found = defaultdict[str, list[Any]](lambda: [measure_constant(data, score)])
    for way, algorithm in PATHS.items():
        settings = {} if way == EXIT else {"n_estimators": rounds}
        found[way] += path_points(data, algorithm, score, settings)
    trees = []
    for tradeoff in tradeoffs(data, MOST, LEAST, 3 if quick else 4):
        whole = fit_on_train(data, "miser", tradeoff, recipe="paper", n_estimators=rounds)
        found[MISER + PRINTED] += prefix_points(data, whole, score)
        for way in ALGORITHMS:
            for end, given in (("", {}), (PRINTED, {"recipe": "paper", "engine": "cart"})):
                tree = fit(data, way, tradeoff, rounds, given)
                noted = follow(data, tree) if way == TREE else {}
                found[way + end].append(measure(data, tree, score, **noted))
                trees += [(found[way + end][-1], tree)] if way + end == TREE else []
    chosen = shown([point for point, _ in trees])
    tree = next(tree for point, tree in trees if point is chosen)
    return {**found, "picture": [draw_stages(tree, data)]}


def measure_synthetic(seed: int, *, quick: bool) -> dict[str, list[Any]]:
    """Fit by both recipes at the paper's tradeoffs."""
    data, found = draw_quadrants(seed), {}
    for way, recipe in ((TREE, None), (TREE + PRINTED, "paper")):
        models = [fit_quadrants(data, at, recipe) for at in (CLAIMED[1::2] if quick else CLAIMED)]
        found[way] = [measure_quadrants(data, model.predictor_) for model in models]
        picture = found.setdefault("picture", [draw_stages(models[0], data)])
    return {**found, "picture": picture}


def draw_stages(model: Any, data: Dataset) -> dict[str, bytes]:
    """Draw a model's stages with test rows, as "png" and "svg"."""
    test = data.part("test")
    picture = cf.plot.StagesDisplay.of(model, test.X, test.y, data.costs, n_jobs=1)
    return {kind: picture.to_bytes(kind) for kind in ("png", "svg")}


def fit(data: Dataset, way: str, tradeoff: float, rounds: int, given: dict[str, Any]) -> cf.StageTree:
    """Fit over a bank of the algorithm's own."""
    costs = {"costs": data.costs, "tradeoff": tradeoff, "n_estimators": rounds, "n_jobs": 1}
    fitted: cf.StageTree = (
        cf.estimator(ALGORITHMS[way], data.task, **costs, **given).fit(**fitting_rows(data)).predictor_
    )
    return fitted


def follow(data: Dataset, tree: cf.StageTree) -> dict[str, Any]:
    """Return what rows acquire at each depth, and how far the features of different ends are apart, from 0 to 1."""
    test = data.part("test")
    levels = follow_rows(tree, data.costs, test.X, np.ones(len(test.X)))
    report = cf.ExpectedCost(data.costs).evaluate(tree, test.X, n_jobs=1)
    ends = tree.exits(test.X, n_jobs=1)
    sets = [report.acquired[ends == end].mean(axis=0) > 0 for end in np.unique(ends)]
    pairs = [1 - (one & other).sum() / max((one | other).sum(), 1) for one, other in combinations(sets, 2)]
    return {"levels": levels, "apart": float(np.mean(pairs)) if pairs else np.nan}


def shown(points: list[Point]) -> Point:
    """Return the cheapest tree with routes within 1 % of the best of them on valid, or of all if none has routes."""
    deep = [point for point in points if len(point["levels"]) > 1] or points
    return cheapest(deep, min(NEAR * max(point["val"] for point in deep), max(point["val"] for point in deep)))


def _panel(table: str, ways: Mapping[str, Any], end: str) -> Panel:
    data = load(table, 0)
    names = [name + end if name + end in ways else name for name in (*PARTNERS, TREE)]
    names = [name for name in names if name in ways and not (end and name == CEGB)]
    return Panel(table, SCORES[table], data.costs.unit, data.full_cost, {name: ways[name] for name in names})


def claims(found: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """Return what the paper says, in its order."""
    several, real = [], {table: ways for table, ways in found.items() if table != "quadrants"}
    synthetic = {table: ways for table, ways in found.items() if table == "quadrants"}
    for way in (TREE, TREE + PRINTED):
        for key, text in (
            ("perfect", f"5.1: {way} makes no error at a cost of 12"),
            ("ordered", f"5.1: {way} buys both signs first and one expensive feature after"),
        ):
            unit = "% of its fits, beyond half"
            several.append(by_split(text, synthetic, (way,), _share_of(key), unit))
    for end in ("", PRINTED):
        partners = [name + end for name in (SINGLE, CASCADE, MISER)] + [PLAIN, EXIT, *([] if end else [CEGB])]
        several += [better(f"5.2: {TREE}{end} beats {one}", real, one, TREE + end) for one in partners]
        text = f"learned tree{end}: the root buys more of the cheap features than of the expensive ones"
        several.append(by_split(text, real, (TREE + end,), _root_shares, "% of them"))
        text = f"learned tree{end}: different ends have different features"
        several.append(by_split(text, real, (TREE + end,), _apart, "% apart, beyond a tenth"))
    return several


def _share_of(key: str) -> Any:
    return lambda _table, points: 100 * (np.mean([point[key] for point in points]) - 0.5)


def _trees(points: list[Point]) -> list[Point]:
    return [point for point in points if len(point.get("levels", ())) > 1]


def _apart(_table: str, points: list[Point]) -> float:
    found = [point["apart"] for point in _trees(points) if not np.isnan(point["apart"])]
    return float(100 * (np.mean(found) - 0.1)) if found else np.nan


def _root_shares(table: str, points: list[Point]) -> float:
    """Return how much of the cheap features a row acquires at the root, less that of the expensive ones."""
    prices = single_prices(load(table, 0).costs)
    shares = []
    for kind in (prices < prices.max() / 2, prices >= prices.max() / 2):
        root, whole = (sum(_acquired(point["levels"], at, kind) for point in _trees(points)) for at in (0, -1))
        shares.append(root / whole if whole else np.nan)
    return 100 * (shares[0] - shares[1])


def _acquired(levels: list[Level], at: int, chosen: np.ndarray) -> float:
    return float(levels[at].acquired[chosen].sum())


if __name__ == "__main__":
    main()
