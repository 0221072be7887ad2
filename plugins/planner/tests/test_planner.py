"""What the planner promises: traps, no cliffs, estimates that hold, terms at prediction, and hostile tables."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from kit_cases import parametrize_laws
from sklearn.metrics import roc_auc_score

import costframe as cf
from costframe import CostframeError
from costframe.plugin import CostModelError, DataError, ParameterError
from costframe.sets import SetArchive
from costframe_cegb import CEGBClassifier
from costframe_planner import PlannerClassifier, PlannerRanker, PlannerRegressor, planner, spare

QUICK = {"max_tries": 8, "n_estimators": 20, "n_sets": 5, "max_leaves": 4, "n_jobs": 1}


@parametrize_laws("planner", settings={"max_tries": 4, "n_sets": 3, "n_estimators": 6, "max_leaves": 4})
def test_laws(check):
    check()


MAKERS = [
    cf.datasets.make_parity,
    pytest.param(partial(cf.datasets.make_selector, prices=(5, 10, 20)), marks=pytest.mark.deep),
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_only_tells_together_or_by_a_selector_is_found_at_its_known_cost(make):
    data = make(900)
    train, valid, test = (data.part(part) for part in ("train", "valid", "test"))
    path = PlannerClassifier(data.costs).fit_path(
        train.X, train.y, X_val=valid.X, y_val=valid.y, scoring="accuracy", tradeoffs=(0.3, 1e-4)
    )
    perfect = [point for point in path.frontier() if point.score == 1]
    assert perfect[0].cost == pytest.approx(data.perfect_cost, rel=0.06)
    report = path.predictor(perfect[0]).cost(test.X)
    assert ((report.predictions > 0.5) == test.y).mean() > 0.995
    assert report.mean == pytest.approx(data.perfect_cost, rel=0.08)


def blocks(n, seed):
    """Draw three blocks of three features, and first the context: the number of the block that tells the label."""
    random = np.random.default_rng(seed)
    context, X = random.integers(0, 3, n), random.normal(size=(n, 9))
    y = X.reshape(-1, 3, 3)[np.arange(n), context].sum(axis=1) > 0
    return np.c_[context, X], y.astype(int)


@pytest.mark.deep  # a search of sets for contexts is in tests/test_sets.py
def test_a_context_without_gain_of_its_own_is_bought_first_then_the_block_that_it_names():
    X, y = blocks(900, 0)
    costs = cf.CostModel.from_dict({"features": {f"x{f}": 1.0 for f in range(10)}})
    path = PlannerClassifier(costs, **QUICK).fit_path(X, y, scoring="accuracy")
    fresh, labels = blocks(2000, 1)
    report = path.predictor(path.within(4.2)).cost(fresh)
    assert ((report.predictions > 0.5) == labels).mean() > 0.78  # 0.6 by three features that are the same for all rows
    assert report.mean == pytest.approx(path.within(4.2).cost, rel=0.05)
    assert report.acquired[report.acquired.any(axis=1), 0].all()


def test_more_sets_than_bits_are_cut_to_these(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 9))
    sets = [frozenset(np.flatnonzero(random.random(9) < place / 90).tolist()) for place in range(90)]
    seen = []

    def train(_problem, _trees, chosen, _selectors=()):
        seen.append(chosen)
        raise DataError("enough")

    monkeypatch.setattr(SetArchive, "spread", lambda *_: sets)
    monkeypatch.setattr(planner, "train_models", train)
    with pytest.raises(DataError, match="enough"):
        PlannerClassifier(1.5 ** np.arange(9), **QUICK).fit(X, X.sum(axis=1) > 0)
    assert frozenset() in seen[0]
    assert len({*sets, frozenset()}) > len(seen[0]) == 63


def test_cheap_features_that_tell_a_little_have_a_point_below_the_price_of_others():
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 6))
    odds = X @ [0.4, 0.4, 0.3, 0.9, 0.0, 0.0]
    y = (random.random(800) < 1 / (1 + np.exp(-odds))).astype(int)
    costs = cf.CostModel.from_dict({"features": {f"x{f}": 1.0 if f < 3 else 30.0 for f in range(6)}})
    path = PlannerClassifier(costs, n_jobs=1).fit_path(X, y, scoring="roc_auc")
    few, more = path.within(1.0), path.within(3.0)
    assert 0.5 < few.score < more.score - 0.01
    assert {few.key.stop, more.key.stop}.isdisjoint({0, -1})


def cliff(n=900, seed=0):
    """Draw a table whose best features share one dear resource, while three cheap ones tell a little."""
    random = np.random.default_rng(seed)
    cause = random.normal(size=n)
    dear = cause[:, None] + 0.3 * random.normal(size=(n, 4))
    cheap = 0.5 * cause[:, None] + random.normal(size=(n, 3))
    features = {f"dear{f}": {"cost": 0.5, "needs": ["bureau"]} for f in range(4)} | {f"cheap{f}": 2.0 for f in range(3)}
    costs = cf.CostModel.from_dict({"features": features, "resources": {"bureau": 20.0}})
    return np.hstack([dear, cheap]), (cause + 0.2 * random.normal(size=n) > 0).astype(int), costs


def test_the_feature_of_the_best_answers_has_a_point_beside_that_of_least_loss():
    """The first one moves probabilities more, but each of its answers is no; the second one's say yes, too."""
    random = np.random.default_rng(0)
    y = (random.random(3000) < 0.25).astype(int)
    X = np.column_stack(
        [random.random(3000) < np.where(y, 0.96, 0.347), random.random(3000) < np.where(y, 0.616, 0.061)]
    )
    path = PlannerClassifier({"moves": 1.0, "answers": 1.0}, **QUICK).fit_path(X.astype(float), y, scoring="accuracy")
    single = {path.kept.trained.all_models[each.key.stop].features: each for each in path.points if each.key.stop > 0}
    assert single[0,].loss < single[1,].loss
    assert path.within(1.0).score == single[1,].score > single[0,].score + 0.05


