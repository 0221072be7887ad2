"""What caps buy: the best set by estimate that they pay for, more under larger caps, and what that does for a score."""

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

import costframe as cf
from costframe.core.cap_fits.choices import _prefer_fewer_tests, _surely_least
from costframe.core.cap_fits.near_rows import cross_with_near_rows
from costframe.core.cap_fits.partial_scores import PartialScores
from costframe.core.caps import walk_under_limits
from costframe.core.prices.limits import Limits
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.cap_ranks import MOST_ALL, Choice, Wares, rank_features
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.first_set import FirstSet
from costframe.core.stages.set_losses import SetLosses
from costframe.errors import StageError
from costframe.testing import same_bits

pytestmark = pytest.mark.engine

SERVICES = {"form": 1.0, "account": 1.5, "device": 2.0, "history": 3.0, "income": 5.0, "bureau": 35.0}
STRENGTHS = {"form": 1.3, "account": 1.1, "device": 1.0, "history": 0.55, "income": 0.55, "bureau": 0.9}
NAMES = [f"{name}{i}" for name in SERVICES for i in range(2)]
COSTS = cf.CostModel.of(
    {"features": {name: {"cost": 0.0, "needs": [name[:-1]]} for name in NAMES}, "resources": SERVICES}
)


@st.composite
def choices(draw):
    """Draw units with prices of their own and shared ones, and losses of sets of their features."""
    n = draw(st.integers(1, 5))
    cost = np.array(draw(st.lists(st.sampled_from((0.5, 1.0, 3.0)), min_size=n, max_size=n)))
    needs = np.array(draw(st.lists(st.booleans(), min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    wares = Wares(np.eye(n, dtype=np.bool_), cost, needs, np.array([2.0, 5.0]))
    every = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.bool_)
    weights = np.array(draw(st.lists(st.sampled_from((0.0, 0.25, 1.0)), min_size=2 * n, max_size=2 * n)))
    absence = AbsenceLosses(0.0, np.vstack([np.eye(n), np.ones((n, n))]), weights, np.zeros(2 * n))
    losses = np.array(draw(st.lists(st.sampled_from((0.0, 0.5, 1.0, 2.0)), min_size=len(every), max_size=len(every))))
    tried = SetLosses(absence, every, losses)
    return tried if draw(st.booleans()) else SetLosses.untried(absence), wares


def price_of(wares, units):
    """Price of units with the resources that they need."""
    return wares.cost[units].sum() + wares.resource_cost[wares.needs[units].any(axis=0)].sum()


@given(choices(), st.sampled_from((0.0, 1.0, 2.5, 4.0, 8.0, 20.0)))
def test_a_cap_buys_the_best_set_that_it_pays_for(case, cap):
    losses, wares = case
    n = len(wares.cost)
    table = rank_features(losses, wares, np.zeros(1), np.ones(1))
    ranks = table.of(cap)
    first = ranks == 0
    assert price_of(wares, first) <= cap
    every = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.bool_)
    lost = losses.losses if len(losses.sets) else losses.absence.of(every)
    affordable = np.array([price_of(wares, units) <= cap for units in every])
    assert lost[(every == first).all(axis=1)][0] == lost[affordable].min()  # so a larger cap is never worse
    assert sorted(ranks[~first].tolist()) == list(range(1, 1 + np.count_nonzero(~first)))
    loose = rank_features(losses, wares, np.array([0.0, 0.5]), np.array([1.0, np.inf]))
    assert loose.of(0.4 * wares.price).tolist() == table.of(0.4 * wares.price).tolist()
    assert not loose.of(0.6 * wares.price).any()  # the order of learners chooses


def test_many_units_are_chosen_nearly_as_well_as_few():
    """Greedily, with the units that gain most first, as an exhaustive search of the same knapsack finds."""
    rng = np.random.default_rng(0)
    n = MOST_ALL
    for _ in range(20):
        wares = Wares(np.eye(n, dtype=np.bool_), rng.integers(1, 9, n) * 1.0, np.zeros((n, 0), np.bool_), np.empty(0))
        gains = rng.random(n)
        choice = Choice(
            SetLosses.untried(AbsenceLosses(0.0, np.eye(n), gains, np.zeros(n))), wares, np.zeros(n, np.bool_)
        )
        more = Wares(
            np.hstack([np.vstack([np.eye(n), np.zeros((1, n))]), np.eye(n + 1)[:, n:]]).astype(np.bool_),
            np.append(wares.cost, 99.0),
            np.zeros((n + 1, 0), np.bool_),
            np.empty(0),
        )
        wider = AbsenceLosses(0.0, np.eye(n + 1), np.append(gains, 0.0), np.zeros(n + 1))
        greedy = Choice(SetLosses.untried(wider), more, np.zeros(n + 1, np.bool_))
        best, found = gains[choice.expected(15.0).units].sum(), gains[greedy.expected(15.0).units[:n]].sum()
        assert 0.85 * best <= found <= best


def test_units_are_features_that_one_resource_holds_together():
    wares = Wares.of(np.arange(12), COSTS.select(NAMES))
    assert wares.features.sum(axis=1).tolist() == [2] * 6
    assert wares.price == sum(SERVICES.values())
    free = cf.CostModel.of({"features": dict.fromkeys(NAMES, 0.0) | {"form0": 2.0}})
    priced, base = Wares.of(np.arange(12), free.select(NAMES)).priced()
    assert (priced.price, base.tolist()) == (2.0, [False] + [True] * 11)


def draw(n, seed):
    """Applicants: six services of two numbers each, whose scores add up."""
    rng = np.random.default_rng(seed)
    X, score = np.empty((n, len(NAMES))), np.zeros(n)
    for number, name in enumerate(SERVICES):
        X[:, 2 * number : 2 * number + 2] = block = rng.normal(size=(n, 2))
        score += STRENGTHS[name] * (block @ [1.0, 0.6])
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


@pytest.fixture(scope="module")
def six():
    """A model of LightGBM over six services, adopted with its rows, and test rows."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y = draw(4000, 0)
    fitted = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0, deterministic=True).fit(X, y)
    return cf.adopt(fitted, NAMES).with_costs(COSTS).with_fallbacks(X), *draw(4000, 1)


def test_the_bureau_and_three_cheap_services_fit_a_cap_of_40(six):
    model, X, y = six
    scores = {}
    for cap in (4.5, 8.0, 15.0, 40.0, 43.0):
        report = model.cost(X, max_cost=cap)
        assert report.per_row.max() <= cap
        scores[cap] = roc_auc_score(y, model.predict(X, max_cost=cap))
        if cap == 40.0:
            bought = {NAMES[f][:-1] for f in np.flatnonzero(report.acquired.any(axis=0))}
            assert bought == {"form", "account", "device", "bureau"}
    assert scores[40.0] >= 0.84
    assert scores[40.0] > scores[15.0] + 0.01
    assert list(scores.values()) == sorted(scores.values())


def test_from_the_price_of_a_better_set_on_rows_buy_it():
    """What a cap just below that price buys best decides nothing: there, the order of the trees may lose less."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y = draw(4000, 10)
    fitted = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0, deterministic=True).fit(X, y)
    model = cf.adopt(fitted, NAMES).with_costs(COSTS).with_fallbacks(X)
    test, labels = draw(4000, 11)
    shares = model.fallbacks.cap_shares * sum(SERVICES.values())
    for cap, price in ((39.5, 39.5), (40.0, 39.5), (42.4, 39.5), (42.5, 42.5), (43.0, 42.5)):
        assert np.abs(shares - price).min() < 1e-9
        assert model.cost(test, max_cost=cap).mean == price
    assert roc_auc_score(labels, model.predict(test, max_cost=40.0)) >= 0.84


