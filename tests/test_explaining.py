"""Explanations: parts add up to scores and costs, for predictors of all kinds; importances against other libraries."""

import pickle
import sys
from itertools import pairwise

import naive
import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from broken_predictors import Delegate
from hypothesis import given
from hypothesis import strategies as st
from preparation_cases import prepared_predictors
from sklearn.feature_selection import SelectFromModel
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import costframe as cf
from costframe.core.errors import CostframeError
from costframe.testing.case import same_bits
from costframe.testing.strategies import banks, cost_models, feature_names, planned_predictors, rows, stage_trees
from costframe_cegb import CEGBClassifier, CEGBRegressor
from costframe_planner import PlannerClassifier

RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(200, 4)), 1)
Y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) > 0).astype(int)
NAMES = ("x0", "x1", "x2", "x3")
PRICES = {
    "unit": "CAD",
    "features": {
        "x0": {"cost": 1.0, "needs": ["blood"]},
        "x1": {"cost": 2.0, "needs": ["blood"]},
        "x2": 4.0,
        "x3": 8.0,
    },
    "resources": {"blood": 3.0},
}
pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def cases(draw, kind):
    """Draw a predictor of a kind, prices, rows, and rows for the background, or None."""
    names = draw(feature_names()) if kind != "prepared" else NAMES
    if kind == "stages":
        predictor = draw(stage_trees(draw(banks(names))))
    elif kind == "plan":
        predictor = draw(planned_predictors(names))
    else:
        predictor = draw(prepared_predictors(names))
    costs = predictor.costs if kind == "prepared" else draw(cost_models(names, computing=kind == "stages"))
    background = draw(st.none() | rows(len(names)))
    return predictor, costs, draw(rows(len(names))), background


def expect_sums(explanation, scores):
    """Expect that the finite scores, (rows, K), and the costs are the sums of their parts, and that names fit."""
    parts = np.concatenate([explanation.base[:, None], explanation.contributions], axis=1)
    parts = parts if parts.ndim == 3 else parts[..., None]
    finite = np.isfinite(parts).all(axis=1) & np.isfinite(scores)
    off = np.abs(parts.sum(axis=1) - scores)
    assert (off <= 1e-9 * (1.0 + np.abs(parts).sum(axis=1)))[finite].all()
    assert parts.shape[1] == 1 + len(explanation.parts)
    paid = explanation.payments
    assert np.abs(paid.sum(axis=1) - explanation.costs).max(initial=0.0) <= 1e-12 * max(1.0, np.abs(paid).sum())
    assert paid.shape[1] == len(explanation.items)
    assert (paid[:, :-1] >= 0).all()  # the first use of a feature is no reuse


@given(cases("stages"))
def test_parts_of_stage_trees_add_up_to_the_scores_of_their_answers(case):
    tree, costs, X, background = case
    explanation = cf.explain(tree, X, costs, background=background)
    scores = np.array([naive.route_taken(tree, row)[1] for row in X]).reshape(len(X), tree.n_outputs)
    expect_sums(explanation, scores)
    assert same_bits(explanation.costs, tree.cost(X, costs).per_row)
    if tree.links != ("ranked",) and len(tree.links) == 1:
        assert same_bits(tree.decision_function(X), scores if tree.n_outputs > 1 else scores[:, 0])


@given(cases("plan"))
def test_parts_of_plans_add_up(case):
    plan, costs, X, background = case
    plan = plan.with_costs(costs)
    explanation = cf.explain(plan, X, background=background)
    stops = [evolve(stop.answer, link="identity", level=0.0) for stop in plan.stops]
    scores = np.empty((len(X), plan.n_outputs))
    for i, (row, stop) in enumerate(zip(X, plan.exits(X), strict=True)):
        scores[i] = cf.StageTree(plan.bank, (stops[stop],)).decision_function(row[None])
    expect_sums(explanation, scores)
    assert same_bits(explanation.costs, plan.cost(X).per_row)


@given(cases("prepared"))
def test_parts_of_predictors_of_made_columns_add_up(case):
    predictor, _, X, background = case
    explanation = cf.explain(predictor, X, background=background)
    made = cf.explain(predictor.inner, predictor.preparation.transform(X))
    expect_sums(explanation, made.scores.reshape(len(X), predictor.inner.n_outputs))
    assert same_bits(explanation.costs, predictor.cost(X).per_row)
    assert explanation.parts[:4] == NAMES


def steps():
    values = yield ["x1"]
    if values["x1"] > 0:
        values = yield ["x0"]
        return values["x0"]
    return -1.0


def test_a_stepped_model_is_one_part():
    model = cf.SteppedPredictor(("x0", "x1"), steps, costs=cf.CostModel.uniform(["x0", "x1"]))
    explanation = cf.explain(model, X[:, :2], background=X[:50, :2])
    assert explanation.parts == ("x0", "x1", "model")
    np.testing.assert_allclose(
        explanation.contributions[:, 2] + model.predict(X[:50, :2]).mean(), model.predict(X[:, :2])
    )
    np.testing.assert_allclose(explanation.payments.sum(axis=1), model.cost(X[:, :2]).per_row)
    assert cf.importances(model, X[:, :2]) == {"x0": 0.5, "x1": 0.5}
    money = cf.importances(model, X[:, :2], by="money")
    share = (X[:, 1] > 0).mean()
    assert money == pytest.approx({"x1": 1 / (1 + share), "x0": share / (1 + share)})


