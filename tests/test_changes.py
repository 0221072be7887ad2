"""Which values of further features would change the class: against inquiries that know them, value by value."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from preparation_cases import prepared_predictors

import costframe as cf
from costframe import Answer, CostModel, StageTree, WeakLearnerBank
from costframe.core.errors import CostframeError
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.tables.categories import ONLY, OTHER
from costframe.plugin import PlannedPredictor, Spare, Stop
from costframe.testing import strategies

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FEWER = settings(max_examples=max(40, settings().max_examples // 3))
VALUES = (-2.0, -1.0, -0.5, 0.0, 1e-9, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 100.0, np.nan)


def label_given(model, costs, known):
    """The class of a row that knows these values, and can have no others."""
    rest = [name for name in model.feature_names if name not in known]
    return model.inquire(costs, known=known, unavailable=rest).answer.label


def check(model, costs, known, found, values=VALUES):
    """Compare the changes of a row with an inquiry for each value."""
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found)
    assert found.label == label_given(model, costs, known)
    left = {name for name in model.used_features if name not in known}
    changed = {change.name for change in found.changes}
    assert left == {*changed, *found.unchanged, *found.untold}
    assert not changed & {*found.unchanged}
    for name in left - found.untold.keys():
        labels = model.categories.get(name)
        numbers = {label: float(number) for number, label in enumerate(labels or ())}
        for value in (*labels, None) if labels else values:
            number = numbers.get(value, np.nan) if labels else value
            wanted = label_given(model, costs, known | {name: np.nan if value is None else value})
            held = [
                change.label
                for change in found.changes
                if change.name == name
                and any(condition.holds(np.array([number]), numbers)[0] for condition in change.where)
            ]
            assert held == ([] if wanted == found.label else [wanted]), (name, value)


@st.composite
def classifiers(draw, models):
    names = draw(strategies.feature_names())
    model = draw(models(names))
    try:
        n_outputs = np.atleast_2d(model.predict(np.zeros((2, len(names)))).T).shape[0]
        model = model.with_classes([f"class {k}" for k in range(max(2, n_outputs))])
    except CostframeError:
        assume(False)
    row = draw(strategies.rows(len(names)).filter(len))[0]
    assume(not np.isinf(row).any())
    return model, row


def trees(names):
    return strategies.banks(names, opaque=False, labels=True).flatmap(strategies.stage_trees)


def check_all_steps(model, costs, row, **terms):
    """Check an inquiry at each step; values of features with labels are their labels."""
    values = {}
    for name, value in zip(model.feature_names, row.tolist(), strict=True):
        labels = model.categories.get(name)
        known = labels and value in range(len(labels))
        values[name] = (labels[int(value)] if known else None) if labels else value
    inquiry, known = model.inquire(costs, **terms), {}
    while True:
        needs, found = inquiry.needs, inquiry.changes()
        assert inquiry.needs == needs
        if found.reason is None:
            check(model, costs, known, found)
        if not needs:
            return
        given_now = {name: values[name] for name in needs}
        known |= {name: np.nan if value is None else value for name, value in given_now.items()}
        inquiry.supply(given_now)


@pytest.mark.engine
@FEWER
@given(classifiers(trees), st.data())
def test_changes_of_stage_trees_are_those_of_each_value(case, data):
    model, row = case
    costs = data.draw(strategies.cost_models(model.feature_names, computing=False))
    cap = data.draw(st.none() | st.sampled_from((0.0, 1.0, 2.6)))
    check_all_steps(model, costs, row, max_cost=cap)


@pytest.mark.engine
@FEWER
@given(classifiers(lambda names: strategies.planned_predictors(names, opaque=False)), st.data())
def test_changes_of_plans_are_those_of_each_value(case, data):
    model, row = case
    costs = data.draw(strategies.cost_models(model.feature_names, computing=False))
    check_all_steps(model, costs, row)


@pytest.mark.engine
@FEWER
@given(classifiers(lambda names: prepared_predictors(names, computing=False)))
def test_changes_of_prepared_predictors_are_those_of_each_value(case):
    model, row = case
    check_all_steps(model, None, row)


def test_changes_of_a_plan_are_also_those_of_its_spare_ensemble():
    X = pd.DataFrame({"a": np.linspace(-2.0, 2.0, 80), "b": 0.0})
    tree = cf.CEGBClassifier(n_estimators=1, max_leaves=2).fit(X, np.where(X["a"] > 0, "ill", "well")).predictor_
    stop = Stop([0, 1], Answer([], np.empty((0, 1)), [0.0], "sigmoid"))
    banks = (WeakLearnerBank.columns(names, []) for names in (("a", "b"), ("a", "b", "score 0")))
    spare = Spare(tree.bank, tree.only_answer, AbsenceLosses.none(2), [0.1])
    plan = PlannedPredictor(*banks, (stop,), 0.0, spare=spare).with_classes(["ill", "well"])
    found = plan.inquire({"a": 1.0, "b": 1.0}).changes()
    check(plan, {"a": 1.0, "b": 1.0}, {}, found)
    assert [change.name for change in found.changes] == ["a"]


def test_columns_that_no_stop_has_alone_beside_what_is_known_are_read_together():
    nothing, names = Answer([], np.empty((0, 1)), [0.0], "sigmoid"), ("a", "b", "c", "d")
    gains = [Answer([], np.empty((0, left)), -np.ones(left)) for left in range(4, 0, -1)]
    sets = ([], [0], [0, 1], [1, 2, 3], [0, 2, 3])
    stops = [Stop(read, nothing, gain) for read, gain in zip(sets, [*gains, None], strict=True)]
    banks = (WeakLearnerBank.columns(columns, []) for columns in (names, (*names, "score 0")))
    plan = PlannedPredictor(*banks, stops)
    assert plan.read_together(frozenset()) == {1, 2, 3}
    assert plan.read_together(frozenset({0})) == {2, 3}
    assert plan.read_together(frozenset({0, 2})) == set()


def test_labels_that_stand_for_others_are_said_in_words_or_not_at_all():
    X = pd.DataFrame({"a": ["x", "y", "z"] * 30})
    tree = cf.CEGBClassifier(n_estimators=50, max_leaves=2).fit(X, np.where(X["a"] == "z", "ill", "well")).predictor_
    for last, said in ((OTHER, "it would be ill where a is any other"), (ONLY, "no value of one further feature")):
        found = tree.with_categories({"a": ("x", "y", last)}).inquire({"a": 1.0}).changes()
        assert found.label == "well"
        assert said in str(found)


def test_changes_of_a_fitted_model_under_a_cap():
    data = cf.datasets.load("breast-cancer")
    train, test = data.part("train"), data.part("test")
    model = cf.estimator("cegb", costs=data.costs, tradeoff=2e-3).fit(train.X, train.y).predictor_
    n_changes = 0
    for row in test.X[:4]:
        inquiry, values = model.inquire(max_cost=5.0), dict(zip(data.feature_names, row.tolist(), strict=True))
        while inquiry.needs:
            inquiry.supply({name: values[name] for name in inquiry.needs})
        found = inquiry.changes()
        known = {name: values[name] for name in inquiry.acquired}
        check(model, data.costs, known, found, values=(*np.quantile(train.X, np.linspace(0.0, 1.0, 9)), np.nan))
        for change in found.changes:
            for condition in change.where:  # to the next double
                above = known | {change.name: np.nextafter(condition.above, np.inf)}
                assert label_given(model, data.costs, above) == change.label
                if condition.known and np.isfinite(condition.above):
                    at = known | {change.name: condition.above}
                    assert label_given(model, data.costs, at) == found.label
        n_changes += len(found.changes)
    assert n_changes


def test_what_cannot_be_told_says_so_by_name():
    bank = WeakLearnerBank.columns(("a", "b"))
    linear = StageTree(bank, [Answer([0, 1], [1.0, 1.0], [0.0], "sigmoid")])
    assert "knows no classes" in linear.inquire().changes().reason
    found = linear.with_classes(["no", "yes"]).inquire().changes()
    assert (found.label, set(found.untold)) == ("no", {"a", "b"})
    assert "compare them with thresholds" in found.untold["a"]
    nothing = Answer([], np.empty((0, 1)), [0.0], "sigmoid")
    stops = [Stop([], nothing, Answer([], np.empty((0, 1)), [-1.0])), Stop([0, 1], nothing)]
    empty = WeakLearnerBank.columns(("a", "b"), [])
    gains = WeakLearnerBank.columns(("a", "b", "score 0"), [])
    plan = PlannedPredictor(empty, gains, stops, classes=["no", "yes"])
    found = plan.inquire().changes()
    assert set(found.untold) == {"a", "b"}
    assert "together with other features" in found.untold["b"]
    costs = CostModel.of({"a": 1.0, "b": 1.0})
    certain = cf.certain(linear.with_classes(["no", "yes"]).with_costs(costs), "class").inquire()
    certain.supply({"a": 1.0, "b": 1.0})
    assert certain.changes().changes == ()
