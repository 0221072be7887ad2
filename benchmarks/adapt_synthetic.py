"""The synthetic experiments of Adapt's paper: what a gate leaves to a strong model, and that l1 first is not enough.

Synthetic-1 has no prices: an RBF-SVM stands behind linear models, and behind a few boosted trees, by the paper's
recipe; regions of the cheap model alone, and after the alternation. Synthetic-2 has two features of unit price: over
ten seeds, what the variants cost at tradeoffs .005 to .02 where at most a share of .55 goes on, and the least that each
costs where it errs (almost) never, over tradeoffs and shares; 1 + p1 + p2 is the best there is, 2 - p1 what a gate on
the other feature pays.

    python benchmarks/adapt_synthetic.py --quick   # two seeds
    python benchmarks/adapt_synthetic.py           # ten seeds, about eight minutes
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from adapt_synthetic_figures import Curve, Region, draw_coast, draw_islands
from attrs import frozen
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import costframe as cf
from costframe.core.learners.tree_table import OPAQUE
from costframe_adapt import AdaptClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from costframe.datasets import Dataset, Part

EQUAL, USUAL = (0.25, 0.25, 0.25, 0.25), (0.26, 0.26, 0.24, 0.24)
TRADEOFFS, WIDER = (0.005, 0.01, 0.02), (0.005, 0.02, 0.1)
FULL_SHARE, FULL_SHARES = 0.55, (0.55, 0.8, None)
NEVER = 0.995  # accuracy of what errs almost never
BUDGETS = np.linspace(0.0, 2.05, 83)
COAST: dict[str, dict[str, Any]] = {  # the paper's recipe
    "LIN, P = .6": {"variant": "lin", "full_share": 0.6},
    "GBRT, P = .6": {"variant": "gbrt", "full_share": 0.6, "n_estimators": 20},
    "GBRT, P = .45": {"variant": "gbrt", "full_share": 0.45, "n_estimators": 20},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "LIN": {"variant": "lin"},
    "LIN, paper": {"variant": "lin", "recipe": "paper"},
    "l1": {"variant": "l1"},
    "GBRT": {"variant": "gbrt", "n_estimators": 40},
    "GBRT, paper": {"variant": "gbrt", "n_estimators": 40, "recipe": "paper"},
}
SHOWN = (("LIN", 0.01, FULL_SHARE), ("l1", 0.1, None))  # models whose regions are drawn
DRAWN = ("LIN", "GBRT", "l1")


@frozen(eq=False)
class Table:
    """A data set with its expensive model, and that model's probabilities of training rows, out of fold."""

    data: Dataset
    svm: Any
    proba: np.ndarray

    @classmethod
    def of(cls, data: Dataset) -> Table:
        """Fit the RBF-SVM."""
        svm, train = CalibratedClassifierCV(SVC(C=10), ensemble=False), data.part("train")
        proba = cross_val_predict(svm, train.X, train.y, method="predict_proba")[:, 1]
        return cls(data, svm.fit(train.X, train.y), proba)

    def model(self, tradeoff: float, **asked: Any) -> AdaptClassifier:
        """Return a model that is not fitted."""
        return AdaptClassifier(self.data.costs, tradeoff, expensive=self.svm, n_jobs=1, **asked)

    def fitted(self, tradeoff: float, **asked: Any) -> AdaptClassifier:
        """Fit one."""
        train, valid = self.data.part("train"), self.data.part("valid")
        model = self.model(tradeoff, **asked)
        return model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y, expensive_proba=self.proba)


def main() -> None:
    options = _options()
    options.output.mkdir(parents=True, exist_ok=True)
    seeds = options.seeds or (2 if options.quick else 10)
    coast(options.output)
    curves: list[Curve] = []
    for shares in (EQUAL, USUAL):
        tables = [Table.of(_islands(shares, seed)) for seed in range(seeds)]
        print_islands(shares, tables)
        found = dict(islands_curves(shares, tables))
        curves = curves or [Curve(name, BUDGETS, *found[name]) for name in DRAWN]
    first = Table.of(_islands(EQUAL, 0))
    gates = {name: first.fitted(tradeoff, **VARIANTS[name], full_share=share) for name, tradeoff, share in SHOWN}
    test = first.data.part("test")
    regions = [
        Region(
            f"{name} at tradeoff {model.tradeoff:g}\n{describe(model, test)}", model.predict, partial(goes_on, model)
        )
        for name, model in gates.items()
    ]
    draw_islands(options.output, test, regions, curves)
    print(f"\npictures in {options.output}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two seeds")
    parser.add_argument("--seeds", type=int, help="of Synthetic-2, 10 by default")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "figures", help="folder for the pictures"
    )
    return parser.parse_args()


def describe(model: AdaptClassifier, test: Part) -> str:
    """Return a model's accuracy and mean cost in words."""
    return f"{np.mean(model.predict(test.X) == test.y):.1%} right, {model.cost(test.X).mean:.2f} a row"