def test_a_dear_resource_is_no_cliff_and_what_is_estimated_out_of_fold_holds_on_fresh_rows():
    X, y, costs = cliff()
    fresh, labels, _ = cliff(4000, seed=1)
    path = PlannerClassifier(costs).fit_path(X, y, scoring="accuracy")
    below = path.within(12.0)
    assert 2 <= below.cost <= 12
    assert below.score > 0.6
    assert path.within(22.0).score > below.score + 0.1
    for point in path.frontier():
        report = path.predictor(point).cost(fresh)
        score = float(((report.predictions > 0.5) == labels).mean())
        assert abs(score - point.score) < 3.5 * np.hypot(point.error, 0.5 / np.sqrt(len(labels))), point
        assert report.mean == pytest.approx(point.cost, rel=0.1, abs=0.8)  # of 28


def test_prices_tradeoff_caps_and_sources_change_without_training():
    X, y, costs = cliff()
    predictor = PlannerClassifier(costs, tradeoff=2e-3, **QUICK).fit(X, y).predictor_
    assert predictor.cost(X).by_resource["bureau"] > 5
    table = costs.to_dict()
    table["resources"]["bureau"] = 400.0
    assert predictor.cost(X, cf.CostModel.from_dict(table)).acquired[:, :4].sum() == 0
    assert predictor.cost(X, tradeoff=10.0).mean == 0
    out, capped = predictor.cost(X, unavailable={"bureau"}), predictor.cost(X, max_cost=7.0)
    assert out.acquired[:, :4].sum() == 0
    assert out.cut.any()
    assert capped.per_row.max() <= 7.0
    for report in (out, capped):
        assert ((report.predictions > 0.5) == y).mean() > 0.6


def test_a_spare_ensemble_is_learned_once_and_only_where_something_is_unavailable(monkeypatch, tmp_path):
    learned, copy = [], spare.lack_at_random
    monkeypatch.setattr(spare, "lack_at_random", lambda *given: learned.append(given) or copy(*given))
    X, y, costs = cliff()
    path = PlannerClassifier(costs, **QUICK).fit_path(X, y)
    plan, single = path.predictor_at(2e-3), path.predictor(path.points[-1])
    eager = plan.with_tradeoff(0.0)
    for predictor in (plan, single, eager):
        predictor.cost(X, max_cost=7.0)
        predictor.inquire(known={"cheap0": 1.0})
    assert not learned
    answers = [predictor.predict(X, unavailable={"bureau"}).tolist() for predictor in (plan, single, eager)]
    assert len(learned) == 1
    copies = [*pickle.loads(pickle.dumps((plan, single, eager)))]  # noqa: S301 - our own
    assert [predictor.predict(X, unavailable={"bureau"}).tolist() for predictor in copies] == answers
    cf.save(plan, tmp_path / "plan.model")
    loaded = cf.load(tmp_path / "plan.model")
    assert loaded.predict(X, unavailable={"bureau"}).tolist() == answers[0]
    assert loaded.digest == copies[0].digest == plan.digest
    assert len(learned) == 1


SERVICES = {"form": 1.0, "account": 1.5, "device": 2.0, "history": 3.0, "income": 5.0, "bureau": 35.0}
STRENGTHS = (1.3, 1.1, 1.0, 0.55, 0.55, 0.9)


