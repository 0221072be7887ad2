"""Needs ../shared, but for synthetic and scenes: the figures and claims of the Greedy Miser paper (ICML 2012).

    python benchmarks/miser_paper.py --quick            # small tables
    python benchmarks/miser_paper.py --output figures   # all tables, five re-splits each

The rankings are mslr and a drawn one (synthetic); scenes, drawn rows of ten classes
whose features share descriptors, stand in for Scene-15. Greedy Miser is fitted as printed (`recipe="paper"`) and by
default, at a row of tradeoffs; plain boosting is tradeoff 0, and the first trees of each fit are models too. Its
partners are boosting on features up to a price, early exit (by proximity to a query's fifth best row, or by
confidence), Cronus (rankings) and a support vector machine on all features (scenes). At each budget the best model on
valid is scored on test.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

import costframe as cf
from costframe.training.scoring import score_named
from harness.experiment import Claim, better, by_split, measure_all, paper_options, report_claims, saved_beyond
from harness.fits import PREFIXES, fit_on_train, path_points, tradeoffs
from harness.pictures import Panel, draw, dress, pale_to_dark, sheet
from harness.points import NEAR, PARTS, measure, prefix
from harness.scenes import draw_scenes
from harness.tables import SCORES, fewer_rows, fitting_rows, load, single_prices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from costframe.datasets import Dataset
    from harness.points import Point

TABLES = ("mslr", "synthetic", "scenes")
KNOWN = {**SCORES, "scenes": "accuracy"}
ROWS, QUICK_ROWS = 12_000, 2_000  # most training rows
PRINTED, DEFAULT, PLAIN = "Greedy Miser, as printed", "Greedy Miser, default", "plain boosting"
SUBSETS, EXIT, CRONUS, SVM = "features up to a price", "early exit", "Cronus", "SVM"
REACHED = {PRINTED: 0.10, DEFAULT: 0.10, CRONUS: 0.25, EXIT: 0.50}  # shares of plain boosting's cost, in the paper


def main() -> None:
    asked = paper_options(__doc__, TABLES, quick=TABLES, known=KNOWN, free=("synthetic", "scenes"))
    found = measure_all(measure_split, asked, asked.quick)
    curves = [one for table, ways in found.items() for one in _curves(table, ways)]
    draw(asked.output / "miser_1_traces", "Trees are added at each tradeoff λ, first split", curves, shades=True)
    draw(asked.output / "miser_1_3", "Greedy Miser and its partners", [_panel(*each) for each in found.items()])
    with sheet(asked.output / "miser_2", "Features that Greedy Miser extracts", EXTRACTED, len(found)) as places:
        for axes, (table, ways) in zip(places, found.items(), strict=True):
            _draw_extracted(axes, table, ways[PRINTED])
    report_claims("miser", claims(found), asked)


EXTRACTED = "Share of the features (descriptors) of each price that the best model on valid reads, as printed."


def measure_split(table: str, split: int, quick: bool) -> dict[str, list[Point]]:
    """Fit all ways on one split; return points by way, each way with the constant."""
    data = draw_scenes(split) if table == "scenes" else load(table, split)
    data = fewer_rows(data, QUICK_ROWS if quick else ROWS)
    rounds, score = 30 if quick else 80, KNOWN[table]
    grid = [0.0, *tradeoffs(data, 1e-2, 3.0, 3 if quick else 5)]
    found = {
        PRINTED: [point for at in grid for point in _boosted(data, at, rounds, recipe="paper")],
        DEFAULT: [point for at in grid for point in _boosted(data, at, rounds)],
    }
    found[PLAIN] = [point for points in found.values() for point in points if point["tradeoff"] == 0]
    constant = found[PLAIN][:1]
    trees = {"n_estimators": rounds, "max_depth": 3}
    found[SUBSETS] = constant + path_points(data, "affordable", score, trees)
    plain = fit_on_train(data, "miser", 0.0, n_estimators=rounds, recipe="paper")
    found[EXIT] = constant + path_points(data, "early-exit", score, {"model": plain})
    if data.task == "ranking":
        row = tradeoffs(data, 2.0, 0.02, 3 if quick else 5)
        found[CRONUS] = constant + [_cronus(data, at, rounds) for at in row]
    else:
        found[SVM] = [*constant, _machine(data)]
    return found


def _boosted(data: Dataset, tradeoff: float, rounds: int, **settings: Any) -> list[Point]:
    """Fit Greedy Miser, and measure the models of more and more trees."""
    whole, points = fit_on_train(data, "miser", tradeoff, n_estimators=rounds, **settings), []
    for share in PREFIXES:
        first = prefix(whole, len(whole.bank) * share // 100)
        bought = np.asarray(first.bank.F.sum(axis=1)).ravel() > 0
        points.append(measure(data, first, KNOWN[data.name], tradeoff=tradeoff, trees=share, bought=bought))
    return points


def _cronus(data: Dataset, tradeoff: float, rounds: int) -> Point:
    model = cf.estimator("cronus", "ranking", costs=data.costs, tradeoff=tradeoff, n_estimators=rounds, n_jobs=1)
    return measure(data, model.fit(**fitting_rows(data)).predictor_, KNOWN[data.name])


def _machine(data: Dataset) -> Point:
    """Fit a support vector machine, which reads all features of all rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    train, score, point = data.part("train"), score_named(KNOWN[data.name]), {}
    machine = make_pipeline(StandardScaler(), SVC()).fit(train.X, train.y)
    for part, key in PARTS:
        rows = data.part(part)
        chosen = np.eye(len(data.classes))[data.codes(machine.predict(rows.X))]
        point |= {key: float(score(data.codes(rows.y), chosen, None, None)), f"{key}_cost": data.full_cost}
    return point


