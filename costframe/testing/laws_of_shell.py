"""Laws of estimators: scikit-learn's conventions, labels, categories, frames, settings and errors for bad input."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.errors import CostframeError
from costframe.core.plugins import two_classes_only
from costframe.testing.case import (
    COSTS,
    KINDS,
    Case,
    expect,
    expect_likeliest,
    fit,
    law,
    law_of_fits,
    make_table,
    priced,
    same_bits,
)
from costframe.testing.counting import expect_close, inquire

if TYPE_CHECKING:
    import pandas as pd

COLORS = ("red", "blue", "green", "teal", "pink", "gray")
SOME = 20  # rows to step through one by one


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
    other = evolve(table, X=_frame(table.X, list(reversed(COSTS.names))), y=labels)
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
    found = texts.predict(case.table.fresh)
    expect(set(found) <= set(names), f"predicts {found[:3]} for labels {names}")
    for estimator in (texts, case.fitted()):
        expect_likeliest(estimator, case.table.fresh)
    expect(np.mean(found == names[case.table.y_fresh]) > 1 / len(texts.classes_), "labels come back mixed up")


@law_of_fits
def column_order_of_frames_is_free(case: Case) -> None:
    """Data frames match prices and training data by name, in any order of their columns."""
    table = case.table
    plain = case.fitted()
    estimator = fit(case.make(), _framed(case, order := list(reversed(COSTS.names))))
    straight, turned = _frame(table.fresh, list(COSTS.names)), _frame(table.fresh, order)
    expect(same_bits(case.scores(estimator, straight), case.scores(estimator, turned)), "column order changes scores")
    expect(np.array_equal(estimator.predict(straight), estimator.predict(turned)), "column order changes predictions")
    report, again = estimator.cost(straight), estimator.cost(turned)
    expect(same_bits(report.per_row, again.per_row), "the order of a frame's columns changes costs")
    one, other = plain.cost(table.fresh), report
    close = abs(one.mean - other.mean) <= 0.05 * max(one.mean, 1.0)
    expect(close, f"a model of reversed columns costs {other.mean:g} per row, not {one.mean:g}: prices go by position")


def _frame(X: Any, order: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(X, columns=list(COSTS.names))[order]


def _framed(case: Case, order: list[str]) -> Any:
    from attrs import evolve

    return evolve(case.table, X=_frame(case.table.X, order))


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
    _trial(case, "scan", case.make(few), X=_frame(case.table.X, list(COSTS.names)))
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


@law
def categories_are_split_or_refused(case: Case) -> None:
    """Columns of a category dtype are split by labels in any order of a frame's categories, or refused by name."""
    from attrs import evolve

    table = case.table
    try:
        estimator = fit(case.make(tradeoff=0.0), evolve(table, X=_colored(table.X, COLORS)))
    except CostframeError as error:
        expect("cheap" in str(error), f"a category column is refused without naming it: {error}")
        return
    rows = _colored(table.fresh, COLORS)
    _expect_same_everywhere(case, estimator, rows)
    texts = _colored(table.X, COLORS).astype({"cheap": object})
    plain = fit(case.make(tradeoff=0.0), evolve(table, X=texts))
    labels = plain.predictor_.categories.get("cheap", ())
    expect(set(labels or ()) <= set(COLORS) and bool(labels), "a column of texts is not split by its texts")
    unseen = rows.assign(cheap=rows["cheap"].astype(object).where(rows["cheap"] != "red", "violet"))
    missing = rows.assign(cheap=rows["cheap"].where(rows["cheap"] != "red"))
    expect(
        same_bits(case.scores(estimator, unseen), case.scores(estimator, missing)),
        "a category never seen does not go the way of a missing one",
    )
    values, report = estimator.predictor_.predict(rows), estimator.cost(rows)
    for i in range(SOME):
        end, _ = inquire(estimator.predictor_, {name: rows[name].iloc[i] for name in COSTS.names}, COSTS)
        expect(same_bits(end.value, values[i]), f"row {i}: an inquiry given labels predicts otherwise")
        expect_close(report.per_row[i], end.cost, f"row {i}: an inquiry given labels")


def _expect_same_everywhere(case: Case, estimator: Any, rows: pd.DataFrame) -> None:
    """Expect the same scores for other orders of the categories, and for plain texts."""
    turned = rows.assign(cheap=rows["cheap"].cat.reorder_categories(list(reversed(COLORS))))
    texts = rows.assign(cheap=rows["cheap"].astype(object))
    for name, other in {"another order of categories": turned, "a column of texts": texts}.items():
        expect(np.array_equal(estimator.predict(other), estimator.predict(rows)), f"{name} changes the predictions")
        same = same_bits(case.scores(estimator, other), case.scores(estimator, rows))
        expect(same, f"{name} in a frame changes the scores")


