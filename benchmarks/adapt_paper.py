"""Needs ../shared: savings of Adapt within 1 % of an expensive model on real tables, beside LightGBM's CEGB.

    python benchmarks/adapt_paper.py [letter thyroid nhanes cover] [--splits 1] [--gates 1 2] [--models xgboost]

The expensive models are a random forest and an RBF support vector machine on letter, as in the paper, and 300 boosted
trees of xgboost elsewhere, priced on their paths. "Saved within 1 %" is as in ../shared/bench: the cheapest model whose
validation score is at least 99 % of the best one's, at the cost of all features; "of the expensive model" is the
cheapest within 1 % of the expensive model on validation rows, with its saving of that model's own cost. All scores
are of test rows. Split 0 is the table's own, others are drawn by seed.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

import costframe as cf
from harness.points import HEAD, NEAR, budget_row, cheapest, figures, markdown, measure, measure_constant
from harness.sides import lightgbm_points
from harness.tables import SCORES, fitting_rows, load, options
from harness.timing import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.points import Point

TABLES = ("letter", "thyroid", "nhanes", "cover")


def boosted() -> Any:
    """Boost 300 trees."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=300, max_depth=6, learning_rate=0.1, n_jobs=2)


MODELS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(200, n_jobs=2, random_state=0),
    "svm": lambda: CalibratedClassifierCV(SVC(C=10, gamma=0.1), ensemble=False),  # cells of 16 levels, as they are
    "xgboost": boosted,
}


def main() -> None:
    asked = options(
        __doc__,
        TABLES,
        splits={"type": int, "default": 1},
        gates={"type": int, "nargs": "*", "default": [1], "help": "how many in front of the expensive model"},
        models={"nargs": "*", "choices": list(MODELS), "default": list(MODELS)},
        no_lightgbm={"action": "store_true"},
    )
    for name in asked.tables:
        models = [one for one in asked.models if (one == "xgboost") == (name != "letter")]
        rows = [] if asked.no_lightgbm else [measure_lightgbm(name, asked.splits)]
        rows += [measure_adapt(name, asked.splits, model, gates) for model in models for gates in asked.gates]
        print(f"\n{name}\n\n{markdown([*HEAD, 'of the expensive model', 'seconds'], rows)}", flush=True)


def measure_lightgbm(name: str, splits: int) -> list[str]:
    """Fit LightGBM's side, and return a row of the table."""
    with clock() as spent:
        points = [lightgbm_points(name, split) for split in range(splits)]
    return [*_budgets("LightGBM, 42 fits", name, points), "", f"{spent['seconds'] / splits:.0f}"]


def measure_adapt(name: str, splits: int, model: str, gates: int) -> list[str]:
    """Fit a path in front of an expensive model, and return a row of the table."""
    several, kept, seconds = [], [], 0.0
    for split in range(splits):
        data = load(name, split)
        adapt: Any = cf.estimator("adapt", costs=data.costs, expensive=MODELS[model](), n_stages=gates, n_jobs=2)
        with warnings.catch_warnings(), clock() as spent:
            warnings.simplefilter("ignore", FutureWarning)
            path = adapt.fit_path(**fitting_rows(data), scoring=SCORES[name])
        seconds += spent["seconds"] / splits
        full = measure(data, path.predictor(path.plain()), SCORES[name])
        points = [full, *(measure(data, path.predictor(point), SCORES[name]) for point in path.frontier())]
        near = cheapest(points, NEAR * full["val"])
        several.append(points)
        kept.append([near["test"], full["test"], 1 - near["test_cost"] / full["test_cost"]])
    reached, whole, saved = np.mean(kept, axis=0)
    label = f"Adapt, {model}, {gates} gate{'s' if gates > 1 else ''}"
    return [*_budgets(label, name, several), f"{reached:.4f} of {whole:.4f}, {saved:.0%} saved", f"{seconds:.0f}"]


def _budgets(label: str, name: str, several: list[list[Point]]) -> list[str]:
    """Return the cells of a side, which also has the constant."""
    found = []
    for split, points in enumerate(several):
        data = load(name, split)
        found.append(figures([measure_constant(data, SCORES[name]), *points], data.full_cost))
    return budget_row(label, found)


if __name__ == "__main__":
    main()