def applicants(n, seed):
    """Applicants: six services of two numbers each, whose scores add up."""
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(n, 2)) for _ in SERVICES]
    score = sum(strength * (block @ [1.0, 0.6]) for strength, block in zip(STRENGTHS, blocks, strict=True))
    return np.hstack(blocks), (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def test_under_a_cap_a_plan_buys_the_best_set_in_place_of_a_small_one_before_it():
    """By its plan a row buys cheap services, and then the bureau, which a cap of 40 does not pay after all of them."""
    names = [f"{name}{i}" for name in SERVICES for i in range(2)]
    features = {name: {"cost": 0.0, "needs": [name[:-1]]} for name in names}
    costs = cf.CostModel.of({"features": features, "resources": SERVICES})
    quick = {"n_sets": 8, "max_tries": 60, "n_estimators": 80, "n_jobs": 1}
    predictor = PlannerClassifier(costs, tradeoff=1e-4, **quick).fit(*applicants(2000, 0)).predictor_
    X, y = applicants(4000, 1)
    scores, means = {}, {}
    for cap in (15.0, 40.0):
        report = predictor.cost(X, max_cost=cap)
        assert report.per_row.max() <= cap
        scores[cap], means[cap] = roc_auc_score(y, report.predictions), report.mean
    assert means[15.0] <= 12.5
    assert means[40.0] > 35.0
    assert scores[40.0] > max(0.84, scores[15.0] + 0.012)


def test_rankings_keep_their_queries_together():
    X, y, costs = cliff(600)
    qid = np.repeat(np.arange(60), 10)
    path = PlannerRanker(costs, **QUICK).fit_path(X, y, qid=qid, scoring="ndcg@5")
    fold = path.kept.problem.fold
    assert all(len(np.unique(fold[qid == query])) == 1 for query in np.unique(qid))
    assert path.within(np.inf).score > 0.9


def test_the_cost_of_a_point_is_what_reports_call_the_mean():
    X, y = table()
    costs = {"features": {f"x{f}": {"cost": 1.0, "once": 60.0 * (f < 2)} for f in range(4)}}
    path = PlannerClassifier(costs, **QUICK).fit_path(X, y)
    alone = [point for point in path.points if point.key.stop >= 0]
    reports = [path.predictor(point).cost(X) for point in alone]
    assert max(report.fixed for report in reports) == 120
    for point, report in zip(alone, reports, strict=True):
        assert point.cost == pytest.approx(report.mean)
        assert point.objective_cost == pytest.approx(report.mean + report.fixed / len(X))


# --- the order of rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "sampled"),
    [(PlannerClassifier, False), (PlannerClassifier, True), (PlannerRegressor, False), (PlannerRanker, True)],
)
def test_the_order_of_rows_has_no_effect_to_the_last_bit(kind, sampled, monkeypatch):
    """Some of them are there twice, and some many times; quick fits may draw some rows."""
    if sampled:
        monkeypatch.setattr("costframe_planner.search._QUICK_ROWS", 90)
        monkeypatch.setattr("costframe_planner.set_models._ROWS_TO_TRY", 70)
    rng, n, d = np.random.default_rng(0), 260, 5
    X = np.where(rng.random((n, d)) < 0.05, np.nan, rng.normal(size=(n, d)))
    X[:, 1] = rng.integers(0, 4, n)
    score = np.nan_to_num(X[:, 0] + X[:, 2] * X[:, 3]) + (X[:, 1] == 2) + 0.5 * rng.normal(size=n)
    y = 10 * score if kind is PlannerRegressor else np.digitize(score, [-0.5, 1.0])
    source, order = np.arange(n), rng.permutation(n)
    source[:26], source[-26:] = n // 2, source[65:91]
    X, y, weight, qid = X[source], y[source], rng.choice([0.5, 1.0, 1.75], n), rng.integers(0, 25, n)
    features = {f"x{f}": {"cost": 0.1 * f + 0.1, "needs": ["r"] if f > 2 else [], "once": 3.0 * f} for f in range(d)}
    costs = cf.CostModel.from_dict({"features": features, "resources": {"r": 0.7}})
    usual = {"tradeoff": 0.02, "n_estimators": 6, "max_tries": 6, "n_sets": 4, "max_leaves": None if sampled else 4}
    models = [
        kind(costs, **usual).fit(
            X[rows], y[rows], weight[rows], **({"qid": qid[rows]} if kind is PlannerRanker else {})
        )
        for rows in (slice(None), order)
    ]
    plan, again = (model.predictor_ for model in models)
    assert len(plan.stops) > 1
    assert [tuple(stop.features) for stop in plan.stops] == [tuple(stop.features) for stop in again.stops]
    for bank, other in ((plan.bank, again.bank), (plan.gains_bank, again.gains_bank)):
        assert np.array_equal(bank.trees.threshold, other.trees.threshold)
        assert np.array_equal(bank.trees.values, other.trees.values)
    assert np.array_equal(plan.decision_function(X), again.decision_function(X))
    assert np.array_equal(plan.cost(X, costs).per_row, again.cost(X, costs).per_row)
    assert np.array_equal(*(model.predict(X, max_cost=0.9) for model in models))


