"""Spare trees answer where a stage tree would need what is unavailable, and all else stays as it is."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from attrs import asdict, evolve
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score

import costframe as cf
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.set_losses import SetLosses
from costframe.core.stages.stand_ins import StandIn
from costframe.errors import StageError

NAMES = ("a", "b", "c", "d")


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows whose label depends on `a`, of which `b` is a noisy copy, and a little on `c`; `d` is noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    return X, (2.0 * X[:, 0] + X[:, 2] + random.normal(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def prices() -> cf.CostModel:
    """Return prices with a resource that two features need."""
    return cf.CostModel.from_dict({
        "features": {"a": 3.0, "b": {"cost": 1.0, "needs": ["lab"]}, "c": {"cost": 0.5, "needs": ["lab"]}, "d": 0.1},
        "resources": {"lab": 2.0},
    })  # fmt: skip


@pytest.fixture(scope="module")
def predictor(prices: cf.CostModel) -> cf.Predictor:
    """Return a model that reads `a` in every row, and others in some."""
    X, y = drawn(1500, 0)
    return cf.estimator("cegb", costs=prices, tradeoff=3e-3, n_estimators=40, n_jobs=1).fit(X, y).predictor_


@pytest.mark.parametrize("down", [("a",), ("b", "d"), ("lab",), ("a", "c")])
def test_tables_and_inquiries_agree_to_the_bit(predictor, down):
    X = drawn(150, 1)[0]
    values, report = predictor.predict(X, unavailable=down), predictor.cost(X, unavailable=down)
    ends = [cf.predict_one(predictor, dict(zip(NAMES, row, strict=True)), unavailable=down) for row in X.tolist()]
    assert np.array_equal(values, [end.value for end in ends])
    assert np.array_equal(report.per_row, [end.cost for end in ends])
    assert np.array_equal(report.cut, [end.reason == "unavailable" for end in ends])
    barred = {"b", "c"} if down == ("lab",) else set(down)
    assert not barred.intersection(name for end in ends for name in end.acquired)


def test_without_the_best_feature_rows_are_ranked_by_what_is_left(predictor):
    X, y = drawn(4000, 2)
    left = roc_auc_score(y, predictor.predict(X, unavailable=["a"]))
    own = roc_auc_score(y, evolve(predictor, fallbacks=predictor.fallbacks).predict(X, unavailable=["a"]))
    assert left > own + 0.045  # expected outputs alone
    assert left > roc_auc_score(y, X[:, 1]) - 0.01


def test_rows_that_need_nothing_unavailable_keep_their_answer_and_price(predictor):
    X = drawn(2000, 3)[0]
    report = predictor.cost(X, unavailable=["d"])
    whole = ~report.cut
    assert whole.any()
    assert report.cut.any()
    assert np.array_equal(predictor.predict(X, unavailable=["d"])[whole], predictor.predict(X)[whole])
    assert np.array_equal(report.per_row[whole], predictor.cost(X).per_row[whole])


def test_a_row_that_loses_a_feature_on_its_way_keeps_what_it_has(predictor):
    row = dict(zip(NAMES, drawn(1, 4)[0][0].tolist(), strict=True))
    inquiry = predictor.inquire()
    first = inquiry.needs
    inquiry.supply({name: row[name] for name in first})
    gone = next(name for name in NAMES if name not in first)
    inquiry = inquiry.without([gone])
    while inquiry.needs:
        assert not {*first, gone}.intersection(inquiry.needs)
        inquiry.supply({name: row[name] for name in inquiry.needs})
    again = predictor.resume(inquiry.to_json())
    assert asdict(again.answer) == asdict(inquiry.answer)


def test_known_features_are_used_and_cost_nothing(predictor):
    X, y = drawn(300, 5)
    ends = [predictor.inquire(known={"b": row[1]}, unavailable=["a", "c", "d"]).answer for row in X.tolist()]
    assert {end.cost for end in ends} == {0.0}
    assert roc_auc_score(y, [end.value for end in ends]) > roc_auc_score(y, X[:, 1]) - 0.02


DOWN = [("a",), ("b", "d"), ("lab",)]
CAPS = (0.0, 0.1, 0.5, 2.5, 3.0, 3.1, 3.5)


@pytest.mark.parametrize("down", DOWN)
@pytest.mark.parametrize("cap", CAPS)
def test_under_a_cap_tables_inquiries_and_files_agree_to_the_bit(predictor, down, cap, tmp_path):
    X, limits = drawn(60, 6)[0], {"unavailable": down, "max_cost": cap}
    report = predictor.cost(X, **limits)
    cf.save(predictor, tmp_path / "a.model")
    for model in (predictor, cf.load(tmp_path / "a.model")):
        ends = [cf.predict_one(model, dict(zip(NAMES, row, strict=True)), **limits) for row in X.tolist()]
        assert np.array_equal(model.predict(X, **limits), [end.value for end in ends])
        assert np.array_equal(report.per_row, [end.cost for end in ends])
        assert np.array_equal(report.cut, [end.reason != "complete" for end in ends])
        assert max(end.cost for end in ends) <= cap


@pytest.mark.parametrize("down", DOWN)
def test_a_cap_that_pays_for_all_that_is_left_changes_nothing(predictor, prices, down):
    X = drawn(200, 6)[0]
    gone = {*down} | ({"b", "c"} if down == ("lab",) else set())
    for cap in (prices.full_cost([name for name in NAMES if name not in gone]), prices.full_cost()):
        free, report = predictor.predict(X, unavailable=down), predictor.cost(X, unavailable=down)
        assert np.array_equal(predictor.predict(X, unavailable=down, max_cost=cap), free)
        assert np.array_equal(predictor.cost(X, unavailable=down, max_cost=cap).per_row, report.per_row)


def test_what_a_cap_can_buy_is_bought_and_more_money_tells_more(predictor):
    """Of what is left without `a`, 3 pay for `b`, its noisy copy, and 3.5 for `c`, too; expected outputs buy little."""
    X, y = drawn(4000, 2)
    alone = evolve(predictor, fallbacks=predictor.fallbacks, spare=None)
    scores = [roc_auc_score(y, predictor.predict(X, unavailable=["a"], max_cost=cap)) for cap in CAPS]
    others = [roc_auc_score(y, alone.predict(X, unavailable=["a"], max_cost=cap)) for cap in CAPS]
    assert scores[CAPS.index(3.0)] > roc_auc_score(y, X[:, 1]) - 0.01
    assert scores[CAPS.index(2.5)] > roc_auc_score(y, X[:, 2]) - 0.01
    assert np.diff(scores).min() > -0.01
    assert np.subtract(scores, others).min() > -0.01
    assert scores[CAPS.index(3.0)] > others[CAPS.index(3.0)] + 0.01


def test_rows_that_only_the_cap_cuts_say_so(predictor):
    """All rows read `a`, `b` and `c`, hardly any `d`."""
    rows = [dict(zip(NAMES, row, strict=True)) for row in drawn(50, 3)[0].tolist()]
    for down, reason in (("d", "max_cost"), ("a", "unavailable")):
        ends = [cf.predict_one(predictor, row, unavailable=[down], max_cost=3.0) for row in rows]
        assert {end.reason for end in ends} == {reason}


def test_under_a_cap_what_is_known_is_free_and_leaves_money_for_others(predictor):
    row, limits = dict(zip(NAMES, drawn(1, 4)[0][0].tolist(), strict=True)), {"unavailable": ["a"], "max_cost": 0.5}

    def ask(**known):
        inquiry = predictor.inquire(known=known, **limits)
        while inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
        return inquiry.answer

    assert ask().acquired in ((), ("d",))
    assert ask(b=row["b"]).acquired == ("c",)  # the resource of both is paid for
    assert ask(b=row["b"]).cost == 0.5
    assert ask(b=row["b"]).value != ask().value


def test_a_feature_that_goes_down_on_the_way_leaves_the_rest_of_the_cap(predictor):
    for row in drawn(30, 4)[0].tolist():
        values = dict(zip(NAMES, row, strict=True))
        inquiry = predictor.inquire(max_cost=6.0)
        gone, *came = inquiry.needs
        inquiry = inquiry.without([gone], {name: values[name] for name in came})
        while inquiry.needs:
            assert gone not in inquiry.needs
            inquiry.supply({name: values[name] for name in inquiry.needs})
        assert inquiry.answer.cost <= 6.0
        assert asdict(predictor.resume(inquiry.to_json()).answer) == asdict(inquiry.answer)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_an_adopted_forest_in_an_outage_loses_less_under_larger_caps(kind, prices):
    X, y = drawn(1200, 7)
    adopted = cf.adopt(kind(30, min_samples_leaf=5, random_state=0, n_jobs=1).fit(X, y), NAMES)
    spared, test = adopted.with_costs(prices).with_fallbacks(X), drawn(800, 8)[0]
    whole = adopted.predict(test)
    off = [np.abs(spared.predict(test, unavailable=["a"], max_cost=cap) - whole).mean() for cap in CAPS]
    assert np.diff(off).max() < 0.01
    assert off[-1] < 0.8 * off[0]


def test_what_was_free_is_bought_where_it_comes_to_cost_something(prices, tmp_path):
    X, y = drawn(1200, 7)
    adopted = cf.adopt(RandomForestClassifier(30, min_samples_leaf=5, random_state=0, n_jobs=1).fit(X, y), NAMES)
    free = cf.CostModel.from_dict(prices.to_dict() | {"features": {"a": 3.0, "b": 0.0, "c": 0.0, "d": 0.1}})
    cf.save(adopted.with_costs(free).with_fallbacks(X), tmp_path / "a.model")
    later, row = cf.load(tmp_path / "a.model").with_costs(prices), dict(zip(NAMES, X[0].tolist(), strict=True))
    bought = {cap: cf.predict_one(later, row, unavailable=["a"], max_cost=cap).acquired for cap in (2.9, 3.0, 3.5)}
    assert bought == {2.9: ("c", "d"), 3.0: ("b",), 3.5: ("b", "c")}


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("classes", [2, 3])
def test_adopted_forests_learn_from_rows_without_labels(kind, classes):
    X, y = drawn(1200, 7)
    y = np.digitize(2.0 * X[:, 0] + X[:, 2], [0.0] if classes == 2 else [-1.0, 1.0])
    model = kind(30, min_samples_leaf=5, random_state=0, n_jobs=1).fit(X, y)
    adopted, test = cf.adopt(model, NAMES), drawn(800, 8)[0]
    spared = adopted.with_fallbacks(X)
    assert np.array_equal(spared.predict(test), adopted.predict(test))
    whole, found = adopted.predict(test), spared.predict(test, unavailable=["a"])
    assert found.shape == whole.shape

    def off(values):
        return float(np.abs(values - whole).mean())

    alone = evolve(spared, fallbacks=spared.fallbacks)  # expected outputs
    assert alone.spare is None
    assert off(found) < 0.8 * off(alone.predict(test, unavailable=["a"]))


def test_saved_and_pickled_models_answer_alike_and_hold_no_rows(predictor, tmp_path):
    X = drawn(100, 9)[0]
    cf.save(predictor, tmp_path / "a.model")
    for other in (cf.load(tmp_path / "a.model"), pickle.loads(pickle.dumps(predictor))):  # noqa: S301 - its own
        assert np.array_equal(other.predict(X, unavailable=["a"]), predictor.predict(X, unavailable=["a"]))
        assert other.digest == predictor.digest
        assert other.spare.spare is None


def test_what_cannot_stand_in_is_refused_and_few_rows_teach_nothing(predictor):
    assert evolve(predictor, spare=None, fallbacks=None).spare is None
    assert predictor.with_fallbacks(drawn(40, 0)[0]).spare is None
    short = evolve(predictor.spare, set_losses=SetLosses.untried(AbsenceLosses.none(3)))
    with pytest.raises(StageError, match="set_losses: expected sets of 4 features, got 3"):
        evolve(predictor, spare=short)
    other = cf.StageTree(cf.WeakLearnerBank.columns(NAMES), (cf.Answer([0], [1.0], [0.0]),))
    with pytest.raises(StageError, match="spare: expected trees over the features of the model"):
        evolve(predictor, spare=other)


def test_nothing_stands_in_where_evaluation_has_a_price(predictor):
    prices = predictor.costs.select(NAMES)
    limits = predictor.terms(unavailable=["a"]).limits
    assert StandIn.of(predictor, prices, limits) is not None
    assert StandIn.of(predictor, evolve(prices, learner=0.1), limits) is None