def test_of_sets_that_lose_nearly_the_same_the_one_of_fewer_tests_is_bought():
    """Five cheap services keep more of what CEGB learned by chance; the bureau and three of them tell more."""
    X, y = draw(4000, 10)
    model = cf.estimator("cegb", costs=COSTS, tradeoff=1e-5, n_jobs=1).fit(X, y).predictor_
    test, labels = draw(4000, 11)
    assert model.cost(test, max_cost=40.0).mean == 39.5
    assert roc_auc_score(labels, model.predict(test, max_cost=40.0)) >= 0.85


def test_a_dearer_set_of_fewer_tests_is_preferred_unless_it_loses_surely_more():
    weight, noise = np.ones(8), np.tile([0.5, -0.5], 4)
    cheap, near, far, whole = 1.0 + 0.0 * noise, 1.1 + noise, 2.0 + noise, 0.0 * noise
    lost = [(each, weight) for each in (cheap, near, far, whole)]
    price = np.array([1.0, 2.0, 2.0, 3.0])
    found = _prefer_fewer_tests(lost, price, np.array([9, 5, 5, 20]))
    assert found[1] < found[0] == 1.0
    assert found[[0, 2, 3]].tolist() == [1.0, 2.0, 0.0]
    for prices, tests in ((price, [5, 5, 5, 20]), (price[::-1].copy(), [9, 5, 5, 20])):
        assert _prefer_fewer_tests(lost, prices, np.array(tests)).tolist() == pytest.approx([1.0, 1.1, 2.0, 0.0])


