"""Needs ../shared: whether the gains that a plan states for its asks are those that held-out rows realise.

    python benchmarks/reasons.py [heart thyroid nhanes sat12]

For each ask of each test row: the stated gain, beside the loss (or cost of errors) of the row at the stop where it
asked, minus that at its end and minus what it bought after the ask. Bias is stated minus realised, with its standard
error over rows. Plans of losses at the tradeoff 1e-3; plans in money where each wrong class costs what all features do.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from harness.points import markdown
from harness.tables import load, options

if TYPE_CHECKING:
    from costframe.core.arrays import F8, I8

TABLES = ("heart", "thyroid", "nhanes", "sat12")
HEADER = ["plan", "rows", "asks a row", "stated", "realised", "bias", "why, median us"]
_SURE = 1e-15


def main() -> None:
    chosen = options(__doc__, TABLES, known=TABLES).tables
    rows: list[list[Any]] = []
    for name in chosen:
        data = load(name, 0)
        train, test = data.part("train"), data.part("test")
        model = cf.estimator("planner", data.task, costs=data.costs, tradeoff=1e-3, n_jobs=1).fit(train.X, train.y)
        rows.append(measure(f"{name}, loss", model, test.X, log_losses(data.codes(test.y))))
        price = data.costs.full_cost(data.feature_names)
        matrix = np.where(np.eye(len(model.classes_), dtype=bool), 0.0, price)
        priced = cf.CostModel.of(data.costs, errors=matrix)
        model = cf.estimator("planner", data.task, costs=priced, n_jobs=1).fit(train.X, train.y)
        rows.append(measure(f"{name}, money", model, test.X, wrong(data.codes(test.y), price)))
    print(markdown(HEADER, rows))


def log_losses(y: I8) -> Any:
    """Return the log loss of one row, given its number and its prediction."""

    def loss(i: int, value: float | F8) -> float:
        return -float(np.log(max(both(value)[y[i]], _SURE)))

    return loss


def wrong(y: I8, price: float) -> Any:
    """Return the cost of a row's likeliest class, where every error has one price."""

    def loss(i: int, value: float | F8) -> float:
        return price * float(both(value).argmax() != y[i])

    return loss


def both(value: float | F8) -> F8:
    """Return the probabilities of all classes: float64 (M,)."""
    return np.array([1.0 - value, value]) if np.ndim(value) == 0 else np.asarray(value)


def measure(title: str, model: Any, X: F8, loss: Any) -> list[Any]:
    """Compare stated with realised gains of all asks of rows."""
    plan, names = model.predictor_, model.predictor_.feature_names
    stated, realised, times = np.zeros(len(X)), np.zeros(len(X)), []
    n_asks = 0
    for i, row in enumerate(X):
        inquiry, asked = plan.inquire(), []
        values = dict(zip(names, row.tolist(), strict=True))
        while inquiry.needs:
            begun = time.perf_counter()
            why = inquiry.why()
            times.append(time.perf_counter() - begun)
            if why.asks[0].gain is not None:
                before = plan.inquire(known=inquiry_values(inquiry, values), unavailable=rest(plan, inquiry)).answer
                asked.append((why.asks[0].gain, loss(i, before.value), inquiry.cost + why.price, why.tradeoff))
            inquiry.supply({name: values[name] for name in inquiry.needs})
        end = inquiry.answer
        for gain, before, paid, tradeoff in asked:
            stated[i] += gain
            realised[i] += before - loss(i, end.value) - tradeoff * (end.cost - paid)
        n_asks += len(asked)
    gap = stated - realised
    error = gap.std() / np.sqrt(len(X))
    figures = f"{stated.mean():.4g}", f"{realised.mean():.4g}", f"{gap.mean():+.3g} +- {error:.2g}"
    return [title, f"{len(X):,}", f"{n_asks / len(X):.2f}", *figures, f"{1e6 * np.median(times):.0f}"]


def inquiry_values(inquiry: Any, values: dict[str, float]) -> dict[str, float]:
    """Return the values that a row has."""
    return {name: values[name] for name in inquiry.acquired}


def rest(plan: Any, inquiry: Any) -> list[str]:
    """Return the features that a row does not have."""
    return [name for name in plan.feature_names if name not in inquiry.acquired]


if __name__ == "__main__":
    main()