def test_contributions_of_a_tree_are_the_changes_of_its_mean():
    tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, Y)
    explanation = cf.explain(cf.adopt(tree, NAMES), X, background=X)
    assert explanation.base == pytest.approx(Y.mean(), abs=1e-6)
    path, inner = tree.decision_path(X).toarray().astype(bool), tree.tree_
    for row in range(0, 200, 20):
        nodes, wanted = np.flatnonzero(path[row]), np.zeros(4)
        for before, after in pairwise(nodes):
            wanted[inner.feature[before]] += inner.value[after, 0, 0] - inner.value[before, 0, 0]
        np.testing.assert_allclose(explanation.contributions[row], wanted, atol=1e-6)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor], ids=lambda kind: kind.__name__)
def test_importances_by_gain_are_those_of_scikit_learn(kind):
    tree = kind(max_depth=4, random_state=0).fit(X, Y)
    found = cf.importances(cf.adopt(tree, NAMES), X)
    assert [found[name] for name in NAMES] == pytest.approx(tree.feature_importances_, abs=1e-6)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_importances_of_columns_are_shares_of_their_variance():
    bank = cf.WeakLearnerBank.columns(NAMES)
    tree = cf.StageTree(bank, (cf.Answer([0, 1, 3], [2.0, -1.0, 0.0], [5.0]),))
    spread = np.array([4.0, 1.0]) * X[:, :2].var(axis=0)
    found = cf.importances(tree, X)
    assert [found[name] for name in NAMES] == pytest.approx([*(spread / spread.sum()), 0.0, 0.0])
    explanation = cf.explain(tree, X, background=X)
    assert explanation.base == pytest.approx(5.0 + 2.0 * X[:, 0].mean() - X[:, 1].mean())
    np.testing.assert_allclose(explanation.contributions[:, 0], 2.0 * (X[:, 0] - X[:, 0].mean()), atol=1e-12)


def test_money_is_that_of_a_feature_and_of_its_part_of_resources():
    bank = cf.WeakLearnerBank.columns(NAMES)
    costs = cf.CostModel.from_dict(PRICES)
    two = cf.StageTree(bank, (cf.Answer([0, 1, 2], [1.0, 1.0, 1.0], [0.0]),), costs)
    assert cf.importances(two, X, by="money") == pytest.approx({"x2": 0.4, "x1": 0.35, "x0": 0.25, "x3": 0.0})
    one = cf.StageTree(bank, (cf.Answer([0, 2], [1.0, 1.0], [0.0]),), costs)
    assert cf.importances(one, X, by="money") == pytest.approx({"x0": 0.5, "x2": 0.5, "x1": 0.0, "x3": 0.0})
    none = cf.StageTree(bank, (cf.Answer([], np.empty((0, 1)), [0.0]),), costs)
    assert set(cf.importances(none, X, by="money").values()) == {0.0}


def test_weights_count_rows():
    model = CEGBRegressor(PRICES, tradeoff=1e-3, n_estimators=5).fit(X, Y)
    weight = RNG.integers(0, 3, size=200)
    for by in ("gain", "money"):
        twice = cf.importances(model, np.repeat(X, weight, axis=0), by=by)
        assert cf.importances(model, X, by=by, sample_weight=weight) == pytest.approx(twice, abs=1e-6)


@pytest.mark.parametrize("kind", [CEGBClassifier, PlannerClassifier], ids=lambda kind: kind.__name__)
def test_fitted_estimators_have_importances_by_gain(kind):
    model = kind(PRICES, tradeoff=1e-4, n_estimators=8)
    assert not hasattr(model, "feature_importances_")
    model.fit(X, Y)
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0)
    assert importances[3] < importances[0]
    found = cf.importances(model, X)
    assert [found[name] for name in NAMES] == pytest.approx(importances)
    chosen = SelectFromModel(kind(PRICES, tradeoff=1e-4, n_estimators=8), threshold="mean").fit(X, Y)
    assert chosen.get_support()[0]


def test_importances_survive_pickling_and_copies_without_the_rows():
    model = CEGBClassifier(PRICES, tradeoff=1e-4, n_estimators=8).fit(X, Y)
    wanted = model.feature_importances_
    packed = pickle.dumps(model)
    again = pickle.loads(packed)  # noqa: S301 - our own
    assert again.feature_importances_.tolist() == wanted.tolist()
    assert X.tobytes() in pickle.dumps(X)
    assert X.tobytes() not in packed
    shorter = model.with_predictor(model.predictor_, tradeoff=1e-4)
    assert shorter.feature_importances_.tolist() == wanted.tolist()


