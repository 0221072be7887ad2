"""Laws of training: effects of prices, tradeoff, weights and missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

from costframe.core.arrays import F8
from costframe.core.errors import ParameterError
from costframe.core.workers import Workers
from costframe.testing.case import COSTS, Case, Table, expect, fit, law, law_of_fits, make_table, priced, same_bits
from costframe.testing.parts import run_together
from costframe.training.data import Traits

HUGE = 1e6
UNIT = 1024  # a power of two, so that no digit changes


@law
def learns(case: Case) -> None:
    """At tradeoff zero the model is clearly better on fresh rows than a constant."""
    table, estimator = case.table, case.fitted(0.0)
    more = {} if table.qid_fresh is None else {"qid": table.qid_fresh}
    score = estimator.score(table.fresh, table.y_fresh, **more)
    if case.is_classifier:
        constant, margin = float(np.unique(table.y_fresh, return_counts=True)[1].max() / len(table.y_fresh)), 0.15
    elif case.task == "regression":
        constant, margin = 0.0, 0.3
    else:
        constant, margin = _ndcg_by_chance(table), 0.1
    expect(score >= constant + margin, f"scores {score:.3f} at tradeoff 0, a constant scores {constant:.3f}")


def _ndcg_by_chance(table: Table) -> float:
    from costframe.training.scoring import ndcg_at_5

    rng = np.random.default_rng(0)
    drawn = [ndcg_at_5(table.y_fresh, rng.random(len(table.y_fresh)), None, table.qid_fresh) for _ in range(5)]
    return float(np.mean(drawn))


@law
def huge_tradeoff_buys_nothing_priced(case: Case) -> None:
    """At a huge tradeoff, rows acquire only free features."""
    report = case.fit(tradeoff=HUGE).cost(case.table.fresh)
    expect(report.mean == 0, f"pays {report.mean:g} per row at tradeoff {HUGE:g}: {report.by_feature}")


@law
def cost_falls_as_tradeoff_rises(case: Case) -> None:
    """At tradeoff 0 rows buy features, and a higher tradeoff does not raise the cost."""
    free, some = (case.fitted(tradeoff).cost(case.table.fresh).mean for tradeoff in (0.0, 0.1))
    expect(free > 0, "nothing priced is acquired at tradeoff 0")
    expect(some <= free, f"pays {some:g} per row at tradeoff 0.1, more than {free:g} at tradeoff 0")


@law_of_fits
def zero_tradeoff_ignores_prices(case: Case) -> None:
    """At tradeoff zero the model is the same for any prices."""
    plain = case.fit(costs=dict.fromkeys(("features",), dict.fromkeys(COSTS.names, 1.0)), tradeoff=0.0)
    same = same_bits(case.scores(plain), case.scores(case.fitted(0.0)))
    expect(same, "two price tables give different models at tradeoff 0")


@law_of_fits
def zero_prices_are_plain(case: Case) -> None:
    """If all prices are zero, the tradeoff has no effect."""
    free = {"features": dict.fromkeys(COSTS.names, 0.0)}
    same = same_bits(*(case.scores(case.fit(free, tradeoff)) for tradeoff in (0.0, HUGE)))
    expect(same, f"with all prices zero, tradeoff {HUGE:g} gives another model than tradeoff 0")


@law_of_fits
def unit_of_prices_is_free(case: Case) -> None:
    """Prices 1,024 times as high at a tradeoff as many times lower give the same model at 1,024 times the cost."""
    table, rows = COSTS.to_dict(), case.table.fresh
    cents = {
        kind: {name: _in_cents(entry) for name, entry in table[kind].items()} for kind in ("features", "resources")
    }
    other, usual = case.fit(cents, 0.01 / UNIT), case.fitted(0.01)
    expect(same_bits(case.scores(other), case.scores(usual)), "prices in another unit give another model")
    scaled = same_bits(other.cost(rows).per_row, UNIT * usual.cost(rows).per_row)
    expect(scaled, "prices in another unit do not cost as many times as much")


def _in_cents(entry: Any) -> dict[str, Any]:
    price = entry if isinstance(entry, dict) else {"cost": entry}
    return {**price, "cost": UNIT * price["cost"]}


@law
def of_equal_features_the_cheaper_is_bought(case: Case) -> None:
    """Of two columns with the same values, no row buys the more expensive one, in either order."""
    for dear, cheap in ((5.0, 0.5), (0.5, 5.0)):
        prices = {"first": dear, "second": cheap}
        _expect_unbought(case, {"features": prices}, "first" if dear > cheap else "second")


@law
def resources_count_in_training(case: Case) -> None:
    """Of two columns with the same values, no row buys the one that needs an expensive resource."""
    for dear in ("first", "second"):
        features = {name: {"cost": 0.5, "needs": ["courier"] if name == dear else []} for name in ("first", "second")}
        resources = {"courier": {"cost": 0.0, "needs": ["office"]}, "office": 5.0}  # the price is that of a need's need
        _expect_unbought(case, {"features": features, "resources": resources}, dear)


def _expect_unbought(case: Case, prices: dict[str, Any], dear: str) -> None:
    signal = case.table.X[:, COSTS.names.index("scan")]
    table = _columns(case.table, signal, signal)
    estimator = fit(case.make(prices, tradeoff=1e-3), table)
    bought = estimator.cost(table.X).acquired.any(axis=0)
    dearer = 0 if dear == "first" else 1
    expect(not bought[dearer], f"the dearer of two equal features is bought: {prices}")
    expect(bought[1 - dearer], f"at tradeoff 0.001 the cheaper of two equal features is not bought: {prices}")


def _columns(table: Table, *columns: F8) -> Table:
    from attrs import evolve

    X = np.stack(columns, axis=1)
    return evolve(table, X=X, fresh=X[: len(table.fresh)])


@law
def useless_columns_are_not_bought(case: Case) -> None:
    """Columns that are constant or always missing are allowed, and no row buys them."""
    n = len(case.table.X)
    table = case.table.with_columns(constant=np.full(n, 3.0), empty=np.full(n, np.nan))
    estimator = fit(case.make(priced(features={"constant": 0.5, "empty": 0.5})), table)
    bought = estimator.cost(table.fresh).acquired.any(axis=0)
    expect(not bought[-2:].any(), "a column that is constant or always missing is bought")


@law_of_fits
def weights_are_repetitions(case: Case) -> None:
    """A sample weight of two is a row given twice."""
    counts = np.arange(len(case.table.X)) % 3 + 1
    # min_samples_leaf counts rows without weights, as in scikit-learn, so it must not limit splits here.
    limits = {"min_samples_leaf": 1} if "min_samples_leaf" in case.parameters else {}
    weighted = fit(case.make(**limits), case.table, counts.astype(np.float64))
    repeated = fit(case.make(**limits), case.table.take(np.repeat(np.arange(len(counts)), counts)))
    _expect_close(case, weighted, repeated, "weights 1, 2, 3 give another model than rows given one, two, three times")


@law_of_fits
def rows_of_weight_zero_are_dropped(case: Case) -> None:
    """Rows of weight zero have no effect, at any values and labels."""
    weight = (np.arange(len(case.table.X)) % 4 > 0).astype(np.float64)
    spoiled = case.table.take(np.arange(len(weight)))
    spoiled.X[weight == 0] = np.nan
    spoiled.X[weight == 0, 1] = 1e6
    spoiled.y[weight == 0] = spoiled.y.max() + 3
    weighted = fit(case.make(), spoiled, weight)
    dropped = fit(case.make(), case.table.take(np.flatnonzero(weight)))
    if case.is_classifier:
        expect(
            np.array_equal(weighted.classes_, dropped.classes_), f"classes {weighted.classes_} hold one of weight zero"
        )
    _expect_close(case, weighted, dropped, "rows of weight zero change the model")


def _expect_close(case: Case, model: Any, other: Any, otherwise: str) -> None:
    a, b = case.scores(model), case.scores(other)
    expect(a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-6), otherwise)


@law_of_fits
def deterministic(case: Case) -> None:
    """Two fits to the same data give the same model, to the last bit."""
    expect(same_bits(case.scores(case.fit()), case.scores(case.fitted())), "two fits to the same data differ")


@law_of_fits
def threads_change_nothing(case: Case) -> None:
    """The number of threads does not change the model."""
    if "n_jobs" in case.parameters:
        serial, threaded = (case.scores(case.fit(n_jobs=n_jobs)) for n_jobs in (1, 2))
        expect(same_bits(serial, threaded), "n_jobs=1 and n_jobs=2 give different models")


@law_of_fits
def workers_train_the_model_of_all_rows(case: Case) -> None:
    """Two workers that train together, each on a part of the rows, both have the model of one with all rows."""
    if not Traits.of(case.estimator_class).trains_together:
        return
    table = case.table
    of_row = (np.arange(len(table.X)) if table.qid is None else table.qid) % 3 == 0  # a third, or of the queries

    def train(workers: Workers) -> Any:
        part = table.take(of_row == bool(workers.rank))
        queries = {} if part.qid is None else {"qid": part.qid}
        return case.make().fit_part(workers, part.X, part.y, **queries)

    try:
        trained = run_together(2, train)
    except ParameterError as error:
        expect("one machine" in str(error), f"training on parts is refused: {error}")
        return  # some settings may be for one machine
    for estimator in trained:
        _expect_close(case, estimator, case.fitted(), "a worker has another model than one with all rows")
        bought = (model.cost(table.fresh).acquired for model in (estimator, case.fitted()))
        expect(np.array_equal(*bought), "a worker's model acquires other features than that of one with all rows")


@law
def predictions_are_proper(case: Case) -> None:
    """Predictions are finite for missing and extreme values; probabilities lie in [0, 1] and add up to one."""
    d = case.table.X.shape[1]
    extreme = np.concatenate([np.full((1, d), value) for value in (np.nan, 0.0, 1e9, -1e9)])
    rows = np.concatenate([case.table.fresh, extreme])
    for tradeoff in (0.0, 0.1):
        estimator = case.fitted(tradeoff)
        expect(np.isfinite(case.scores(estimator, rows)).all(), "a score is not finite")
        if case.is_classifier:
            p = estimator.predict_proba(rows)
            expect(p.shape == (len(rows), case.n_classes), f"probabilities have shape {p.shape}")
            expect(((p >= 0) & (p <= 1)).all() and np.allclose(p.sum(axis=1), 1), "probabilities do not add up to one")
        else:
            expect(np.isfinite(estimator.predict(rows)).all(), "a prediction is not finite")


@law
def input_is_untouched(case: Case) -> None:
    """Neither fit nor predict changes its arguments."""
    table, prices = make_table(case.task, case.n_classes), COSTS.to_dict()
    weight = np.ones(len(table.X))
    given = [table.X, table.y, table.fresh, weight]
    before = [array.copy() for array in given]
    estimator = fit(case.make(prices), table, weight)
    estimator.predict(table.fresh)
    estimator.cost(table.fresh)
    for array, copy, name in zip(given, before, ("X", "y", "X", "sample_weight"), strict=True):
        expect(np.array_equal(array, copy, equal_nan=True), f"{name} was changed in place")
    expect(prices == COSTS.to_dict(), "the price table was changed in place")
