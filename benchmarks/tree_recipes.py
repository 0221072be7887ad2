"""What the defaults of Miser and CEGB gain over recipe="paper": each difference alone, taken back.

At each budget the best model on valid (any tradeoff, any number of the first trees) is scored on test. Features cost
what they cost alone, resources included, for the papers have none.

    python benchmarks/tree_recipes.py    # about ten minutes on one core
"""

from __future__ import annotations

import numpy as np
import paper_tables
from attrs import evolve
from paper_points import PREFIXES, Point, at_budgets

import costframe as cf
from costframe.core.prices.costs import CostModel, FeaturePrice
from costframe.training.scoring import score_named
from costframe_cegb import CEGBClassifier
from costframe_miser import MiserClassifier

TABLES, SPLITS, BUDGETS = ("heart", "thyroid", "sat12"), (0, 1), np.array([1, 2, 5, 10, 20, 50, 100]) / 100
TRADEOFFS = np.geomspace(0.001, 0.3, 6)  # times the constant's loss over the cost of all features
LEAF, STEP = "leaves of any size", "the paper's step"
VARIANTS = {
    MiserClassifier: {LEAF: {"min_samples_leaf": 1}, STEP: {"learning_rate": 0.1}, "from zero": {"from_zero": True}},
    CEGBClassifier: {
        LEAF: {"min_samples_leaf": 1, "min_hessian_leaf": 0.0},
        STEP: {"learning_rate": 1.0},
        "from zero": {"from_zero": True},
    },
}


def points(kind: type, table: str, split: int, change: dict[str, object] | None) -> np.ndarray:
    """Return the test score at each budget of the defaults with a change, or of the paper's recipe (None)."""
    data = paper_tables.load(table, split)
    names, price = data.costs.names, paper_tables.prices_alone(data.costs)
    costs = CostModel(tuple(FeaturePrice(name, float(each)) for name, each in zip(names, price, strict=True)))
    train, score = data.part("train"), score_named(paper_tables.SCORES[table])
    usual = evolve(kind._usual, **(change or {}))  # noqa: SLF001 - not all of it can be set
    trained = type(kind.__name__, (kind,), {"_usual": usual})
    found = []
    for tradeoff in TRADEOFFS / price.sum():
        model = trained(costs, tradeoff, n_estimators=100, n_jobs=1, recipe=None if change is not None else "paper")
        answer = model.fit(train.X, train.y).predictor_.stages[0]
        for count in dict.fromkeys(len(answer.learners) * share // 100 for share in (0, *PREFIXES)):
            trees = np.arange(count)
            prefix = cf.StageTree(
                model.bank_.restrict(trees),
                (cf.Answer(trees, answer.weights[:count], answer.intercept, answer.link),),
            )
            measured: list[float] = []
            for part in (data.part("valid"), data.part("test")):
                report = cf.ExpectedCost(costs).evaluate(prefix, part.X, n_jobs=1)
                measured += [report.mean, score(data.codes(part.y), report.predictions, None, None)]
            found.append(Point(tradeoff, count, *measured))
    return at_budgets(found, BUDGETS * price.sum())


def main() -> None:
    """Print, for each algorithm, the mean test score of the defaults, of each change taken back, and of the paper."""
    for kind, changes in VARIANTS.items():
        print(f"{kind.__name__}, mean test score over {len(TABLES)} tables and {len(SPLITS)} splits")
        print(f"{'per cent of the full cost':28}", *(f"{share:6.0f}" for share in 100 * BUDGETS), "  mean", sep="")
        for name, change in {"default": {}, **changes, 'recipe="paper"': None}.items():
            rows = [points(kind, table, split, change) for table in TABLES for split in SPLITS]
            mean = np.mean(rows, axis=0)
            print(f"{name:28}", *(f"{each:6.3f}" for each in mean), f"{mean.mean():6.3f}", sep="", flush=True)


if __name__ == "__main__":
    main()