def test_a_saved_model_explains_rows_as_it_did(tmp_path):
    model = CEGBClassifier(PRICES, tradeoff=1e-4, n_estimators=8).fit(X, Y)
    cf.save(model, tmp_path / "model")
    one, two = cf.explain(model, X), cf.explain(cf.load(tmp_path / "model"), X)
    assert same_bits(one.contributions, two.contributions)
    assert same_bits(one.base, two.base)
    assert np.abs(one.contributions.mean(axis=0)).max() < 1e-6  # they are changes from the mean over training rows


def test_a_row_may_be_a_mapping_and_a_frame_has_any_order():
    frame = pd.DataFrame(X, columns=list(NAMES))
    model = CEGBClassifier(PRICES, tradeoff=1e-4, n_estimators=8).fit(frame, Y)
    whole = cf.explain(model, frame[list(reversed(NAMES))])
    one = cf.explain(model, dict(zip(NAMES, X[7].tolist(), strict=True)))
    assert same_bits(one.contributions[0], whole.contributions[7])
    used = [name for name in NAMES if name in model.predictor_.used_features]
    with pytest.raises(CostframeError, match=f"X: the row has no value of '{used[0]}'"):
        cf.explain(model, {})


def test_labels_of_categories_are_read_as_by_predict():
    frame = pd.DataFrame({"color": pd.Categorical(np.where(X[:, 0] > 0, "red", "blue")), "size": X[:, 1]})
    model = CEGBClassifier(n_estimators=8).fit(frame, Y)
    explanation = cf.explain(model, frame)
    np.testing.assert_allclose(explanation.scores, model.decision_function(frame))
    one = cf.explain(model, {"color": "red", "size": X[np.argmax(X[:, 0] > 0), 1]})
    assert same_bits(one.contributions[0], explanation.contributions[np.argmax(X[:, 0] > 0)])


def test_frames_hold_all_parts():
    explanation = cf.explain(CEGBClassifier(PRICES, tradeoff=1e-4, n_estimators=8).fit(X, Y), X)
    frame = explanation.to_frame()
    np.testing.assert_allclose(frame["score"].sum(axis=1), explanation.scores)
    kinds = ["feature cost", "resource cost", "computing cost"]
    np.testing.assert_allclose(frame[kinds].sum(axis=1), explanation.costs)
    assert frame["resource cost"].columns.tolist() == ["blood"]
    three = CEGBClassifier(n_estimators=3).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    explanation = cf.explain(three, X)
    assert explanation.contributions.shape == (200, 4, 3)
    np.testing.assert_allclose(explanation.to_frame()["score 1"].sum(axis=1), explanation.scores[:, 1])
    np.testing.assert_allclose(explanation.scores, three.predictor_.decision_function(X))


def test_what_a_stepped_model_computes_counts_as_learners():
    costs = cf.CostModel.from_dict(PRICES | {"learner": 0.5})
    tree = CEGBRegressor(costs, tradeoff=1e-3, n_estimators=3).fit(X, Y).predictor_
    apart, together = cf.explain(tree, X[:9]), cf.explain(Delegate(tree), X[:9])
    np.testing.assert_allclose(together.costs, apart.costs)
    np.testing.assert_allclose(together.payments, apart.payments)
    assert (together.payments[:, -3] >= 0.5).all()


def test_a_frame_needs_pandas(monkeypatch):
    explanation = cf.explain(cf.StageTree(cf.WeakLearnerBank.columns(NAMES), (cf.Answer([0], [1.0], [0.0]),)), X)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CostframeError, match="to_frame: needs pandas"):
        explanation.to_frame()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cf.explain(DecisionTreeClassifier(), X), "got DecisionTreeClassifier; cf.adopt"),
        (lambda: cf.explain(CEGBClassifier(), X), "Predictor, got CEGBClassifier, which is not fitted; call fit first"),
        (lambda: cf.importances(CEGBClassifier(), X), "got CEGBClassifier, which is not fitted; call fit first"),
        (lambda: cf.explain(CEGBClassifier, X), "got the class CEGBClassifier; call it, and fit what it makes"),
        (lambda: cf.explain(3, X), "expected a fitted estimator or a Predictor, got 3"),
        (lambda: cf.save(CEGBClassifier(), "a.model"), "got CEGBClassifier; call fit first"),
        (lambda: cf.StagesDisplay.of(CEGBClassifier(), X), "got CEGBClassifier, which is not fitted; call fit first"),
        (lambda: cf.AcquisitionDisplay.of(CEGBClassifier(), X), "got CEGBClassifier, which is not fitted"),
        (lambda: cf.FrontierDisplay.from_estimator(CEGBClassifier(), X, Y), "got CEGBClassifier, which is not fitted"),
        (lambda: cf.importances(CEGBClassifier(n_estimators=1).fit(X, Y), X, by="cover"), "'gain' or 'money'"),
    ],
    ids=["foreign", "unfitted", "importances", "class", "number", "save", "stages", "steps", "frontier", "by"],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(CostframeError, match=words):
        call()
