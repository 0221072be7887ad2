"""Needs ../shared: what rows save that end as soon as their class is certain, or their score within epsilon.

    python benchmarks/certain.py [heart thyroid nhanes sat12 letter | foreign]

On tables: 100 boosted trees of costframe, and adopted ones of XGBoost and LightGBM, at the tables' prices. On foreign
models: every file that is adopted, at a price of one for each feature, on rows drawn from its own thresholds, which are
harder than real rows. One thread.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

import costframe as cf
from costframe.errors import AdoptionError, ParameterError
from harness.points import markdown
from harness.tables import SHARED, load, options
from harness.timing import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from costframe.core.stages.certain import Until

TABLES = ("heart", "thyroid", "nhanes", "sat12", "letter")
GOALS: tuple[Until, ...] = ("class", 0.1, 0.5)
TREES, MOST = 100, 1000  # rounds of boosting; rows
COLUMNS = ("cost, rows early, rounds at " + (goal if isinstance(goal, str) else f"{goal:g}") for goal in GOALS)
HEADER = ["model", "features", "trees", "cost", *COLUMNS, "rows/s whole", "rows/s by class"]


def main() -> None:
    chosen = options(__doc__, (*TABLES, "foreign"), known=(*TABLES, "foreign")).tables
    rows = [measure(*each) for name in chosen for each in (foreign() if name == "foreign" else trained(name))]
    print(markdown(HEADER, rows))


def trained(name: str) -> Iterator[tuple[str, cf.StageTree, np.ndarray, cf.CostModel]]:
    """Train on a table; yield models with test rows and prices."""
    data = load(name, 0)
    train, test = data.part("train"), data.part("test")
    model = cf.estimator("cegb", data.task, costs=data.costs, tradeoff=0.0, n_estimators=TREES, n_jobs=1)
    yield f"{name}, cegb", model.fit(train.X, train.y).predictor_, test.X[:MOST], data.costs
    for library, classifier in (("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")):
        quiet = {"verbose": -1, "num_leaves": 31} if library == "lightgbm" else {"max_depth": 5}
        kind = getattr(__import__(library), classifier)
        given = kind(n_estimators=TREES, learning_rate=0.1, n_jobs=1, **quiet).fit(train.X, data.codes(train.y))
        yield f"{name}, {library}", cf.adopt(given, feature_names=data.feature_names), test.X[:MOST], data.costs


def foreign() -> Iterator[tuple[str, cf.StageTree, np.ndarray, cf.CostModel]]:
    """Adopt the models that others have published; yield them with drawn rows, one price for each feature."""
    for path in sorted(path for path in (SHARED / "foreign").glob("*/*") if path.suffix not in {".md", ".tsv"}):
        try:
            model = cf.adopt(path)
        except AdoptionError:
            continue
        yield path.parent.name + "/" + path.name, model, draw_rows(model), cf.CostModel.uniform(model.feature_names)


def draw_rows(model: cf.StageTree) -> np.ndarray:
    """Draw each feature's values from its thresholds and categories: one of them, or next above."""
    trees, rng = model.bank.trees, np.random.default_rng(0)
    X = rng.normal(size=(MOST, len(model.feature_names)))
    named = np.repeat(trees.feature, trees.category_count)
    for f in range(X.shape[1]):
        values = np.concatenate([trees.threshold[trees.feature == f], trees.categories[named == f]])
        values = np.unique(values[np.isfinite(values)])
        if len(values):
            X[:, f] = rng.choice(np.concatenate([values, np.nextafter(values, np.inf)]), MOST)
    return X


def measure(name: str, model: cf.StageTree, X: np.ndarray, costs: cf.CostModel) -> list[str]:
    """Return a line of the table; every early answer is compared with the whole one."""
    model = model.with_costs(costs)
    whole = model.cost(X)
    cells = [measure_until(name, model, X, whole, until) for until in GOALS]
    with clock() as took:
        model.decision_function(X, n_jobs=1)
    speeds = [f"{len(X) / took['seconds']:,.0f}", cells[0][1]]
    print(name, *(cell for cell, _ in cells), *speeds, sep=" | ", file=sys.stderr, flush=True)
    counts = [str(len(model.used_features)), str(len(model.bank)), f"{whole.mean:.4g}"]
    return [name, *counts, *(cell for cell, _ in cells), *speeds]


def measure_until(name: str, model: cf.StageTree, X: np.ndarray, whole: cf.CostReport, until: Until) -> tuple[str, str]:
    """Return what rows save, and rows a second; dashes for a model without classes."""
    try:
        ending = cf.certain(model, until)
    except ParameterError:
        return "-", "-"
    report = ending.cost(X, rounds=True)
    with clock() as took:
        early = ending.decision_function(X, n_jobs=1)
    if until == "class":
        right = np.array_equal(classes(model, report.predictions), classes(model, whole.predictions))
    else:
        right = np.abs(early - model.decision_function(X)).max() <= until
    if not right:
        sys.exit(f"{name}, until={until!r}: the answer of a row is wrong")
    share = report.mean / whole.mean if whole.mean else 1.0
    cell = f"{share:.0%}, {np.mean(report.cut):.0%}, {np.mean(report.rounds):.1f}"
    return cell, f"{len(X) / took['seconds']:,.0f}"


def classes(model: cf.StageTree, p: np.ndarray) -> np.ndarray:
    """Return the class of each row: p > 1/2, or the first largest; or several yes or no, if they are no classes."""
    several = p.ndim == 1 or (model.links == ("sigmoid",) and model.classes is None)
    return p > 0.5 if several else p.argmax(axis=1)


if __name__ == "__main__":
    main()
