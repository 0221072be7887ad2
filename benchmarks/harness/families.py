"""Families of drawn tables whose truth is known: the probability of each class, given all that decides a row's class.

A family has prices of features and of errors, a usual number of rows, and a function that draws rows. So a model's
score and bill on fresh rows are expectations over classes, and only the fresh rows themselves are left to chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from scipy.special import expit, softmax

import costframe as cf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    # Rows (n, d), NaN where a test was not made, and log odds (n,), or scores of a softmax (n, K).
    Draw = Callable[[int, Generator], tuple[Floats, Floats]]


@frozen(eq=False)
class Family:
    """A kind of table.

    Attributes
    ----------
    rows : int
        Rows of a table by default.
    draw : callable
    prices : dict
        Tables "features", in the order of the columns, and "resources".
    errors : dict
        Prices of errors: truth -> answer -> price.
    """

    rows: int
    draw: Draw
    prices: dict[str, Any]
    errors: dict[int, dict[int, Any]]

    def sample(self, n: int, rng: Generator) -> tuple[Floats, Floats]:
        """Draw n rows: values (n, d), and the true probability of each class, (n, K)."""
        X, z = self.draw(n, rng)
        return X, softmax(z, axis=1) if z.ndim == 2 else np.column_stack([expit(-z), expit(z)])

    def costs(self, *, errors: bool) -> cf.CostModel:
        """Return the prices, with or without those of errors."""
        return cf.CostModel.of(self.prices, errors=self.errors if errors else None)


def draw_classes(chances: Floats, rng: Generator) -> NDArray[np.int64]:
    """Draw a class for each row, (n,), by its chances, (n, K)."""
    return np.asarray((rng.random((len(chances), 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1), np.int64)


def _wrong(false_alarm: float, miss: float) -> dict[int, dict[int, Any]]:
    return {0: {1: false_alarm}, 1: {0: miss}}


def _named(name: str, n: int, price: Any = 0.0) -> dict[str, Any]:
    return {f"{name}{i}": price for i in range(n)}


def _clinic(base: float, *, ordered: bool) -> Draw:
    """Return a draw of patients: free columns, labs of one blood sample, a scan and a specialist, who see a severity.

    If tests are `ordered`, doctors order them by what they see, which no column has in full; else all are made.
    """

    def draw(n: int, rng: Generator) -> tuple[Floats, Floats]:
        free, severity = rng.normal(size=(n, 10)), rng.normal(size=n)
        labs = np.outer(severity, [0.9, 0.7, 0.5, 0.3, 0.2, 0.0, 0.0, 0.0]) + rng.normal(size=(n, 8))
        scan = severity + 0.4 * labs[:, 0] + 0.8 * rng.normal(size=n)
        specialist = severity + 0.5 * free[:, 2] + 0.5 * rng.normal(size=n)
        z = base + 1.3 * severity + 0.9 * free[:, 0] + 0.5 * free[:, 1] + 0.7 * (labs[:, 1] > 1) * (free[:, 3] > 0)
        X = np.column_stack([free, labs, scan, specialist])
        if ordered:
            seen = 0.7 * free[:, 0] + 0.6 * severity
            drawn = rng.random(n) < expit(0.4 + 1.3 * seen)
            X[~drawn, 10:18] = np.nan
            X[~(drawn & (rng.random(n) < expit(-0.5 + seen + 0.5 * labs[:, 0]))), 18] = np.nan
            X[rng.random(n) > expit(-1.2 + 1.4 * seen), 19] = np.nan
        return X, z

    return draw


CLINIC = {
    "features": _named("free", 10)
    | _named("lab", 8, {"cost": 1.5, "needs": ["blood"]})
    | {"scan": 40.0, "specialist": 70.0},
    "resources": {"blood": 6.0},
}


def _interactions(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw rows whose class is the product of two signs, of dear columns, beside a weak free one."""
    X = rng.normal(size=(n, 8))
    return X, 3 * np.sign(X[:, 4] * X[:, 5]) + X[:, 0] / 2