def _colored(X: Any, order: tuple[str, ...]) -> pd.DataFrame:
    """Make a frame whose column "cheap" holds colors, informative as labels but not by their order."""
    import pandas as pd

    frame = pd.DataFrame(np.asarray(X), columns=list(COSTS.names))
    band = np.digitize(frame["cheap"], (-1.0, -0.3, 0.3, 1.0))  # a missing value is in the last
    colors = np.array(["green", "red", "gray", "blue", "pink", "teal"])[band]
    frame = frame.assign(**dict.fromkeys(("free", "iron", "sugar", "scan"), 0.0))
    return frame.assign(cheap=pd.Categorical(colors, categories=list(order)))


HOSTILE: dict[str, Any] = {
    "none": None,
    "empty list": [],
    "empty dict": {},
    "empty text": "",
    "text": "x",
    "huge text": "x" * 10**6,
    "text of controls": "\x1b[31m\u202e\n\ud800\0",
    "bytes": b"x",
    "nan": float("nan"),
    "infinity": float("inf"),
    "minus infinity": -float("inf"),
    "minus zero": -0.0,
    "minus one": -1,
    "zero": 0,
    "one": 1,
    "half": 0.5,
    "huge number": 1e308,
    "minus huge number": -1e308,
    "tiny number": 1e-308,
    "least number": 5e-324,
    "huge whole": 10**30,
    "whole of 64 bits": 2**63,
    "endless whole": 10**5000,
    "true": True,
    "complex": 1j,
    "object": object(),
    "class": int,
    "function": lambda *_: None,
    "numpy whole": np.int8(3),
    "numpy number": np.float32(0.25),
    "numpy nan": np.float64("nan"),
    "numpy time": np.datetime64("NaT"),
    "numpy true": np.bool_(True),
    "array of no dimension": np.array(2),
    "array": np.arange(3.0),
    "table": np.ones((2, 2)),
    "array of objects": np.array([None, {}], object),
    "array of texts": np.array(["a", "b"]),
    "nested list": [[1, [2]], []],
    "list of none": [None],
    "tuple": (1, 2),
    "set": {1},
    "dict of numbers": {0: 1},
    "dict of texts": {"x": "y"},
    "dict of none": {None: None},
}
"""Values that hardly any parameter expects, by a name for each."""

_SMALL = {"n_estimators": 2, "max_leaves": 3, "n_stages": 2, "depth": 2, "n_sets": 2, "max_tries": 1}
_ROWS, _LONGEST, _SAMPLE = 40, 2000, 3


@law
def any_setting_trains_or_is_refused_by_name(case: Case) -> None:
    """A setting of any value and type trains, or is a CostframeError that names it: not another error, nor a hang."""
    kind = list(KINDS).index(case.title)
    for place, name in enumerate(case.parameters):
        start = _SAMPLE * (kind + len(KINDS) * place)  # other values for every parameter and kind
        labels = list(HOSTILE)
        for i in range(start, start + _SAMPLE):
            check_setting(case, name, labels[i % len(labels)])


@law
def settings_out_of_range_are_refused(case: Case) -> None:
    """A setting with an invalid value is a ValueError that names it."""
    shared = (
        "n_estimators",
        "learning_rate",
        "max_leaves",
        "max_depth",
        "min_samples_leaf",
        "l2_regularization",
        "max_bins",
    )
    for name in shared:
        if name in case.parameters:
            for value in (-1, float("nan"), "many"):
                expect_refused(lambda name=name, value=value: case.fit(**{name: value}), name)  # type: ignore[misc]


@law
def unused_settings_are_refused(case: Case) -> None:
    """A given setting without effect is an error that names it."""
    table = case.table
    queries = {} if table.qid is None else {"qid": table.qid}
    if "n_iter_no_change" in case.parameters:
        run = lambda: fit(case.make(n_iter_no_change=5), table)  # noqa: E731
        expect_refused(run, "n_iter_no_change")
    expect_refused(lambda: fit(case.make(), table, sample_weight_val=np.ones(len(table.X))), "sample_weight_val")
    expect_refused(lambda: case.make().fit(table.X, table.y, **queries, qid_val=np.zeros(len(table.X))), "qid_val")
    if not queries:
        expect_refused(lambda: case.make().fit(table.X, table.y, qid=np.arange(len(table.X)) // 10), "qid")


def check_setting(case: Case, name: str, label: str, **settings: Any) -> None:
    """Expect that a small estimator trains with a hostile value of a parameter, or refuses it by name."""
    small = {key: value for key, value in _SMALL.items() if key in case.parameters and key not in case.settings}
    estimator = case.make(**small | settings | {name: HOSTILE[label]})
    table = case.table.take(np.arange(_ROWS))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit(estimator, table).predict(table.fresh)
    except CostframeError as error:
        text = str(error)
        expect(name in text, f"{name} of {label} is refused by a text that does not name it: {text:.200}")
        expect(len(text) <= _LONGEST, f"{name} of {label} is refused by a text of {len(text):,} letters")
    except Exception as error:
        raise AssertionError(f"{name} of {label} raises {type(error).__name__}: {error!s:.200}") from error