def test_crossed_rows_have_some_values_of_a_near_row():
    rng = np.random.default_rng(2)
    first = rng.normal(size=400)
    X = np.column_stack([first, first**3, rng.normal(size=400), np.where(first > 1.0, np.nan, 7.0)])
    crossed = cross_with_near_rows(X, np.array([0, 1, 3]))
    assert same_bits(crossed[:, 2], X[:, 2])
    changed = crossed[:, 0] != X[:, 0]
    assert 0.15 < changed.mean() < 0.35
    assert set(crossed[:, 0]) <= set(first)
    assert np.corrcoef(crossed[:, 0], np.cbrt(crossed[:, 1]))[0, 1] > 0.98  # they depend on each other as before
    assert same_bits(cross_with_near_rows(X[:1], np.arange(4)), X[:1])
    assert same_bits(cross_with_near_rows(X[:0], np.arange(4)), X[:0])


def test_another_way_to_choose_must_lose_surely_less():
    losses, weight = np.arange(8.0), np.ones(8)
    assert _surely_least([(losses, weight), (losses - 0.1, weight), (losses - 0.2, weight)]) == 2
    noisy = losses - 0.2 + np.tile([3.0, -3.0], 4)
    assert _surely_least([(losses, weight), (noisy, weight), (losses + 1.0, weight)]) == 0
    assert _surely_least([(losses, weight), (losses - 0.1, 0.0 * weight)]) == 0  # rows without a finite answer


def test_money_that_the_best_set_leaves_buys_more(six):
    model = six[0]
    assert {name[:-1] for name in model.inquire(max_cost=12.5).needs} == {*SERVICES} - {"bureau"}
    row = dict(zip(NAMES, six[1][0], strict=True))
    for terms, expected in (
        ({"max_cost": 8.0, "known": ["bureau"]}, {"bureau", "form", "account", "device", "history"}),
        ({"max_cost": 40.0, "unavailable": ["bureau"]}, {*SERVICES} - {"bureau"}),
    ):
        end = cf.predict_one(model, row, **terms)
        assert {name[:-1] for name in end.acquired} == expected
        assert end.cost <= terms["max_cost"]


def test_scores_without_features_are_those_of_walks_without_them(six):
    model, X, _ = six
    X, known = X[:50], model.fallbacks
    n, width = known.offset.shape
    plain = attrs.evolve(
        known, offset=np.zeros((n, width)), slope=np.ones((n, width)), carry=np.zeros((n, width)),
        low=np.full_like(known.low, -np.inf), high=np.full_like(known.high, np.inf),
    )  # fmt: skip
    tree = attrs.evolve(model, fallbacks=plain)
    partial = PartialScores(tree, X, plain)
    for down in ((), ("bureau",), ("form", "history"), tuple(SERVICES)):
        absent = np.array([NAMES[f][:-1] in down for f in tree.layout.used])
        walked = tree.decision_function(X, unavailable=down)
        np.testing.assert_allclose(partial.without(absent)[:, 0], walked, rtol=1e-9, atol=1e-9)


