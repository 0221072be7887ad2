"""The synthetic experiments of Adapt's paper: rows that a gate sends to a strong model, and a trap for l1.

    python benchmarks/adapt_synthetic.py --quick   # two seeds
    python benchmarks/adapt_synthetic.py           # ten seeds, about eight minutes

Synthetic-1 has no prices: an RBF-SVM stands behind linear models, and behind a few boosted trees, by the paper's
recipe; the script draws the regions of the cheap model alone, and after the alternation. Synthetic-2 has two features
of unit price. Over ten seeds, the script prints the costs of the variants at tradeoffs .005 to .02 if at most a share
of .55 goes on, and the least cost of each variant with (almost) no errors, over tradeoffs and shares. The best possible
cost is 1 + p1 + p2; a gate on the other feature costs 2 - p1.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from attrs import frozen
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import costframe as cf
from costframe.core.learners.tree_table import OPAQUE
from costframe.report.pictures import COLORS, INK
from harness.pictures import dress, sheet
from harness.points import markdown
from harness.tables import OUTPUT, options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from costframe.datasets.dataset import Dataset, Rows

EQUAL, USUAL = (0.25, 0.25, 0.25, 0.25), (0.26, 0.26, 0.24, 0.24)
TRADEOFFS, WIDER = (0.005, 0.01, 0.02), (0.005, 0.02, 0.1)
FULL_SHARE, FULL_SHARES = 0.55, (0.55, 0.8, None)
NEVER = 0.995  # accuracy of what errs almost never
COAST: dict[str, dict[str, Any]] = {  # the paper's recipe
    "LIN, P = .6": {"variant": "lin", "full_share": 0.6},
    "GBRT, P = .6": {"variant": "gbrt", "full_share": 0.6, "n_estimators": 20},
    "GBRT, P = .45": {"variant": "gbrt", "full_share": 0.45, "n_estimators": 20},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "LIN": {"variant": "lin"},
    "LIN, paper": {"variant": "lin", "recipe": "paper"},
    "l1": {"algorithm": "l1-gate"},
    "GBRT": {"variant": "gbrt", "n_estimators": 40},
    "GBRT, paper": {"variant": "gbrt", "n_estimators": 40, "recipe": "paper"},
}
SWEPT = ("LIN", "GBRT", "l1")
SIDES, SENT = ("#cfe3f1", "#f7d8c8"), "#f2dfb0"  # answers -1 and 1; sent on
EXPLAINED = "sand: sent on to the SVM; blue and orange: answered -1 and 1 without it; crosses: rows answered wrongly"
ROWS, MESH = 1200, 300  # rows and points a side that are drawn


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

    def make(self, tradeoff: float, **settings: Any) -> Any:
        """Return a model that is not fitted."""
        given = {"algorithm": "adapt", "costs": self.data.costs, "expensive": self.svm, "n_jobs": 1} | settings
        return cf.estimator(given.pop("algorithm"), tradeoff=tradeoff, **given)

    def fit(self, tradeoff: float, **settings: Any) -> Any:
        """Return a fitted model."""
        return self.make(tradeoff, **settings).fit(**self.rows)

    @property
    def rows(self) -> dict[str, Any]:
        """What fits are given."""
        train, valid = self.data.part("train"), self.data.part("valid")
        return {"X": train.X, "y": train.y, "X_val": valid.X, "y_val": valid.y, "expensive_proba": self.proba}


def main() -> None:
    asked = options(
        __doc__,
        quick={"action": "store_true", "help": "two seeds"},
        seeds={"type": int, "help": "of Synthetic-2, 10 by default"},
        output=OUTPUT,
    )
    coast(asked.output)
    for shares in (EQUAL, USUAL):
        seeds = range(asked.seeds or (2 if asked.quick else 10))
        tables = [Table.of(cf.datasets.make_islands(shares=shares, n_test=10_000, random_state=seed)) for seed in seeds]
        islands(shares, tables)
        if shares == EQUAL:
            draw_islands(asked.output, tables[0])
    print(f"\npictures in {asked.output}")


def coast(output: Path) -> None:
    """Fit models to Synthetic-1 without prices; print and draw their regions."""
    table = Table.of(cf.datasets.make_coast(n_test=10_000))
    test = table.data.part("test")
    rows = [["RBF-SVM", "", f"{np.mean(table.svm.predict(test.X) == test.y):.4f}", "1.000"]]
    models = {}
    for name, settings in COAST.items():
        alone = models[f"{name}, cheap model alone"] = table.fit(0.0, recipe="paper", **settings | {"full_share": 0.0})
        model = models[name] = table.fit(0.0, recipe="paper", **settings)
        first, right = (f"{np.mean(one.predict(test.X) == test.y):.4f}" for one in (alone, model))
        rows.append([name, first, right, f"{sent_on(model, test.X).mean():.3f}"])
    print(markdown(["Synthetic-1", "cheap model alone", "accuracy", "sent on"], rows), flush=True)
    shown = [f"{name}{end}" for name in ("LIN, P = .6", "GBRT, P = .45") for end in (", cheap model alone", "")]
    with sheet(output / "adapt_synthetic_1", "Synthetic-1", EXPLAINED, len(shown), columns=2) as places:
        for axes, name in zip(places, shown, strict=True):
            draw_regions(axes, name, models[name], test)


def draw_islands(output: Path, table: Table) -> None:
    """Draw the regions of Synthetic-2 for a gate that is trained with its cheap model, and for l1 first."""
    with sheet(output / "adapt_synthetic_2", "Synthetic-2", EXPLAINED, 2) as places:
        for axes, (name, tradeoff, share) in zip(places, (("LIN", 0.01, FULL_SHARE), ("l1", 0.1, None)), strict=True):
            model = table.fit(tradeoff, **VARIANTS[name], full_share=share)
            draw_regions(axes, f"{name} at tradeoff {tradeoff:g}", model, table.data.part("test"))


def sent_on(model: Any, X: np.ndarray) -> np.ndarray:
    """Tell which rows the expensive model answers: bool (n,)."""
    tree = model.predictor_
    opaque = [bool((tree.bank.kind[stage.learners] == OPAQUE).any()) for stage in tree.stages]
    return np.asarray(np.array(opaque)[tree.exits(X, n_jobs=1)])


def draw_regions(axes: Axes, title: str, model: Any, test: Rows) -> None:
    """Draw who answers what, and some rows."""
    from matplotlib.colors import ListedColormap

    low, high = test.X.min(axis=0) - 0.15, test.X.max(axis=0) + 0.15
    x_at, y_at = (np.linspace(*ends, MESH) for ends in zip(low, high, strict=True))
    mesh = np.stack(np.meshgrid(x_at, y_at), axis=-1).reshape(-1, 2)
    answer = model.predict(mesh) > 0
    kind = np.where(sent_on(model, mesh), 2, answer).reshape(MESH, MESH)
    axes.pcolormesh(x_at, y_at, kind, cmap=ListedColormap([*SIDES, SENT]), vmin=0, vmax=2, rasterized=True)
    axes.contour(x_at, y_at, answer.reshape(MESH, MESH).astype(float), levels=[0.5], colors=INK, linewidths=0.9)
    X, y = test.X[:ROWS], test.y[:ROWS]
    wrong = model.predict(X) != y
    for label, color in zip((-1, 1), COLORS, strict=False):
        axes.plot(*X[(y == label) & ~wrong].T, "o", ms=1.7, mew=0, color=color, rasterized=True)
        axes.plot(*X[(y == label) & wrong].T, "x", ms=4, mew=1, color=color)
    dress(axes, title, "x", "y")


def islands(shares: Sequence[float], tables: Sequence[Table]) -> None:
    """Print what single fits cost at the paper's tradeoffs, and the least that variants cost without errors."""
    bounds = f"{1 + shares[0] + shares[1]:.2f} at best, {2 - shares[0]:.2f} by the other feature"
    print(f"\nSynthetic-2, shares {', '.join(map(str, shares))}: {bounds}; {len(tables)} seeds")
    head = ["accuracy: mean, least", "cost: mean, least, most"]
    rows = [
        [name, f"{tradeoff:g}", *_spread([measure(table, tradeoff, settings) for table in tables])]
        for name, settings in VARIANTS.items()
        for tradeoff in TRADEOFFS
    ]
    print(f"\n{markdown([f'P = {FULL_SHARE}', 'tradeoff', *head], rows)}", flush=True)
    rows = [[name, *_spread([least_cost(table, VARIANTS[name]) for table in tables])] for name in SWEPT]
    print(f"\n{markdown([f'least cost at an accuracy of {NEVER} on valid, all tradeoffs and P', *head], rows)}")


