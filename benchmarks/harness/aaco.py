"""The acquisition-conditioned oracle (AACO), an outsider of comparisons.

M. Valancius, M. Lennon and J. B. Oliva: *Acquisition Conditioned Oracle for Nongreedy Active Feature Acquisition*,
ICML 2024. Written from the paper's description. A row that has bought some features looks for the training rows that
are nearest in these. For each of many sets of further features, it takes the mean loss of a predictor that is given the
row's own features, and those of the set from each neighbour, on the neighbour's label. The set of least loss plus
tradeoff times price is worth buying; where this is the empty one, the row ends. Of the set it buys one feature, and
looks again. There is no policy to train, only a predictor that takes any features: here boosted trees, trained on rows
of which random features are missing.

Of our choice are: the sets, each feature alone and random ones of all sizes, drawn once; of the best set, the feature
which alone would be best; prices with resources that are paid once; and standardised features for distances, in which a
missing value is the mean. Each tradeoff is a model; all share what a row's state tells of the losses of sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field, frozen

import costframe as cf
from harness.prices_next import NextPrices

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from costframe.comparison import SeenTable

TRADEOFFS = np.geomspace(0.03, 12.0, 16)  # loss for the price of all features, in units of the constant's loss
ROWS = 40_000  # with random features missing, on which the predictor is trained
LEAST = 1e-6  # probability, in losses


@frozen
class AACO:
    """The oracle: `neighbours` nearest rows, and a number of random sets beside the single features."""

    neighbours: int = 5
    sets: int = 200
    name: str = "AACO"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it from others of its name."""
        return {"neighbours": self.neighbours, "sets": self.sets}

    def fit(self, seen: SeenTable) -> list[cf.Predictor]:
        """Train the predictor, and return a model for each tradeoff."""
        if seen.task != "classification":
            raise cf.CostframeError(f"AACO is for classes, not for a {seen.task}")
        oracle = _Oracle.of(seen, self)
        labels = {name: texts for name, texts in seen.categorical.items() if texts is not None}
        shares = np.bincount(oracle.y) / len(oracle.y)
        constant = float(-(shares * np.log(shares)).sum())
        unit = constant / seen.costs.full_cost(seen.feature_names)
        fallback = shares if len(shares) > 2 else shares[1]

        def steps(tradeoff: float) -> Any:
            return lambda: oracle.steps(tradeoff)

        return [
            cf.SteppedPredictor(seen.feature_names, steps(float(t)), seen.costs, labels, fallback=fallback)
            for t in TRADEOFFS * unit
        ]


@define(eq=False)
class _Oracle:
    """What rows ask: the predictor, training rows, X as they are and Z standardised, sets bool (m, d), and prices."""

    names: tuple[str, ...]
    predictor: cf.Predictor
    X: np.ndarray
    Z: np.ndarray
    y: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    sets: np.ndarray
    prices: NextPrices
    neighbours: int
    kept: dict[bytes, np.ndarray] = field(factory=dict)  # losses of sets by a row's values

    @classmethod
    def of(cls, seen: SeenTable, how: AACO) -> _Oracle:
        random = np.random.default_rng([seen.seed, 2024])
        X, y, d = seen.train.X, seen.codes(seen.train.y), len(seen.feature_names)
        count = np.maximum(1, (~np.isnan(X)).sum(axis=0))
        center = np.nansum(X, axis=0) / count
        scale = np.sqrt(np.nansum(np.square(X - center), axis=0) / count)
        scale[scale == 0] = 1.0
        drawn = random.random((how.sets, d)) < random.random((how.sets, 1))
        sets = np.unique(np.concatenate([np.zeros((1, d), bool), np.eye(d, dtype=bool), drawn]), axis=0)
        sets = np.concatenate([sets[~sets.any(axis=1)], np.eye(d, dtype=bool), sets[sets.sum(axis=1) > 1]])
        return cls(
            seen.feature_names,
            _train_on_parts(seen, random),
            X,
            np.nan_to_num((X - center) / scale),
            y,
            center,
            scale,
            sets,
            NextPrices.of(seen.costs),
            min(how.neighbours, len(X)),
        )

    def steps(self, tradeoff: float) -> Generator[list[str], Mapping[str, float], Any]:
        """Buy for one row."""
        row, has = np.full(len(self.names), np.nan), np.zeros(len(self.names), bool)
        while not has.all():
            value = self.losses(row, has) + tradeoff * self.prices.of_sets(has, self.sets)
            best = self.sets[value.argmin()] & ~has
            if not best.any():
                break
            alone = value[1 : 1 + len(has)]
            bought = int(np.where(best, alone, np.inf).argmin())
            row[bought], has[bought] = (yield [self.names[bought]])[self.names[bought]], True
        return self.predictor.predict(row[np.newaxis], n_jobs=1)[0]

    def losses(self, row: np.ndarray, has: np.ndarray) -> np.ndarray:
        """Return the mean loss of each set over the neighbours of a row: float64 (m,)."""
        key = row.tobytes() + has.tobytes()
        if key not in self.kept:
            self.kept[key] = self._losses(row, has)
        return self.kept[key]

    def _losses(self, row: np.ndarray, has: np.ndarray) -> np.ndarray:
        near = self._nearest(row, has)
        shown = np.where(self.sets[:, np.newaxis] & ~has, self.X[near], np.where(has, row, np.nan))
        chances = self.predictor.predict(shown.reshape(-1, len(row)), n_jobs=1)
        if chances.ndim == 1:
            chances = np.column_stack([1 - chances, chances])
        of_label = chances.reshape(len(self.sets), len(near), -1)[:, np.arange(len(near)), self.y[near]]
        return np.asarray(-np.log(np.maximum(of_label, LEAST)).mean(axis=1))

    def _nearest(self, row: np.ndarray, has: np.ndarray) -> np.ndarray:
        """Return the training rows nearest in the features that a row has; at the start, rows spread over all."""
        if not has.any():
            return np.arange(len(self.X)) if len(self.X) <= 100 else np.linspace(0, len(self.X) - 1, 100).astype(int)
        there = np.nan_to_num((row[has] - self.center[has]) / self.scale[has])
        distance = np.square(self.Z[:, has] - there).sum(axis=1)
        return np.argpartition(distance, self.neighbours - 1)[: self.neighbours]


def _train_on_parts(seen: SeenTable, random: np.random.Generator) -> cf.Predictor:
    """Train boosted trees on rows of which random features are missing, stopped by such rows of valid."""

    def parts(X: np.ndarray, y: np.ndarray) -> Iterator[np.ndarray]:
        rows = np.tile(np.arange(len(X)), -(-ROWS // len(X)))
        hidden = random.random((len(rows), X.shape[1])) < random.random((len(rows), 1))
        yield np.where(hidden, np.nan, X[rows])
        yield y[rows]

    X, y = parts(seen.train.X, seen.codes(seen.train.y))
    X_val, y_val = parts(seen.valid.X, seen.codes(seen.valid.y))
    model = cf.estimator("boosting", random_state=seen.seed)
    return model.fit(X, y, X_val=X_val, y_val=y_val).predictor_
