"""Laws of refusals: invalid rows, labels, validation data and prices are errors that name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from costframe.core.plugins.estimators import two_classes_only
from costframe.testing.case import (
    COSTS,
    Case,
    expect,
    fit,
    law,
    make_table,
    priced,
)
from costframe.testing.laws_of_shell import make_frame


@law
def bad_data_are_refused_by_name(case: Case) -> None:
    """Invalid rows, labels and weights are a ValueError whose text names them."""
    X, y, n = case.table.X, case.table.y, len(case.table.X)
    spoiled = y.astype(np.float64)
    spoiled[3] = np.nan
    sixth = np.arange(n) == 5
    _trial(case, "weight", weight=np.where(sixth, -1.0, 1.0))
    _trial(case, "weight", weight=np.where(sixth, np.nan, 1.0))
    _trial(case, "weight", weight=np.ones(n - 1))
    _trial(case, "weight", weight=np.zeros(n))
    _trial(case, "y nan infinity", y=spoiled)
    _trial(case, "y inconsistent samples label", y=y[:-1])
    _trial(case, "2d dimension", X=X[:, 0])
    if case.is_classifier:
        _trial(case, "class", y=np.zeros(n, np.int64))
    if case.table.qid is not None:
        _trial(case, "qid", qid=case.table.qid[:-1])
    expect_refused(lambda: case.fitted().predict(X[:, :-1]), "features columns")
    expect_refused(lambda: case.fitted().cost(X[:, :-1]), "features columns")


@law
def a_third_class_is_refused_by_name(case: Case) -> None:
    """A classifier with scikit-learn's tag for two classes trains with three, or refuses them with a clear text."""
    if case.n_classes != 2 or not two_classes_only(case.estimator_class):
        return
    three = make_table(case.task, 3)
    try:
        estimator = fit(case.make(), three)
    except ValueError as error:
        expect("class" in str(error), f"three classes are refused with a text that does not name them: {error}")
    else:
        p = estimator.predict_proba(three.fresh)
        expect(p.shape == (len(three.fresh), 3), f"three classes are taken, but probabilities have shape {p.shape}")


@law
def bad_validation_data_are_refused_by_name(case: Case) -> None:
    """Incomplete validation data, or data that do not fit the training data, are a ValueError that names the fault."""
    X, y = case.table.X, case.table.y
    _trial(case, "val", X_val=X)
    _trial(case, "val", y_val=y)
    _trial(case, "val", X_val=X, y_val=y[:-1])
    _trial(case, "val", X_val=X[:, :-1], y_val=y)
    if case.is_classifier:
        _trial(case, "val", X_val=X, y_val=y + 1)


@law
def bad_prices_are_refused_by_name(case: Case) -> None:
    """An invalid tradeoff, and prices that do not fit the columns, are a ValueError that names them."""
    few = {"features": dict.fromkeys(COSTS.names[:-1], 1.0)}
    for tradeoff in (-1.0, float("nan"), "much"):
        _trial(case, "tradeoff", case.make(tradeoff=tradeoff))  # type: ignore[arg-type] # that is the point
    _trial(case, "scan", case.make(few), X=make_frame(case.table.X, list(COSTS.names)))
    _trial(case, "price", case.make(few))
    _trial(case, "price", case.make(priced(features={"surplus": 1.0})))


def _trial(case: Case, words: str, estimator: Any = None, **changes: Any) -> None:
    """Expect that fit refuses the table with `changes`."""
    table = case.table
    given = {"X": table.X, "y": table.y} | ({} if table.qid is None else {"qid": table.qid}) | changes
    weight = given.pop("weight", None)
    chosen = case.make() if estimator is None else estimator
    expect_refused(lambda: chosen.fit(given.pop("X"), given.pop("y"), weight, **given), words)


def expect_refused(run: Callable[[], object], words: str) -> None:
    """Expect a ValueError whose text has one of the words."""
    try:
        run()
    except ValueError as error:
        named = any(word in str(error).lower() for word in words.split())
        expect(named, f"refused with a text that names none of {words.split()}: {error}")
    else:
        expect(False, f"accepted, expected a ValueError that names one of {words.split()}")
