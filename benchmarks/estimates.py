"""Measures estimates on drawn tables with known truth: what a study states, what fresh rows pay, and simple rivals.

    python benchmarks/estimates.py run OUT.jsonl [--families rare noise ...] [--seeds 3] [--algorithms planner]
    python benchmarks/estimates.py summary OUT.jsonl [OTHER.jsonl ...]

`run` draws a table of each family for each seed, sweeps it as `costframe compare` does, with prices of errors ("bill")
and without ("score"), and evaluates all points on 20,000 fresh rows; truth is the expectation over the classes of these
rows, by their true probabilities. It appends a line of JSON for each study, and skips studies whose line is there.

`summary` prints how often 90 % intervals hold the truth, for all points and for the chosen ones: recommended, cheapest,
and recommended within a quarter of the cost of all features. An "error" is (stated - true) / standard error: above
zero, they are stated too high, below zero too low. Rivals are those that anyone would try first, trained on the
same rows (train and valid): the ratio is that of the true bill of the recommended point to the best rival's, which the
fresh rows choose; without bills, the gain is over the best rival's score at no higher cost.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one study at a time on one thread, so that seconds compare

import numpy as np
import pandas as pd
from attrs import frozen
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import costframe as cf
from costframe.comparison.statistics import standard_error
from costframe.datasets import Dataset
from costframe.study.estimates import NINE_OF_TEN
from costframe.study.score_choice import choose_score_of_study
from costframe.training.scoring import score_named, with_labels
from harness.families import FAMILIES, draw_classes
from harness.points import markdown, with_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from costframe.study.points import Point

    Floats = np.ndarray[Any, np.dtype[np.float64]]

KINDS = ("bill", "score")
BUDGET = 0.25  # share of the cost of all features
CHOICES = ("recommended", "cheapest", "budget")
KEY = ("family", "seed", "kind", "algorithms", "rows", "fresh")  # of a study
FIGURES = ("stated", "error", "low", "high", "true")


@frozen(eq=False)
class Fresh:
    """Fresh rows, X (n, d), with the chances of their classes, (n, K)."""

    data: Dataset
    X: Floats
    chances: Floats

    def score(self, predictions: Floats) -> float:
        """Return the expected score of predictions, (n,) or (n, K): each row stands once for each class."""
        n, k = self.chances.shape
        several = np.tile(np.arange(n), k)
        name = choose_score_of_study(self.data, None)
        score = score_named(with_labels(name, np.array(self.data.classes), self.X[several]))
        return float(score(np.repeat(np.arange(k), n), predictions[several], self.chances.T.ravel(), None))

    def measure(self, model: Any) -> tuple[float, float]:
        """Return the true score and cost of a model."""
        report = cf.ExpectedCost(self.data.costs).evaluate(model.predictor_, self.X, n_jobs=1)
        assert report.predictions is not None  # noqa: S101 - routing is hard
        return self.score(report.predictions), report.mean


def study(family: str, seed: int, kind: str, algorithms: list[str] | None, rows: int, fresh: int) -> dict[str, Any]:
    """Return what a sweep of one drawn table states of its points, what is true, and what rivals reach."""
    given, rng = FAMILIES[family], np.random.default_rng([seed, 53])
    X, chances = given.sample(rows, rng)
    costs = given.costs(errors=kind == "bill")
    y = draw_classes(chances, rng)
    data = Dataset.from_arrays(X, y, costs, feature_names=costs.names, seed=seed, name=family)
    truth = Fresh(data, *given.sample(fresh, rng))
    budget, began = BUDGET * data.full_cost, time.process_time()
    frontier = cf.Frontier.sweep(data, algorithms, budget=budget, n_jobs=1)
    seconds = time.process_time() - began  # steadier than the clock where others compute too
    within = min(point.cost for point in frontier) <= budget
    picked = (frontier.recommended(), frontier.cheapest(), *([frontier.recommended(budget)] if within else []))
    return {
        "seconds": round(seconds, 2),
        "score": frontier.score_name,
        "chosen": {how: point.name for how, point in zip(CHOICES, picked, strict=False)},
        "points": {point.name: figures(frontier, point, truth) for point in frontier},
        "rivals": {name: {"score": score, "cost": cost} for name, score, cost in rivals(truth)},
    }


def figures(frontier: cf.Frontier, point: Point, truth: Fresh) -> dict[str, list[float]]:
    """Return, for score, cost and bill: stated value, standard error, ends of the 90 % interval, true value."""
    score, cost = truth.measure(frontier.model(point))
    margin = NINE_OF_TEN * point.cost_error
    found = {
        "score": (point.score, point.score_error, *frontier.score_interval(point), score),
        "cost": (point.cost, point.cost_error, point.cost - margin, point.cost + margin, cost),
    }
    if frontier.has_bills:
        bill, error = frontier.bill(point), frontier.bill_error(point)
        found["bill"] = (bill, error, *frontier.bill_interval(point), cost - score)
    return {name: [float(f"{value:.7g}") for value in each] for name, each in found.items()}


def rivals(truth: Fresh) -> Iterator[tuple[str, float, float]]:
    """Yield the name, true score and cost of each model that anyone would try first."""
    data = truth.data
    seen = data.split != "test"
    X, y, paid = data.X[seen], data.y[seen], data.costs.select(data.feature_names).alone
    shares = np.bincount(y) / len(y)
    yield "constant", truth.score(_as_binary(np.tile(shares, (len(truth.X), 1)))), 0.0
    sets = {"free": np.flatnonzero(paid == 0), "all": np.arange(len(paid))}
    for name, columns in sets.items():
        if len(columns):
            cost = data.costs.full_cost([data.feature_names[f] for f in columns])
            for title, model in (("logistic", _logistic()), ("boosting", _boosting())):
                fitted = model.fit(X[:, columns], y)
                yield f"{title}, {name}", truth.score(_as_binary(fitted.predict_proba(truth.X[:, columns]))), cost


def _as_binary(p: Floats) -> Floats:
    return p[:, 1] if p.shape[1] == 2 else p


def _logistic() -> Any:
    regression = LogisticRegressionCV(
        Cs=6, cv=5, l1_ratios=(0,), scoring="neg_log_loss", max_iter=500, use_legacy_attributes=False
    )
    return make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), regression)


def _boosting() -> Any:
    return HistGradientBoostingClassifier(learning_rate=0.06, max_iter=100, max_leaf_nodes=8, random_state=0)


def run(given: argparse.Namespace) -> None:
    """Append the missing studies to a file."""
    done = {tuple(map(str, map(one.get, KEY))) for one in read(given.output)} if given.output.exists() else set()
    for seed in range(given.first, given.first + given.seeds):
        for family in given.families:
            for kind in given.kinds:
                rows = given.rows or FAMILIES[family].rows
                key = dict(zip(KEY, (family, seed, kind, given.algorithms, rows, given.fresh), strict=True))
                if tuple(map(str, key.values())) in done:
                    continue
                found = key | study(**key)
                with given.output.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                stated = found["points"][found["chosen"]["recommended"]][kind]
                text = ", ".join(f"{name} {value:.4g}" for name, value in zip(FIGURES, stated, strict=True))
                print(f"{family} {seed} {kind}: {text} ({found['seconds']:.0f} s)", flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def summarize(given: argparse.Namespace) -> None:
    """Print a table for each file and kind of study."""
    for path in given.files:
        for kind in KINDS:
            studies = [one for one in read(path) if one["kind"] == kind]
            studies = [one for one in studies if not given.families or one["family"] in given.families]
            if studies:
                print(f"\n{path}, {kind}\n\n{table(studies, kind, given.choices)}", flush=True)


def table(studies: list[dict[str, Any]], kind: str, choices: Collection[str]) -> str:
    """Return a row for each family, and one for all."""
    what = ["score", "cost", "bill"][: 3 if kind == "bill" else 2]
    heads = [f"{which} {name}" for which in ("all:", "chosen:", "error:") for name in what]
    lines = []
    for family in [*dict.fromkeys(one["family"] for one in studies), "all"]:
        some = [one for one in studies if family in {one["family"], "all"}]
        points = pd.DataFrame([row for one in some for row in _rows(one, choices)])
        held = points.assign(held=_holds(points)).groupby("what").held
        chosen = points[points.chosen]
        held_chosen = chosen.assign(held=_holds(chosen)).groupby("what").held
        known = chosen[chosen.error > 0]
        off = ((known.stated - known.true) / known.error).groupby(known.what).mean()
        cells = [f"{means.get(name, np.nan):.0%}" for means in (held.mean(), held_chosen.mean()) for name in what]
        cells += [f"{off[name]:+.2f}" if name in off else "-" for name in what]
        against = np.array([_against_rivals(one, kind) for one in some])
        cells += with_errors([np.mean(against)], [standard_error(against)], ".3f" if kind == "bill" else "+.3f")
        cells.append(f"{np.mean([one['seconds'] for one in some]):.0f}")
        lines.append([family, str(len(some)), *cells])
    return markdown(["family", "studies", *heads, "ratio" if kind == "bill" else "gain", "s"], lines)


def _rows(one: dict[str, Any], choices: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each point and each of score, cost and bill."""
    chosen = {name for how, name in one["chosen"].items() if how in choices}
    for name, point in one["points"].items():
        for what, values in point.items():
            yield {"what": what, "chosen": name in chosen, **dict(zip(FIGURES, values, strict=True))}