def _spread(found: list[tuple[float, float]]) -> list[str]:
    accuracy, cost = np.array(found).T
    return [f"{accuracy.mean():.4f}, {accuracy.min():.4f}", f"{cost.mean():.3f}, {cost.min():.3f}, {cost.max():.3f}"]


def measure(table: Table, tradeoff: float, settings: dict[str, Any]) -> tuple[float, float]:
    """Fit one model, and return its accuracy and exact mean cost on test rows."""
    model, test = table.fit(tradeoff, full_share=FULL_SHARE, **settings), table.data.part("test")
    return float(np.mean(model.predict(test.X) == test.y)), model.cost(test.X).mean


def least_cost(table: Table, settings: dict[str, Any]) -> tuple[float, float]:
    """Sweep tradeoffs and shares; return test accuracy and cost of the cheapest that errs almost never on valid.

    Each tradeoff is a sweep of its own, as linear models that begin where those at larger tradeoffs ended do not come
    to the best solution.
    """
    found = []
    for tradeoff in WIDER:
        model = table.make(tradeoff, **settings)
        path = model.fit_path(**table.rows, tradeoffs=[tradeoff], full_shares=FULL_SHARES, scoring="accuracy")
        found += [(point, path) for point in path.frontier()]
    point, path = min(found, key=lambda one: (one[0].score < NEVER, one[0].cost))
    test, predictor = table.data.part("test"), path.predictor(point)
    right = (predictor.predict(test.X, n_jobs=1) > 0.5) == (test.y == 1)
    return float(right.mean()), predictor.cost(test.X).mean


if __name__ == "__main__":
    main()
