"""Laws of estimators: scikit-learn's conventions, failed fits, pickles, labels and the order of columns."""

from __future__ import annotations

import inspect
import pickle
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import CostframeError
from costframe.testing.case import (
    COSTS,
    Case,
    expect,
    expect_likeliest,
    fit,
    law,
    law_of_fits,
    same_bits,
)

if TYPE_CHECKING:
    import pandas as pd


@law
def algorithm_is_described(case: Case) -> None:
    """An algorithm has a name to use, a one-line summary and a reference."""
    algorithm = case.algorithm
    for text in (algorithm.name, algorithm.summary, algorithm.reference):
        expect(isinstance(text, str) and text.strip() and "\n" not in text, f"expected one line of text, got {text!r}")
    expect(inspect.getdoc(case.estimator_class), f"{case.estimator_class.__name__} has no docstring")


@law
def estimator_conventions(case: Case) -> None:
    """Constructors store what they get, `clone` works, `fit` returns self and adds only names that end in "_"."""
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    expect(case.parameters and {"costs", "tradeoff"} <= set(case.parameters), "expected parameters costs and tradeoff")
    estimator = case.make(costs := COSTS.to_dict())
    expect(estimator.get_params()["costs"] is costs, "the constructor changed or copied costs")
    before = dict(vars(estimator))
    more = sorted(vars(clone(estimator)))
    expect(set(more) == set(case.parameters), f"the constructor sets more than its parameters: {more}")
    try:
        estimator.predict(case.table.fresh)
    except NotFittedError:
        pass
    else:
        expect(False, "predict before fit does not raise NotFittedError")
    expect(fit(estimator, case.table) is estimator, "fit does not return the estimator itself")
    check_is_fitted(estimator)
    for name, value in estimator.get_params(deep=False).items():
        expect(value is costs if name == "costs" else value == before[name], f"fit changed the parameter {name}")
    for name in set(vars(estimator)) - set(before):
        expect(
            name.endswith("_") or name.startswith("_"), f"fit sets {name}, expected a name that ends in an underscore"
        )
    expect(estimator.n_features_in_ == case.table.X.shape[1], "n_features_in_ is not the number of columns")


@law
def a_failed_fit_changes_nothing(case: Case) -> None:
    """A second fit that fails, early or late, leaves the first model whole: classes, columns and reports, too."""
    from attrs import evolve

    estimator, table = copy(case.fitted()), case.table
    labels = table.y + 10 if case.is_classifier else table.y
    other = evolve(table, X=make_frame(table.X, list(reversed(COSTS.names))), y=labels)
    train = estimator._train  # noqa: SLF001 - what every estimator has

    def train_and_fail(*data: Any, **more: Any) -> None:
        train(*data, **more)
        raise CostframeError("the end of training")

    for late, given in ((True, {}), (False, {"X_val": other.X, "y_val": labels[:-1]})):
        if late:
            estimator._train = train_and_fail  # noqa: SLF001
        before = dict(vars(estimator))
        try:
            fit(estimator, other, **given)
        except CostframeError:
            after = vars(estimator)
            names = {name for name in before.keys() | after.keys() if before.get(name) is not after.get(name)}
            expect(not names, f"a fit that fails changes {', '.join(sorted(names))}")
        vars(estimator).pop("_train", None)


@law
def pickled_is_the_same(case: Case) -> None:
    """A copy through pickle, as for processes of a grid search, predicts and costs the same, labels included."""
    estimator, rows = case.fitted(), case.table.fresh
    again = pickle.loads(pickle.dumps(estimator))  # noqa: S301 - our own bytes
    expect(np.array_equal(again.predict(rows), estimator.predict(rows)), "a pickled copy predicts otherwise")
    expect(same_bits(again.cost(rows).per_row, estimator.cost(rows).per_row), "a pickled copy costs otherwise")
    if case.is_classifier:
        expect(np.array_equal(again.classes_, estimator.classes_), "a pickled copy has other classes")


@law
def labels_come_back(case: Case) -> None:
    """Classifiers predict the labels of the training data, of any type."""
    if not case.is_classifier:
        return
    names = np.array(["pear", "apple", "quince"])
    texts = case.make().fit(case.table.X, names[case.table.y])
    expect(texts.classes_.tolist() == sorted(set(names[case.table.y])), f"classes_ is {texts.classes_}")
    labels = texts.predict(case.table.fresh)
    expect(set(labels) <= set(names), f"predicts {labels[:3]} for labels {names}")
    for estimator in (texts, case.fitted()):
        expect_likeliest(estimator, case.table.fresh)
    expect(np.mean(labels == names[case.table.y_fresh]) > 1 / len(texts.classes_), "labels come back mixed up")


@law_of_fits
def column_order_of_frames_is_free(case: Case) -> None:
    """Data frames match prices and training data by name, in any order of their columns."""
    table = case.table
    plain = case.fitted()
    estimator = fit(case.make(), _framed(case, order := list(reversed(COSTS.names))))
    straight, turned = make_frame(table.fresh, list(COSTS.names)), make_frame(table.fresh, order)
    expect(same_bits(case.scores(estimator, straight), case.scores(estimator, turned)), "column order changes scores")
    expect(np.array_equal(estimator.predict(straight), estimator.predict(turned)), "column order changes predictions")
    report, again = estimator.cost(straight), estimator.cost(turned)
    expect(same_bits(report.per_row, again.per_row), "the order of a frame's columns changes costs")
    cost_in_order, other = plain.cost(table.fresh), report
    close = abs(cost_in_order.mean - other.mean) <= 0.05 * max(cost_in_order.mean, 1.0)
    expect(
        close,
        f"a model of reversed columns costs {other.mean:g} per row, not {cost_in_order.mean:g}: prices go by position",
    )


def make_frame(X: Any, order: list[str]) -> pd.DataFrame:
    """Make a frame of rows in the order of `COSTS`, with its columns in another order."""
    import pandas as pd

    return pd.DataFrame(X, columns=list(COSTS.names))[order]


def _framed(case: Case, order: list[str]) -> Any:
    from attrs import evolve

    return evolve(case.table, X=make_frame(case.table.X, order))