def test_losses_of_other_models_are_refused(six):
    known = six[0].fallbacks
    short = SetLosses.untried(AbsenceLosses.none(3))
    with pytest.raises(StageError, match="set_losses: expected sets of 12 features, got 3"):
        attrs.evolve(six[0], fallbacks=attrs.evolve(known, set_losses=short)).predict(six[1][:1], max_cost=1.0)
    with pytest.raises(StageError, match="cap_factors: expected numbers >= 1"):
        attrs.evolve(six[0], fallbacks=attrs.evolve(known, cap_factors=0.5 * np.ones_like(known.cap_factors)))


def patients(kind, n=3000):
    """A model of trees alone with fallbacks, of classes, of categories or a forest; and rows, with gaps."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 6))
    X[:, 4:] = rng.integers(0, 5, size=(n, 2))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 4] == 2) + 0.5 * X[:, 3], [-0.5, 1.0])
    X[rng.random(X.shape) < 0.05] = np.nan
    names = [f"x{f}" for f in range(6)]
    needs = {"x1": ["draw"], "x2": ["draw"], "x4": ["visit"], "x5": ["visit", "draw"]}
    features = {name: {"cost": 0.1 + 0.3 * f, "needs": needs.get(name, [])} for f, name in enumerate(names)}
    costs = cf.CostModel.of(
        {"features": features, "resources": {"visit": 2.0, "draw": {"cost": 1.1, "needs": ["visit"]}}}
    )
    if kind == "categories":
        lightgbm = pytest.importorskip("lightgbm")
        fitted = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(X, y, categorical_feature=[4, 5])
        return cf.adopt(fitted, names).with_costs(costs).with_fallbacks(X), X
    if kind == "forest":
        fitted = RandomForestClassifier(20, max_depth=5, random_state=0).fit(np.nan_to_num(X), y > 0)
        return cf.adopt(fitted, names).with_costs(costs).with_fallbacks(X), np.nan_to_num(X)
    model = cf.estimator("cegb", costs=costs, tradeoff=1e-3, n_estimators=20, n_jobs=1).fit(X, y)
    return model.predictor_, X


@pytest.mark.parametrize("kind", ["classes", "categories", "forest"])
def test_rows_that_end_with_the_first_set_end_as_walked_one_by_one(kind, monkeypatch):
    model, X = patients(kind)
    prices, held = model.terms(None).prices, []
    full = model.cost(X).per_row.max()
    for share in (0.0, 0.1, 0.3, 0.45, 0.6, 0.8, 0.95, 0.999):
        for unavailable in ((), ("x1",)):
            limits = model.terms(None, max_cost=round(share * full, 2), unavailable=unavailable).limits
            ends = []
            for fewest in (0, 1 << 60):
                monkeypatch.setattr("costframe.core.caps.FEWEST", fewest)
                ends.append(walk_under_limits(model, prices, limits, X, by_path=True))
            for name, quick, slow in zip(CappedRows._fields, *ends, strict=True):
                if name != "spent":  # comparisons and uses, which have no price here
                    assert same_bits(quick, slow), (name, share, unavailable)
            assert same_bits(ends[0].spent[:, 0], ends[1].spent[:, 0])
            if (first := FirstSet.of(model, prices, limits)) is not None:
                held += first.walk(X)[1].tolist()
    assert {*held} == {True, False}


def test_a_first_set_is_none_where_a_step_has_a_price_or_there_is_no_cap(six):
    model = six[0]
    prices, limits = model.terms(None).prices, Limits(40.0)
    assert FirstSet.of(model, prices, limits) is not None
    assert FirstSet.of(model, prices, Limits(barred=frozenset([0]))) is None
    assert FirstSet.of(attrs.evolve(model, fallbacks=None), prices, limits) is None
    for more in ({"split": 0.01}, {"learner": 0.01}, {"reuse": 0.1}):
        table = COSTS.to_dict() | more
        assert FirstSet.of(model, model.terms(cf.CostModel.of(table)).prices, limits) is None
