"""Small synthetic tables for laws: cheap noisy features, an informative expensive one, shared resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.prices.costs import CostModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COSTS", "Table", "make_table"]

COSTS = CostModel.from_dict({
    "unit": "CAD",
    "features": {
        "free": 0.0,
        "cheap": 1.0,
        "noise": 1.5,
        "iron": {"cost": 0.5, "needs": ["blood"]},
        "sugar": {"cost": 0.25, "needs": ["blood"]},
        "scan": {"cost": 4.0, "needs": ["scanner"]},
    },
    "resources": {"blood": 2.0, "scanner": {"cost": 5.0, "needs": ["visit"]}, "visit": 1.0},
})  # fmt: skip
"""Prices of the table's features. The blood draw is shared; the scan needs a scanner, which needs a visit."""


@frozen(eq=False)
class Table:
    """Rows, labels and queries for one kind of estimator, with fresh rows of the same distribution."""

    X: Any  # float64 (rows, d), or data frame; some values are NaN
    y: NDArray[Any]
    fresh: Any
    y_fresh: NDArray[Any]
    qid: NDArray[np.int64] | None = None  # for rankers
    qid_fresh: NDArray[np.int64] | None = None
    names: tuple[str, ...] = field(default=COSTS.names)

    def take(self, rows: NDArray[Any]) -> Table:
        """Return the table with these training rows."""
        return evolve(self, X=self.X[rows], y=self.y[rows], qid=None if self.qid is None else self.qid[rows])

    def with_columns(self, **columns: NDArray[np.float64]) -> Table:
        """Append training columns, which are missing in fresh rows."""
        added = np.stack(list(columns.values()), axis=1)
        missing = np.full((len(self.fresh), added.shape[1]), np.nan)
        return evolve(
            self, X=np.hstack([self.X, added]), fresh=np.hstack([self.fresh, missing]), names=(*self.names, *columns)
        )


def make_table(task: str, n_classes: int = 0, seed: int = 0) -> Table:
    """Make 160 training rows and 80 fresh ones for a task; `n_classes` is for classification."""
    rng = np.random.default_rng(seed)
    n_train, n = 160, 240
    body, mind = rng.standard_normal((2, n))
    signal = body + 0.6 * mind
    X = np.stack([
        0.4 * signal + rng.standard_normal(n),          # free
        signal + 0.8 * rng.standard_normal(n),          # cheap
        rng.standard_normal(n),                         # noise
        body + 0.5 * rng.standard_normal(n),            # iron
        mind + 0.5 * rng.standard_normal(n),            # sugar
        signal + 0.1 * rng.standard_normal(n),          # scan
    ], axis=1)  # fmt: skip
    X[rng.random(X.shape) < 0.06] = np.nan
    y, qid = _labels(task, n_classes, signal + 0.1 * rng.standard_normal(n)), None
    if task == "ranking":
        qid = np.arange(n) // 10
    cut = slice(None, n_train), slice(n_train, None)
    queries = (None, None) if qid is None else (qid[cut[0]], qid[cut[1]])
    return Table(X[cut[0]], y[cut[0]], X[cut[1]], y[cut[1]], *queries)


def _labels(task: str, n_classes: int, signal: NDArray[np.float64]) -> NDArray[Any]:
    if task == "regression":
        return signal
    levels = n_classes if task == "classification" else 4
    edges = np.quantile(signal, np.arange(1, levels) / levels)
    codes = np.digitize(signal, edges)
    return codes if task == "classification" else codes.astype(np.float64)
