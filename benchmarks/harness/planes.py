"""The synthetic experiments of Adapt's paper: rows that a gate sends to a strong model, and a trap for l1.

Synthetic-1 has no prices: an RBF-SVM stands behind linear models, and behind a few boosted trees. Synthetic-2 has two
features of unit price; the best model without errors pays 1.5, one that begins with the other feature 1.75.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

import costframe as cf
from costframe.core.learners.tree_table import OPAQUE
from costframe.report.style import COLORS, INK
from harness.pictures import dress, sheet
from harness.points import measure
from harness.tables import fitting_rows

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from costframe.datasets.dataset import Dataset, PartRows
    from harness.points import Point

EQUAL = (0.25, 0.25, 0.25, 0.25)
TRADEOFFS, FULL_SHARES = (0.005, 0.02, 0.1), (0.55, 0.8)
COAST: dict[str, dict[str, Any]] = {  # as printed
    "LIN": {"variant": "lin", "full_share": 0.6},
    "GBRT": {"variant": "gbrt", "full_share": 0.6, "n_estimators": 20},
}
ISLANDS: dict[str, dict[str, Any]] = {
    "Adapt-LIN": {"variant": "lin"},
    "Adapt-LIN, as printed": {"variant": "lin", "recipe": "paper"},
    "Adapt-GBRT": {"variant": "gbrt", "n_estimators": 40},
    "l1 gate": {"algorithm": "l1-gate"},
}
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
        return {**fitting_rows(self.data), "expensive_proba": self.proba}


def measure_coast(split: int, output: Path) -> dict[str, list[Point]]:
    """Fit models to Synthetic-1 without prices; return accuracies and shares of rows sent on; draw their regions."""
    table, found, models = Table.of(cf.datasets.make_coast(n_test=5_000, random_state=split)), {}, {}
    test = table.data.part("test")
    svm = float(np.mean(table.svm.predict(test.X) == test.y))
    for name, settings in COAST.items():
        alone = models[f"{name}, cheap model alone"] = table.fit(0.0, recipe="paper", **settings | {"full_share": 0.0})
        model = models[name] = table.fit(0.0, recipe="paper", **settings)
        first, right = (float(np.mean(one.predict(test.X) == test.y)) for one in (alone, model))
        found[name] = [{"svm": svm, "alone": first, "test": right, "sent": sent_on(model, test.X).mean()}]
    if split == 1:
        with sheet(output / "adapt_2", "Synthetic-1", EXPLAINED, len(models), columns=2) as places:
            for axes, (name, model) in zip(places, models.items(), strict=True):
                draw_regions(axes, name, model, test)
    return found


def measure_islands(split: int, output: Path) -> dict[str, list[Point]]:
    """Sweep tradeoffs and shares on Synthetic-2; return points by way; draw the regions of two models.

    Each tradeoff is a sweep of its own, as linear models that begin where those at larger tradeoffs ended do not come
    to the best solution.
    """
    table = Table.of(cf.datasets.make_islands(shares=EQUAL, n_test=5_000, random_state=split))
    found: dict[str, list[Point]] = {name: [] for name in ISLANDS}
    for name, settings in ISLANDS.items():
        shares = FULL_SHARES if "recipe" in settings else (*FULL_SHARES, None)
        share = {"full_share": FULL_SHARES[0]} if "recipe" in settings else {}
        for tradeoff in TRADEOFFS:
            path = table.make(tradeoff, **settings, **share).fit_path(
                **table.rows, tradeoffs=[tradeoff], full_shares=shares, scoring="accuracy"
            )
            found[name] += [measure(table.data, path.predictor(point), "accuracy") for point in path.frontier()]
    if split == 1:
        with sheet(output / "adapt_3_regions", "Synthetic-2", EXPLAINED, 2) as places:
            for axes, name, tradeoff, share in zip(
                places, ("Adapt-LIN", "l1 gate"), (0.01, 0.1), (FULL_SHARES[0], None), strict=True
            ):
                model = table.fit(tradeoff, **ISLANDS[name], full_share=share)
                draw_regions(axes, f"{name} at tradeoff {tradeoff:g}", model, table.data.part("test"))
    return found


def sent_on(model: Any, X: np.ndarray) -> np.ndarray:
    """Tell which rows the expensive model answers: bool (n,)."""
    tree = model.predictor_
    opaque = [bool((tree.bank.kind[stage.learners] == OPAQUE).any()) for stage in tree.stages]
    return np.asarray(np.array(opaque)[tree.exits(X, n_jobs=1)])


def draw_regions(axes: Axes, title: str, model: Any, test: PartRows) -> None:
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
