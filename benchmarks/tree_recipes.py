"""Needs ../shared: gains of the defaults of Miser and CEGB over recipe="paper", each difference alone taken back.

    python benchmarks/tree_recipes.py [heart thyroid sat12] [--splits 2]    # about ten minutes on one core

At each budget the best model on valid (any tradeoff, any number of the first trees) is scored on test. The price
of a feature includes its resources, because the papers have none.
"""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.core.prices.costs import CostModel, FeaturePrice
from costframe_cegb import CEGBClassifier
from costframe_miser import MiserClassifier
from harness.fits import PREFIXES
from harness.points import BUDGETS, at_budgets, markdown, measure, prefix
from harness.tables import SCORES, load, options, single_prices

TRADEOFFS = np.geomspace(0.001, 0.3, 6)  # in units of 1 / the cost of all features
LEAF, STEP = "leaves of any size", "the paper's step"
VARIANTS = {
    MiserClassifier: {LEAF: {"min_samples_leaf": 1}, STEP: {"learning_rate": 0.1}, "from zero": {"from_zero": True}},
    CEGBClassifier: {
        LEAF: {"min_samples_leaf": 1, "min_hessian_leaf": 0.0},
        STEP: {"learning_rate": 1.0},
        "from zero": {"from_zero": True},
    },
}


def main() -> None:
    """Print, for each algorithm, the mean test score of the defaults, of each change taken back, and of the paper."""
    asked = options(__doc__, ("heart", "thyroid", "sat12"), splits={"type": int, "default": 2})
    for kind, changes in VARIANTS.items():
        rows = []
        for name, change in {"default": {}, **changes, 'recipe="paper"': None}.items():
            scores = [
                scores_at_budgets(kind, table, split, change) for table in asked.tables for split in range(asked.splits)
            ]
            mean = np.mean(scores, axis=0)
            rows.append([name, *(f"{each:.3f}" for each in mean), f"{mean.mean():.3f}"])
        head = [f"{kind.__name__}, mean over tables and splits", *(f"{share:.0%}" for share in BUDGETS), "mean"]
        print(f"\n{markdown(head, rows)}", flush=True)


def scores_at_budgets(kind: type, name: str, split: int, change: dict[str, object] | None) -> np.ndarray:
    """Return the test score at each budget of the defaults with a change, or of the paper's recipe (None)."""
    data = load(name, split)
    each = zip(data.feature_names, single_prices(data.costs).tolist(), strict=True)
    data = data.with_costs(CostModel(tuple(FeaturePrice(*pair) for pair in each)))
    train, usual = data.part("train"), evolve(kind._usual, **(change or {}))  # noqa: SLF001 - not all of it can be set
    changed = type(kind.__name__, (kind,), {"_usual": usual})
    recipe, points = "paper" if change is None else None, []
    for tradeoff in (TRADEOFFS / data.full_cost).tolist():
        model = changed(data.costs, tradeoff, n_estimators=100, n_jobs=1, recipe=recipe)
        tree = model.fit(train.X, train.y).predictor_
        counts = dict.fromkeys(len(tree.bank) * share // 100 for share in PREFIXES)
        points += [measure(data, prefix(tree, count), SCORES[name]) for count in counts]
    return at_budgets(points, np.multiply(BUDGETS, data.full_cost))


if __name__ == "__main__":
    main()