def _differ(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw rows whose context, which is cheap, says which two of ten dear columns matter."""
    context, X = rng.integers(5, size=n), rng.normal(size=(n, 10))
    first = X[np.arange(n), 2 * context]
    return np.column_stack([context, X]), 1.8 * first + 1.2 * X[np.arange(n), 2 * context + 1] - 0.6


def _panels(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw rows whose free columns say which one of three panels, of three columns each, matters."""
    free, X = rng.normal(size=(n, 4)), rng.normal(size=(n, 3, 3))
    which = np.where(free[:, 0] < -0.4, 0, np.where(free[:, 1] < 0, 1, 2))
    z = X[np.arange(n), which] @ [1.5, 1.0, 0.6] + 0.4 * free[:, 2] - 0.8
    return np.column_stack([free, X.reshape(n, 9)]), z


def _jump(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw three dear columns that tell much together and nothing alone: the score jumps with the last one."""
    X = rng.normal(size=(n, 7))
    return X, 2.5 * np.sign(X[:, 4] * X[:, 5] * X[:, 6]) + 0.6 * X[:, 0] - 0.3


def _noise(n: int, rng: Generator) -> tuple[Floats, Floats]:
    return rng.normal(size=(n, 8)), np.full(n, -1.3)


def _many(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw forty cheap columns, each of which tells a little."""
    X = rng.normal(size=(n, 40))
    return X, X @ np.linspace(0.02, 0.5, 40) - 0.9


def _fee(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw ten columns that cost little after a visit; half of the rows gain nothing by it."""
    X = rng.normal(size=(n, 14))
    return X, 0.8 * X[:, 0] + 0.5 * X[:, 4:].sum(axis=1) * (X[:, 1] > 0) - 1


def _tiny(n: int, rng: Generator) -> tuple[Floats, Floats]:
    X = rng.normal(size=(n, 9))
    return X, 0.8 * X[:, 0] + 1.2 * X[:, 3] + 0.8 * X[:, 4] * (X[:, 1] > 0) - 0.5


def _weak_free(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw borrowers: weak free columns, a bank's noisy answer, a bureau's good one that not all rows need."""
    latent, free = rng.normal(size=n), rng.normal(size=(n, 6))
    bank, bureau = latent + 1.5 * rng.normal(size=n), latent + 0.4 * rng.normal(size=n)
    z = 1.4 * latent * (free[:, 0] < 0.3) + free @ [0.3, 0.3, 0.2, 0.2, 0.1, 0.1] - 1.1
    return np.column_stack([free, bank, bureau]), z


def _linear(n: int, rng: Generator) -> tuple[Floats, Floats]:
    X = rng.normal(size=(n, 12))
    return X, X @ np.array([0.6, 0.4, 0.2, 0.0, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]) - 0.7


def _free_enough(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw free columns that tell all that can be told; dear ones are noisy copies of them."""
    free = rng.normal(size=(n, 6))
    return np.column_stack([free, free + rng.normal(size=(n, 6))]), free @ [1.2, 0.9, 0.6, 0.4, 0.2, 0.1] - 1.2


def _classes(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw three classes: free columns tell the first one, dear ones the other two from each other."""
    X = rng.normal(size=(n, 9))
    apart = 1.4 * X[:, 4] + 1.0 * X[:, 5] * (X[:, 1] > 0)
    return X, np.column_stack([1.6 * X[:, 0] + 0.5 * X[:, 1] + 0.4, apart, -apart])


def _amounts(n: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw payments, some of them frauds; a missed one costs its amount, which is a free column."""
    amount, free, X = np.exp(rng.normal(4.5, 0.9, n)), rng.normal(size=(n, 5)), rng.normal(size=(n, 4))
    z = 0.8 * free[:, 0] + 0.3 * np.log(amount / 90) + 1.3 * X[:, 0] + 0.8 * X[:, 1] * (free[:, 1] > 0) - 3
    return np.column_stack([amount, free, X]), z


FAMILIES = {
    "rare": Family(1500, _clinic(-4.35, ordered=False), CLINIC, _wrong(200.0, 5000.0)),
    "rare-ordered": Family(1500, _clinic(-4.35, ordered=True), CLINIC, _wrong(200.0, 5000.0)),
    "ordered": Family(3000, _clinic(-2.4, ordered=True), CLINIC, _wrong(60.0, 400.0)),
    "interactions": Family(
        1500, _interactions, {"features": _named("free", 4) | _named("dear", 4, 4.0)}, _wrong(60.0, 60.0)
    ),
    "differ": Family(4000, _differ, {"features": {"context": 1.0} | _named("test", 10, 5.0)}, _wrong(50.0, 70.0)),
    "panels": Family(
        2000,
        _panels,
        {
            "features": _named("free", 4)
            | {f"{panel}{i}": {"cost": 0.5, "needs": [panel]} for panel in ("a", "b", "c") for i in range(3)},
            "resources": {"a": 5.0, "b": 7.0, "c": 9.0},
        },
        _wrong(50.0, 80.0),
    ),
    "jump": Family(1500, _jump, {"features": _named("free", 4) | _named("dear", 3, 4.0)}, _wrong(60.0, 70.0)),
    "noise": Family(1200, _noise, {"features": _named("free", 3) | _named("test", 5, 3.0)}, _wrong(30.0, 100.0)),
    "many": Family(3000, _many, {"features": _named("cheap", 40, 0.4)}, _wrong(25.0, 60.0)),
    "fee": Family(
        3000,
        _fee,
        {
            "features": _named("free", 4) | _named("after", 10, {"cost": 0.3, "needs": ["visit"]}),
            "resources": {"visit": 15.0},
        },
        _wrong(40.0, 120.0),
    ),
    "tiny": Family(300, _tiny, {"features": _named("free", 3) | _named("test", 6, 3.0)}, _wrong(40.0, 60.0)),
    "weak-free": Family(
        3000, _weak_free, {"features": _named("free", 6) | {"bank": 2.0, "bureau": 9.0}}, _wrong(30.0, 120.0)
    ),
    "linear": Family(
        2000,
        _linear,
        {"features": _named("free", 4) | {f"test{i}": float(max(5 - i, 1)) for i in range(8)}},
        _wrong(40.0, 60.0),
    ),
    "free-enough": Family(
        1500, _free_enough, {"features": _named("free", 6) | _named("copy", 6, 2.0)}, _wrong(40.0, 100.0)
    ),
    "classes": Family(
        2000,
        _classes,
        {"features": _named("free", 4) | _named("test", 5, 3.0)},
        {0: {1: 40.0, 2: 60.0}, 1: {0: 50.0, 2: 70.0}, 2: {0: 30.0, 1: 80.0}},
    ),
    "amounts": Family(
        4000,
        _amounts,
        {"features": {"amount": 0.0} | _named("free", 5) | _named("check", 4, 2.0)},
        _wrong(15.0, {"column": "amount"}),
    ),
}  # fmt: skip