# --- terms, and hostile tables -----------------------------------------------------------------------------------


def table(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("terms", [{"costs": [500.0, 0.0, 0.0, 1.0], "tradeoff": 1}, {"tradeoff": 2.0}])
def test_an_estimator_hands_terms_to_its_plan(terms):
    X, y = table(200)
    X = pd.DataFrame(X, columns=list("abcd"))
    model = PlannerClassifier(**QUICK).fit(X, y)
    p = model.predictor_.predict(X, **terms)
    assert (p != model.predictor_.predict(X)).any()
    shuffled = X[list("dbca")]  # prices are those of the training columns, whatever the order of the rows to predict
    np.testing.assert_array_equal(model.predict_proba(shuffled, **terms)[:, 1], p)
    np.testing.assert_array_equal(model.predict(shuffled, **terms), p > 0.5)
    scores = model.decision_function(shuffled, **terms)
    np.testing.assert_array_equal(scores, model.predictor_.decision_function(X, **terms))
    report = model.cost(shuffled, **terms)
    np.testing.assert_array_equal(report.per_row, model.predictor_.cost(X, **terms).per_row)
    np.testing.assert_array_equal(report.predictions, p)


def test_terms_that_cannot_be_are_named():
    X, y = table()
    model, other = PlannerClassifier(**QUICK).fit(X, y), CEGBClassifier(n_estimators=3).fit(X, y)
    for call, words in (
        (lambda: model.predict(X, tradeoff=-1), "tradeoff: expected a number >= 0"),
        (lambda: model.predict(X, costs=[1, 2]), "costs: expected 4 prices"),
        (lambda: model.predict_proba(X, budget=3), "budget: expected max_cost, unavailable, costs or tradeoff"),
        (lambda: other.cost(X, tradeoff=2), "tradeoff: expected None, for CEGBClassifier .* got 2"),
        (lambda: other.predict(X, costs=[1, 1, 1, 1]), "costs: expected None, for CEGBClassifier"),
    ):
        with pytest.raises(CostframeError, match=f"^{words}"):
            call()
    assert other.cost(X, costs=[2, 2, 2, 2]).mean == 2 * other.cost(X).mean
    path = PlannerClassifier(**QUICK).fit_path(X, y)
    for tradeoff in (-1, float("nan"), "a", None):
        with pytest.raises(ParameterError, match=r"^tradeoff: expected a number >= 0"):
            path.at(tradeoff)


@pytest.mark.parametrize("n", [2, 10])
def test_classes_of_one_row_each(n):
    X, _ = table(n)
    np.testing.assert_allclose(PlannerClassifier(**QUICK).fit(X, np.arange(n)).predict_proba(X), 1 / n)


def test_what_cannot_be_learned_is_refused(monkeypatch):
    X, y = table()
    grades, qid, val = np.abs(X[:, 0].round()), np.arange(len(X)) // 10, {"X_val": X, "y_val": y}
    monkeypatch.setattr(SetArchive, "search", lambda *_: pytest.fail("trained"))
    for call, error, words in (
        (lambda: PlannerRegressor(**QUICK).fit(X, X[:, 0] * 1e100), DataError, "^y: expected numbers of a size"),
        (lambda: PlannerRegressor().fit(X, [10**400] * 120), DataError, "^y: expected numbers, got a whole number"),
        (
            lambda: PlannerClassifier().fit(X, y, **val, sample_weight_val=np.full(120, 1e300)),
            DataError,
            "^sample_weight_val: expected numbers of a size",
        ),
        (lambda: PlannerRanker().fit(X, grades, qid=qid, **val), DataError, "^qid_val: expected .* as for qid, got"),
        (lambda: PlannerRanker().fit(X, grades, qid_val=qid, **val), DataError, "^qid: expected .* as for qid_val"),
        (lambda: PlannerClassifier(**QUICK).fit_path(X, y, scoring="zzz"), ParameterError, "scor"),
        *(
            (
                lambda word=word: PlannerClassifier({"features": dict.fromkeys("abcd", 1.0), word: 0.1}).fit(X, y),
                CostModelError,
                word,
            )
            for word in ("learner", "split", "reuse")
        ),
    ):
        with pytest.raises(error, match=words):
            call()