def _holds(points: pd.DataFrame) -> pd.Series:
    """Return whether intervals hold the truth, up to rounding."""
    near = 1e-6 * (1 + points.true.abs())
    return (points.low - near <= points.true) & (points.true <= points.high + near)


def _against_rivals(one: dict[str, Any], kind: str) -> float:
    """Return the ratio of the recommended bill to the best rival's; or the gain over rivals of no higher cost."""
    point = one["points"][one["chosen"]["recommended"]]
    if kind == "bill":
        return float(point["bill"][-1] / min(rival["cost"] - rival["score"] for rival in one["rivals"].values()))
    cost = point["cost"][-1] + 1e-9
    return float(point["score"][-1] - max(each["score"] for each in one["rivals"].values() if each["cost"] <= cost))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("output", type=Path)
    running.add_argument("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES])
    running.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    running.add_argument("--seeds", type=int, default=3, help="number of tables of a family")
    running.add_argument("--first", type=int, default=0, help="first seed")
    running.add_argument("--algorithms", nargs="+", help="by default the usual ones")
    running.add_argument("--rows", type=int, help="rows of each table, by default the family's")
    running.add_argument("--fresh", type=int, default=20_000, help="fresh rows")
    running.set_defaults(action=run)
    showing = commands.add_parser("summary")
    showing.add_argument("files", nargs="+", type=Path)
    showing.add_argument("--families", nargs="+", choices=FAMILIES)
    showing.add_argument("--choices", nargs="+", choices=CHOICES, default=CHOICES, help="which points are chosen ones")
    showing.set_defaults(action=summarize)
    given = parser.parse_args()
    given.action(given)


if __name__ == "__main__":
    main()
