"""The cheapest model that is certified: valid on drawn rows, of frontiers and searches, with cascades, and refusals."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from frontier_cases import COSTS, some_rows
from sklearn.linear_model import LogisticRegression

import costframe as cf
from costframe import CostframeError
from costframe.choices import BudgetSearch, Frontier
from costframe.choices.promised import certify
from costframe.plugin import CostModelError, DataError, ParameterError
from costframe.promises import BrokenPromiseError
from costframe.promises.cascades import DOUBTS, can_defer, cascade
from costframe.promises.choose import Certifier, PromiseCandidate, certify_cheapest
from costframe.promises.promise import as_promises
from costframe.promises.sample import Answers, Sample

pytestmark = pytest.mark.filterwarnings("ignore::costframe.choices.budget_search.UselessBudgetWarning")
SMALL = cf.CEGBClassifier(COSTS, n_estimators=12)
NAMES = [*"abcd"]


def labelled(n, seed):
    X, y = some_rows(n, seed)
    return pd.DataFrame(X, columns=NAMES), np.where(y, "ill", "well")


@pytest.fixture(scope="module")
def frontier():
    X, y = labelled(800, 0)
    return Frontier.fit(SMALL, X[:500], y[:500], X_val=X[500:], y_val=y[500:], cv=0, n_jobs=1)


# Of drawn losses, without models: X of a sample are numbers of rows.


def drawn_candidates(risk):
    """Models whose cost falls by one while their risk rises."""
    return [PromiseCandidate(f"m{k}", float(len(risk) - k), lambda: None) for k in range(len(risk))]


def drawn_judge(promises, wrong, rows, groups=None):
    """Return a judge of models that are wrong where bool (models, rows) says so."""

    def ask(candidate, sample, _bill):
        number = int(candidate.name[1:])
        values = wrong[number, sample.X].astype(np.int64)
        cost = np.full(len(values), candidate.cost)
        return Answers(values, values, cost, None, (0.0, 100.0), None)

    units = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
    y = np.zeros(len(rows), np.int64)
    return Certifier(promises, Sample(rows, y, y, np.array([0, 1]), units), ask)


RISKS = {
    "even": np.linspace(0.01, 0.1, 25),
    "just above": np.r_[np.linspace(0.01, 0.03, 5), np.full(30, 0.0505)],  # many that break it by little
    "jump": np.r_[np.full(5, 0.03), np.full(5, 0.3)],
    "none": np.full(12, 0.0505),
}


def count_broken(risk, promise, draws, *, joint, groups_of=1, n=600, planned=150):
    """Return how often the chosen one of drawn models breaks a promise of at most 0.05 wrong."""
    r = np.random.default_rng(len(risk))
    candidates, promises, broken = drawn_candidates(risk), as_promises(promise), 0
    for _ in range(draws):
        units = (n + planned) // groups_of
        u = r.random(units if joint else (len(risk), units))
        wrong = np.repeat(u < risk[:, None], groups_of, axis=1)
        groups = None if groups_of == 1 else np.repeat(np.arange(units), groups_of)
        rows = np.arange(wrong.shape[1])
        plan, judge = (drawn_judge(promises, wrong, part, groups) for part in (rows[:planned], rows[planned:]))
        try:
            name = certify_cheapest(candidates, judge, plan, "EUR").name
        except BrokenPromiseError:
            continue
        broken += risk[int(name[1:])] > 0.05
    return broken / draws


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("draws", [60, pytest.param(400, marks=pytest.mark.deep)])
def test_promises_are_broken_with_a_probability_of_at_most_delta(risk, joint, draws):
    found = count_broken(RISKS[risk], "error <= 0.05", draws, joint=joint)
    assert found <= 0.1 + 2 * math.sqrt(0.09 / draws)


@pytest.mark.parametrize("draws", [60, pytest.param(400, marks=pytest.mark.deep)])
def test_groups_count_as_one(draws):
    """Rows of a group are all wrong or all right, so a test that counted rows would break the promise too often."""
    found = count_broken(RISKS["just above"], "error <= 0.05", draws, joint=True, groups_of=5, n=1500)
    assert found <= 0.1 + 2 * math.sqrt(0.09 / draws)


@pytest.mark.parametrize("draws", [60, pytest.param(400, marks=pytest.mark.deep)])
def test_several_promises_are_kept_together(draws):
    both = ["error <= 0.05", "cost <= 200"]
    assert count_broken(RISKS["even"], both, draws, joint=True) <= 0.1 + 2 * math.sqrt(0.09 / draws)


def test_the_cheapest_of_many_certified_models_is_chosen_at_little_more_than_the_cheapest_true_one():
    risk, r = np.geomspace(0.005, 0.2, 40), np.random.default_rng(0)
    candidates, promises, paid = drawn_candidates(risk), as_promises("error <= 0.05"), []
    for _ in range(30):
        wrong = r.random(2400) < risk[:, None]
        plan, judge = (drawn_judge(promises, wrong, rows) for rows in (np.arange(400), np.arange(400, 2400)))
        paid.append(certify_cheapest(candidates, judge, plan, "EUR").cost)
    cheapest = min(each.cost for each, loss in zip(candidates, risk, strict=True) if loss <= 0.05)
    assert cheapest <= np.mean(paid) <= 1.3 * cheapest


def test_without_a_plan_models_are_tested_by_descending_cost():
    promises, wrong = as_promises("error <= 0.05"), np.zeros((4, 200), bool)
    wrong[1, :50] = True  # so that the tests end there, though cheaper ones are right
    judge = drawn_judge(promises, wrong, np.arange(200))
    found = certify_cheapest(drawn_candidates(np.zeros(4)), judge, None, "EUR")
    assert (found.name, found.tested, found.planned_on) == ("m0", 2, 0)


def test_tests_begin_with_the_dearest_that_is_nearly_as_safe_as_the_safest():
    """The cheap one is the safest on the plan by luck."""
    promises, wrong = as_promises("error <= 0.2"), np.zeros((3, 600), bool)
    wrong[0, :6] = wrong[2, :5] = wrong[1, :60] = True
    wrong[2, 100:300] = True
    plan, judge = (drawn_judge(promises, wrong, rows) for rows in (np.arange(100), np.arange(100, 600)))
    assert certify_cheapest(drawn_candidates(np.zeros(3)), judge, plan, "EUR").name == "m0"


# Of frontiers.


@pytest.mark.parametrize(
    "promise",
    [
        "error <= 0.25", "accuracy >= 0.75", "recall(ill) >= 0.7", "precision(well) >= 0.7", "agreement(best) >= 0.8",
        "disagreement(best) <= 20%", "excess(best) <= 0.1", "cost <= 12", ["recall(ill) >= 0.6", "cost <= 17"],
    ],
)  # fmt: skip
def test_promises_of_every_kind_are_kept_on_fresh_rows(frontier, promise):
    X, y = labelled(1500, 1)
    found = frontier.cheapest(promise=promise, X=X, y=y)
    assert found.rows + found.planned_on == len(X)
    fresh, truth = labelled(20_000, 2)
    for check in found.checks:
        loss = loss_of(check.promise, found.model, frontier, fresh, truth)
        assert loss <= check.promise.limit
        side = 1 if check.promise.is_least else -1
        assert side * check.value >= side * check.bound >= side * check.promise.level
    assert found.cost == pytest.approx(found.model.cost(fresh).mean, abs=5 * found.cost_error + 1e-9)
    assert found.cost <= frontier[frontier.best()].cost * 1.2


def loss_of(promise, model, frontier, X, y):
    """Compute a loss anew."""
    p = model.predict(X)
    best = frontier.model(frontier.best()).predict(X)
    values = {
        "error": p != y, "accuracy": p != y,
        "recall": (p != y)[y == promise.of], "precision": (p != y)[p == promise.of],
        "agreement": p != best, "disagreement": p != best, "excess": (p != y) * 1.0 - (best != y),
        "cost": model.cost(X).per_row,
    }  # fmt: skip
    return values[promise.kind].mean()


def test_bounds_are_those_of_the_binomial_law(frontier):
    from scipy.stats import beta

    X, y = labelled(700, 3)
    found = frontier.cheapest(promise="error <= 0.3", X=X, y=y, plan_share=0)
    wrong = int((found.model.predict(X) != y).sum())
    assert found.checks[0].bound == pytest.approx(beta.ppf(0.9, wrong + 1, len(y) - wrong), rel=1e-6)
    assert (found.checks[0].rows, found.planned_on) == (700, 0)


def test_the_certificate_says_what_it_rests_on(frontier):
    X, y = labelled(1500, 1)
    text = str(frontier.cheapest(promise="recall(ill) >= 0.6", X=X, y=y, groups=np.arange(1500) // 2))
    assert "probability of 0.9, by 1,200 rows that nothing chose by, of 600 groups that count as one each" in text
    assert "recall(ill) >= 0.6: " in text
    plain = frontier.cheapest(promise="recall(ill) >= 0.6", X=X, y=y)
    assert "recall(ill)" in plain._repr_html_()
    assert repr(plain).startswith("Certified(")


def test_enough_rows_would_certify_four_times_of_five():
    from scipy.stats import binom

    wrong = np.zeros((3, 1000), bool)
    wrong[1, :45] = wrong[2, :60] = True
    found = certify_cheapest(
        drawn_candidates(np.zeros(3)), drawn_judge(as_promises("error <= 0.05"), wrong, np.arange(1000)), None, "EUR"
    )
    assert found.name == "m0"
    (enough,) = found.enough  # and none for m2, which breaks the promise on these rows
    assert (enough.name, enough.cost) == ("m1", 2.0)
    most = binom.ppf(0.1, enough.rows, 0.05) - 1
    assert 0.75 < binom.cdf(most, enough.rows, 0.045) < 0.85
    assert f"For less, with about {enough.rows:,} rows it could be promised at 2.00 EUR a row (m1)." in str(found)


@pytest.mark.parametrize("promise", ["error <= 0.05", "cost <= 4"])
def test_few_rows_that_are_all_alike_do_not_promise_that_they_are_enough(promise):
    rows, wrong = np.arange(12), np.zeros((1, 150), bool)
    candidates = drawn_candidates(np.zeros(1))
    with pytest.raises(BrokenPromiseError, match="with about") as e:
        certify_cheapest(candidates, drawn_judge(as_promises(promise), wrong, rows), None, "EUR")
    enough = int(re.search(r"with about ([\d,]+) rows", str(e.value))[1].replace(",", ""))
    assert 12 < enough <= 150
    found = certify_cheapest(candidates, drawn_judge(as_promises(promise), wrong, np.arange(enough)), None, "EUR")
    assert found.name == "m0"


def test_nothing_certified_says_what_could_be(frontier):
    X, y = labelled(600, 1)
    with pytest.raises(
        BrokenPromiseError, match=r"error <= 0\.001 with a probability of 0\.9 on 600 rows; the best"
    ) as e:
        frontier.cheapest(promise="error <= 0.001", X=X, y=y, plan_share=0)
    level = float(str(e.value).split("the best that can be promised on them is error <= ")[1].split(",")[0])
    found = frontier.cheapest(promise=f"error <= {level + 0.001}", X=X, y=y, plan_share=0)
    assert found.checks[0].bound <= level + 0.001


def test_agreement_with_columns_arrays_and_models(frontier):
    X, y = labelled(900, 1)
    large = LogisticRegression().fit(*labelled(800, 0))
    answers = large.predict(X)
    by_model = frontier.cheapest(promise=cf.Promise("agreement", of=large, level=0.7), X=X, y=y)
    by_array = frontier.cheapest(promise=cf.Promise("agreement", of=answers, level=0.7), X=X, y=y)
    by_column = frontier.cheapest(promise="agreement(large) >= 0.7", X=X.assign(large=answers), y=y)
    assert by_model.name == by_array.name == by_column.name
    assert by_model.checks[0].value == by_array.checks[0].value == by_column.checks[0].value
    name = frontier.points[0].name
    assert frontier.cheapest(promise=f"agreement({name}) >= 0.7", X=X, y=y).checks[0].promise.of == name


def test_promises_about_different_models_are_told_apart_though_their_texts_are_equal(frontier):
    X, y = labelled(900, 1)
    large = LogisticRegression().fit(*labelled(800, 0)).predict(X)
    others = large, np.where(large == "ill", "well", "ill")
    both = [cf.Promise("agreement", of=of, level=level) for of, level in zip(others, (0.7, 0.05), strict=True)]
    checks = frontier.cheapest(promise=both, X=X, y=y, plan_share=0).checks
    assert checks[0].value + checks[1].value == pytest.approx(1.0)


def test_losses_of_the_user(frontier):
    X, y = labelled(900, 1)

    def missed(true, said):
        return np.where((true == "ill") & (said == "well"), 1.0, 0.0)

    found = frontier.cheapest(promise=cf.Promise(missed, level=0.2, bounds=(0, 1)), X=X, y=y)
    assert found.checks[0].value <= found.checks[0].bound <= 0.2
    assert str(found.checks[0].promise) == "missed <= 0.2"
    for loss, kind, text in (
        (lambda t, _: np.full(len(t), 2.0), DataError, "row 0 has 2, outside the bounds 0 to 1"),
        (lambda t, _: np.full(len(t), np.nan), DataError, "row 0 has nan, outside"),
        (lambda _, __: 0.5, ParameterError, "expected a loss for each of"),
        (lambda _, __: "much", ParameterError, "expected a number for each row"),
    ):
        with pytest.raises(kind, match=text):
            frontier.cheapest(promise=cf.Promise(loss, level=0.2, bounds=(0, 1)), X=X, y=y)


def test_bills_and_regressions():
    X, y = some_rows(900)
    costs = cf.CostModel.of({"features": dict.fromkeys(NAMES, 1.0)}, errors={0: {1: 5.0}, 1: {0: 20.0}})
    frame = pd.DataFrame(X, columns=NAMES)
    study = Frontier.fit(cf.CEGBClassifier(costs, n_estimators=10), frame[:500], y[:500], cv=0, n_jobs=1)
    found = study.cheapest(promise="bill <= 8", X=frame[500:], y=y[500:])
    assert found.checks[0].value == pytest.approx(
        found.model.cost(frame[500:], y[500:]).bill.mean(), abs=1.0
    )  # of a part
    target = X[:, 0] + X[:, 1] * (X[:, 2] > 0)
    numbers = Frontier.fit(cf.CEGBRegressor(COSTS, n_estimators=10), frame[:500], target[:500], cv=0, n_jobs=1)

    def off(true, said):
        return np.minimum(np.abs(true - said), 3.0)

    rows = {"X": frame[500:], "y": target[500:]}
    assert numbers.cheapest(promise=cf.Promise(off, level=0.9, bounds=(0, 3)), **rows).checks[0].bound <= 0.9
    for text in ("recall(1) >= 0.5", "error <= 0.5", "agreement(best) >= 0.5"):
        with pytest.raises(ParameterError, match="is of classes, and this is a regression"):
            numbers.cheapest(promise=text, **rows)
    with pytest.raises(CostframeError, match="bill: needs prices with errors"):
        numbers.cheapest(promise="bill <= 3", **rows)


def test_costs_beyond_prices_of_features_need_bounds():
    X, y = some_rows(600)
    costs = cf.CostModel.from_dict({"features": dict.fromkeys(NAMES, 1.0), "learner": 0.1})
    frame = pd.DataFrame(X, columns=NAMES)
    study = Frontier.fit(cf.CEGBClassifier(costs, n_estimators=5), frame[:300], y[:300], cv=0, n_jobs=1)
    rows = {"X": frame[300:], "y": y[300:]}
    with pytest.raises(ParameterError, match=r"give bounds=\(0, greatest\)"):
        study.cheapest(promise="cost <= 4", **rows)
    assert study.cheapest(promise=cf.Promise("cost <= 4", bounds=(0, 10)), **rows).checks[0].bound <= 4
    with pytest.raises(DataError, match="outside the bounds"):
        study.cheapest(promise=cf.Promise("cost <= 0.05", bounds=(0, 0.1)), **rows)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"promise": "recall(il) >= 0.5"},
            r"no class 'il' \(did you mean 'ill'\?\); classes are 'ill', 'well'",
        ),
        ({"promise": "agreement(foo) >= 0.5"}, "'foo' is neither a point nor a column"),
        ({"promise": cf.Promise("agreement", of=["ill"], level=0.5)}, "expected a class for each of 300 rows"),
        ({"promise": cf.Promise("agreement", of=["x"] * 300, level=0.5)}, "expected one of the classes"),
        ({"y": ["well"] * 300, "promise": "recall(ill) >= 0.5"}, "none of the .* rows is of class ill"),
        ({"y": ["x"] * 300}, "y: expected one of the classes"),
        ({"y": [np.nan] * 300}, "y: expected one of the classes"),
        ({"y": ["ill"]}, "y: expected one value a row"),
        ({"y": None}, "needs X and y"),
        ({"X": None}, "needs X and y"),
        ({"groups": [1]}, "groups"),
        ({"sample_weight": np.ones(300)}, "sample_weight: a promise counts each row once"),
        ({"plan": 3}, r"plan: expected \(X, y\) or \(X, y, groups\)"),
        ({"plan_share": 1.0}, "plan_share: expected a number"),
        ({"plan_share": np.nan}, "plan_share: expected a number"),
        ({"cascades": "no"}, "cascades: expected True or False"),
        ({"within": 0.1}, "within: has no effect with a promise"),
        ({"promise": None}, "has no effect without a promise"),
        ({"promise": 0.9}, "promise: expected a Promise"),
    ],
)
def test_bad_input_is_refused_by_name(frontier, change, text):
    X, y = labelled(300, 1)
    with pytest.raises(CostframeError, match=text):
        frontier.cheapest(**({"promise": "error <= 0.3", "X": X, "y": y} | change))


def test_frontiers_without_models_and_of_rankings_are_refused(frontier):
    X, y = labelled(300, 1)
    with pytest.raises(ParameterError, match="needs a frontier with models"):
        evolve(frontier, models=()).cheapest(promise="error <= 0.3", X=X, y=y)


def test_where_no_point_that_is_not_dominated_has_a_model_all_others_are_tested(frontier):
    X, y = labelled(600, 1)
    best = set(frontier.non_dominated())
    models = tuple(None if point in best else frontier.model(point) for point in frontier.points)
    found = evolve(frontier, models=models).cheapest(promise="cost <= 30", X=X, y=y, plan_share=0)
    assert found.point not in best


def test_a_plan_leaves_a_row_or_group_that_certifies(frontier):
    X, y = labelled(400, 1)
    found = frontier.cheapest(promise="cost <= 30", X=X, y=y, plan_share=0.9999)
    assert (found.rows, found.planned_on) == (1, 399)
    found = frontier.cheapest(promise="cost <= 30", X=X, y=y, groups=np.arange(400) // 10, plan_share=0.9999)
    assert (found.rows, found.planned_on) == (10, 390)


def test_a_plan_without_the_promised_class_is_none(frontier):
    X, y = labelled(400, 1)
    ill = np.flatnonzero(y == "ill")[:3]
    some = np.r_[ill, np.flatnonzero(y == "well")]
    plan = X[y == "well"], y[y == "well"]
    for kind in ("recall", "precision"):
        assert frontier.cheapest(promise=f"{kind}(ill) >= 0.1", X=X, y=y, plan=plan).planned_on == 0
    with pytest.raises(BrokenPromiseError, match="on 3 rows"):
        frontier.cheapest(
            promise="recall(ill) >= 0.9", X=X.iloc[some], y=y[some], plan=(X[y == "well"], y[y == "well"])
        )


# Of cascades.


@pytest.fixture(scope="module")
def pair():
    X, y = labelled(800, 0)
    cheap, safe = (evolve_fit(X, y, tradeoff) for tradeoff in (0.02, 0.0))
    return cheap.predictor_, safe.predictor_


def evolve_fit(X, y, tradeoff):
    return cf.CEGBClassifier(COSTS, n_estimators=12, tradeoff=tradeoff).fit(X, y)


@pytest.mark.parametrize("doubt", DOUBTS)
def test_a_cascade_answers_as_the_safe_model_within_the_doubt_and_pays_for_both(pair, doubt):
    cheap, safe = pair
    X, _ = some_rows(500, 5)
    both = cascade(cheap, safe, doubt)
    unsure = np.abs(cheap.decision_function(X)) <= doubt
    assert unsure.sum() > 0
    expected = np.where(unsure, safe.predict(X), cheap.predict(X))
    assert np.array_equal(both.predict(X), expected)
    one, other, report = (model.cost(X) for model in (cheap, safe, both))
    acquired = one.acquired | (other.acquired & unsure[:, None])
    assert np.array_equal(report.acquired, acquired)
    sure = ~unsure
    assert np.array_equal(report.per_row[sure], one.per_row[sure])
    assert (report.per_row[unsure] >= other.per_row[unsure]).all()


def test_a_cascade_is_saved_and_stepped_like_any_model(pair, tmp_path):
    both, (X, _) = cascade(*pair, 0.5), some_rows(50, 6)
    cf.save(both, tmp_path / "both.model")
    loaded = cf.load(tmp_path / "both.model")
    assert np.array_equal(loaded.predict(X), both.predict(X))
    report = both.cost(X)
    for row, cost, value in zip(X, report.per_row, both.predict(X), strict=True):
        found = cf.predict_one(both, dict(zip(NAMES, row.tolist(), strict=True)))
        assert found.cost == pytest.approx(cost)
        assert found.value == pytest.approx(value)


def test_the_border_of_doubt_is_where_prices_of_errors_put_it():
    X, y = some_rows(800)
    costs = cf.CostModel.of(COSTS, errors={0: {1: 1.0}, 1: {0: 9.0}})
    cheap, safe = (cf.CEGBClassifier(costs, n_estimators=12, tradeoff=t).fit(X, y).predictor_ for t in (0.02, 0.0))
    both = cascade(cheap, safe, 0.3)
    unsure = np.abs(cheap.decision_function(X) - math.log(1 / 9)) <= 0.3
    assert np.array_equal(both.predict(X), np.where(unsure, safe.predict(X), cheap.predict(X)))
    assert 0 < unsure.mean() < 1


def test_models_of_other_forms_do_not_defer(pair):
    X, y = some_rows(300)
    three = cf.CEGBClassifier(COSTS, n_estimators=3).fit(X, y + (X[:, 1] > 1))
    assert can_defer(pair[0])
    assert not can_defer(three.predictor_)
    assert not can_defer(cascade(*pair, 0.5))
    assert not can_defer(cf.CEGBRegressor(COSTS, n_estimators=3).fit(X, X[:, 0]).predictor_)


def test_cascades_pay_less_for_the_same_promise(frontier):
    X, y = labelled(3000, 1)
    plain, found = (
        frontier.cheapest(promise="disagreement(best) <= 0.08", X=X, y=y, cascades=cascades)
        for cascades in (False, True)
    )
    assert found.cost < plain.cost
    assert plain.point is not None


# Of searches.


def test_a_search_holds_rows_out_before_it_fits_anything():
    X, y = labelled(1200, 0)
    search = BudgetSearch(SMALL, promise="recall(ill) >= 0.6", cv=0).fit(X, y)
    found = search.certified_
    assert found.rows == 300
    assert found.planned_on == 225  # the validation rows
    assert search.summary_ == str(found)
    assert search.best_estimator_ is found.model
    assert search.best_point_ is found.point
    assert search.next_buys_ == ()
    assert {*search.predict(X[:20])} <= {"ill", "well"}
    given = BudgetSearch(SMALL, promise="recall(ill) >= 0.6", cv=0)
    fresh, truth = labelled(500, 1)
    assert given.fit(X, y, X_promise=fresh, y_promise=truth).certified_.rows == 500


def test_a_search_keeps_groups_apart():
    X, y = labelled(1200, 0)
    groups = np.arange(1200) // 4
    found = BudgetSearch(SMALL, promise="error <= 0.4", cv=0).fit(X, y, groups=groups).certified_
    assert found.groups * 4 == found.rows
    with pytest.raises(DataError, match="groups_promise: group 0 is in X too"):
        BudgetSearch(SMALL, promise="error <= 0.4", cv=0).fit(
            X, y, groups=groups, X_promise=X[:8], y_promise=y[:8], groups_promise=groups[:8]
        )


@pytest.mark.parametrize(
    ("settings", "rows", "text"),
    [
        ({"budget": 3.0}, {}, "leave out budget and minimize"),
        (
            {"estimator": LogisticRegression()},
            {},
            "estimator: expected one of costframe's, with a tradeoff, LogisticRegression has none",
        ),
        ({"estimator": "miser"}, {}, "estimator: expected one of costframe's, with a tradeoff, got 'miser'"),
        ({"minimize": "bill"}, {}, "leave out budget and minimize"),
        ({"promise": "recall(il) >= 0.6"}, {}, "there is no class 'il'"),
        ({"promise": "recal(ill) >= 0.6"}, {}, "unknown kind"),
        ({"promise_fraction": 0}, {}, "promise_fraction: expected a number between 0 and 1"),
        ({}, {"sample_weight": np.ones(200)}, "sample_weight: a promise counts each row once"),
        ({}, {"X_promise": 1}, "X_promise and y_promise: expected both or neither"),
        ({"promise": None, "budget": 3.0}, {"X_promise": 1}, "X_promise: has no effect without a promise"),
    ],
)
def test_a_search_refuses_what_does_not_go_with_a_promise(settings, rows, text):
    X, y = labelled(200, 0)
    search = BudgetSearch(SMALL, promise="recall(ill) >= 0.6", cv=0).set_params(**settings)
    with pytest.raises(CostframeError, match=text):
        search.fit(X, y, **rows)


def test_a_saved_frontier_promises_too(frontier, tmp_path):
    X, y = labelled(900, 1)
    frontier.save(tmp_path)
    one, other = (each.cheapest(promise="error <= 0.25", X=X, y=y) for each in (frontier, Frontier.load(tmp_path)))
    assert (one.name, one.cost, one.checks) == (other.name, other.cost, other.checks)
    assert certify(frontier, "error <= 0.25", X=X, y=y).name == one.name


def test_prices_that_fit_no_model_are_refused(frontier):
    X, y = labelled(300, 1)
    with pytest.raises((CostModelError, ParameterError), match="bill: needs prices with errors"):
        frontier.cheapest(promise="bill <= 3", X=X, y=y)