def coast(output: Path) -> None:
    """Fit models to Synthetic-1 without prices, print what they do, and draw it."""
    table = Table.of(cf.datasets.make_coast(n_test=10_000))
    test = table.data.part("test")
    print("| Synthetic-1 | cheap model alone | accuracy | sent on |\n| --- | --- | --- | --- |")
    strong = np.mean(table.svm.predict(test.X) == test.y)
    print(f"| RBF-SVM | | {strong:.4f} | 1.000 |")
    regions = {
        "data": Region("Synthetic-1, test rows"),
        "svm": Region(f"the RBF-SVM\n{strong:.1%} right", table.svm.predict),
    }
    for name, asked in COAST.items():
        alone = table.fitted(0.0, recipe="paper", **asked | {"full_share": 0.0})
        model = table.fitted(0.0, recipe="paper", **asked)
        first, right = (np.mean(one.predict(test.X) == test.y) for one in (alone, model))
        sent = partial(goes_on, model)
        share = sent(test.X).mean()
        print(f"| {name} | {first:.4f} | {right:.4f} | {share:.3f} |")
        regions[f"{name} alone"] = Region(f"{name}, f1 at first\n{first:.1%} right", alone.predict)
        regions[name] = Region(f"{name}\n{right:.1%} right, {share:.0%} sent on", model.predict, sent)
    order = ("data", "LIN, P = .6 alone", "LIN, P = .6", "svm", "GBRT, P = .45 alone", "GBRT, P = .45")
    draw_coast(output, test, [regions[name] for name in order])


def goes_on(model: AdaptClassifier, X: np.ndarray) -> np.ndarray:
    """Tell which rows the expensive model answers: bool (n,)."""
    tree = model.predictor_
    exits = tree.exits(X, n_jobs=1)
    opaque = [bool((tree.bank.kind[stage.learners] == OPAQUE).any()) for stage in tree.stages]
    return np.array(opaque)[exits]


def _islands(shares: Sequence[float], seed: int) -> Dataset:
    return cf.datasets.make_islands(shares=shares, n_test=10_000, random_state=seed)


def print_islands(shares: Sequence[float], tables: Sequence[Table]) -> None:
    """Print what single fits cost at the paper's tradeoffs."""
    bounds = f"{1 + shares[0] + shares[1]:.2f} at best, {2 - shares[0]:.2f} by the other feature"
    print(f"\nSynthetic-2, shares {', '.join(map(str, shares))}: {bounds}; P = {FULL_SHARE}, {len(tables)} seeds")
    print("\n| variant | tradeoff | accuracy: mean, least | cost: mean, least, most |\n| --- | --- | --- | --- |")
    for name, asked in VARIANTS.items():
        for tradeoff in TRADEOFFS:
            accuracy, cost = np.array([measured(table, tradeoff, asked) for table in tables]).T
            print(
                f"| {name} | {tradeoff:g} | {accuracy.mean():.4f}, {accuracy.min():.4f} "
                f"| {cost.mean():.3f}, {cost.min():.3f}, {cost.max():.3f} |",
                flush=True,
            )


def measured(table: Table, tradeoff: float, asked: dict[str, Any]) -> tuple[float, float]:
    """Fit one model, and return its accuracy and exact mean cost on test rows."""
    model, test = table.fitted(tradeoff, full_share=FULL_SHARE, **asked), table.data.part("test")
    return float(np.mean(model.predict(test.X) == test.y)), model.cost(test.X).mean


def islands_curves(
    shares: Sequence[float], tables: Sequence[Table]
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Yield the mean accuracy at most at each cost, and its standard error; print the least cost without errors."""
    print(f"\nLeast cost at an accuracy of {NEVER} on valid, shares {', '.join(map(str, shares))}, all tradeoffs and P")
    print("\n| variant | accuracy: mean, least | cost: mean, least, most |\n| --- | --- | --- |")
    for name in DRAWN:
        curves, least = zip(*(one_curve(table, VARIANTS[name]) for table in tables), strict=True)
        accuracy, cost = np.array(least).T
        print(
            f"| {name} | {accuracy.mean():.4f}, {accuracy.min():.4f} "
            f"| {cost.mean():.3f}, {cost.min():.3f}, {cost.max():.3f} |",
            flush=True,
        )
        yield name, (np.mean(curves, axis=0), np.std(curves, axis=0) / np.sqrt(len(curves)))


def one_curve(table: Table, asked: dict[str, Any]) -> tuple[np.ndarray, tuple[float, float]]:
    """Sweep all tradeoffs and shares; return test accuracy by budget, and of the cheapest that errs almost never.

    Models are chosen on valid. Each tradeoff is a sweep of its own, as linear models that begin where those at larger
    tradeoffs ended do not come to the best solution.
    """
    train, valid, test = (table.data.part(part) for part in ("train", "valid", "test"))
    found = []
    for tradeoff in WIDER:
        path = table.model(tradeoff, **asked).fit_path(
            train.X, train.y, X_val=valid.X, y_val=valid.y, expensive_proba=table.proba,
            tradeoffs=[tradeoff], full_shares=FULL_SHARES, scoring="accuracy",
        )  # fmt: skip
        found += [(point, path) for point in path.frontier()]

    @np.vectorize
    def accuracy_at(at: int) -> float:
        point, path = found[at]
        return float(np.mean((path.predictor(point).predict(test.X, n_jobs=1) > 0.5) == (test.y == 1)))

    score, cost = np.array([(point.score, point.cost) for point, _ in found]).T
    chosen = [int(np.where(cost <= budget, score - 1e-9 * cost, -np.inf).argmax()) for budget in BUDGETS]
    near = int(np.where(score >= NEVER, cost, np.inf).argmin())
    point, path = found[near]
    paid = path.predictor(point).cost(test.X).mean
    used, place = np.unique(chosen, return_inverse=True)
    constant = max(np.mean(test.y == label) for label in (-1, 1))  # where none is that cheap
    curve = np.where(cost.min() > BUDGETS, constant, accuracy_at(used)[place])
    return curve, (float(accuracy_at(near)), paid)


if __name__ == "__main__":
    main()