def _panel(table: str, ways: Mapping[str, Any]) -> Panel:
    data = draw_scenes(0) if table == "scenes" else load(table, 0)
    return Panel(table, KNOWN[table], data.costs.unit, data.full_cost, ways)


def _curves(table: str, ways: Mapping[str, Any]) -> list[Panel]:
    """Put the traces of the first split in a panel, a line for each tradeoff."""
    points = [point for point in ways[PRINTED][0] if point["val_cost"] > 0]
    lines = {
        at: [point for point in points if point["tradeoff"] == at] for at in {one["tradeoff"]: 0 for one in points}
    }
    return [attrs.evolve(_panel(table, {}), ways={f"λ = {at:.1g}": [one] for at, one in lines.items()})]


def _draw_extracted(axes: Axes, table: str, several: list[list[Point]]) -> None:
    """Draw the share of features of each price that the best model on valid reads, against the tradeoff."""
    grid = sorted({point["tradeoff"] for point in several[0]})
    prices = _price_groups(table)
    best = [_best_of_each(points) for points in several]
    groups = np.unique(prices)
    for price, color in zip(groups, pale_to_dark(len(groups)), strict=True):
        share = np.mean([[point["bought"][prices == price].mean() for point in points] for points in best], axis=0)
        label = f"price {price:g} ({int((prices == price).sum())} features)"
        axes.plot(range(len(grid)), share, "o-", color=color, ms=4, label=label, alpha=0.9)
    axes.set_xticks(range(len(grid)), [f"{at:.1g}" for at in grid])
    axes.set_ylim(0, 1.03)
    axes.legend(fontsize=7, frameon=False)
    dress(axes, table, "tradeoff λ", "share of the features that are read")


def _price_groups(table: str) -> np.ndarray:
    """Return a price of each feature, rounded to few groups: float64 (d,)."""
    data = draw_scenes(0) if table == "scenes" else load(table, 0)
    prices = single_prices(data.costs)
    groups = np.array([1, 5, 20, 50, 100, 150, 200])
    return np.asarray(groups[np.abs(np.log(prices[:, None]) - np.log(groups)).argmin(axis=1)], np.float64)


def _best_of_each(points: list[Point]) -> list[Point]:
    """Return the best model on valid at each tradeoff, by ascending tradeoff."""
    grid = sorted({point["tradeoff"] for point in points})
    return [max(_at(points, at), key=lambda one: one["val"]) for at in grid]


def _at(points: list[Point], tradeoff: float) -> list[Point]:
    return [point for point in points if point["tradeoff"] == tradeoff]


def claims(found: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """Return what the paper says, in its order."""
    several = []
    for way, most in REACHED.items():
        text = f"1, 3: {way} is within 1 % of plain boosting at {most:.0%} of its cost"
        several.append(by_split(text, found, (way, PLAIN), partial(_below, most), "% of cost"))
    for way in (PRINTED, DEFAULT):
        several += [better(f"1, 3: {way} beats {one}", found, one, way) for one in (PLAIN, SUBSETS, EXIT, CRONUS)]
    text = "2: with a larger λ it reads fewer expensive features"
    several.append(by_split(text, found, (PRINTED,), _fewer_dear, "% of them"))
    text = "2: some expensive feature is read from early trees on, at all λ within 1 %"
    several.append(by_split(text, found, (PRINTED,), _early_dear, "% of λ, beyond half"))
    return several


def _below(most: float, _table: str, points: list[Point], plain: list[Point]) -> float:
    return saved_beyond(most, points, plain)


def _fewer_dear(table: str, points: list[Point]) -> float:
    """Return by how many per cent fewer expensive features are read at the largest tradeoff than without."""
    dear = _price_groups(table) >= 100
    first, *_, last = _best_of_each(points)
    return float(100 * (first["bought"][dear].mean() - last["bought"][dear].mean()))


def _early_dear(table: str, points: list[Point]) -> float:
    """Return the share of good tradeoffs, less half, at which the first eighth of the trees reads an expensive one."""
    dear, best = _price_groups(table) >= 100, max(point["val"] for point in points)
    good = [at for at in {one["tradeoff"] for one in points} if max(p["val"] for p in _at(points, at)) >= NEAR * best]
    bought = [any(p["bought"][dear].any() for p in _at(points, at) if p["trees"] <= 12) for at in good]
    return float(100 * (np.mean(bought) - 0.5))


if __name__ == "__main__":
    main()
