"""Saved plans: what comes back predicts, prices and steps to the last bit, and anything else is refused."""

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from test_planned import FEWER, LABORATORY, chain
from test_storage import (
    assert_same_report,
    forged,
    parts_of,
    refusal,
    same_bytes,
    set_array,
    set_entry,
    set_model,
    steps,
)

from costframe.core.stages.stops import Rung
from costframe.core.storage.saving import load, save
from costframe.testing.strategies import cost_models, feature_names, planned_predictors, rows


@st.composite
def cases(draw):
    names = draw(feature_names())
    predictor = draw(planned_predictors(names, planned=True))
    costs = draw(cost_models(names, computing=False))
    return predictor.with_costs(draw(st.none() | st.just(costs))), costs, draw(rows(len(names)))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@FEWER
@given(cases(), st.sampled_from((None, {"tradeoff": 0.3}, {"max_cost": 1.0})))
def test_the_loaded_plan_is_the_saved_one(tmp_path_factory, case, terms):
    predictor, costs, X = case
    path = tmp_path_factory.getbasetemp() / "plan"
    save(predictor, path)
    content = path.read_bytes()
    again = load(path, {learner.name: learner.function for learner in predictor.bank.opaques})
    assert (again.costs, again.tradeoff) == (predictor.costs, predictor.tradeoff)
    terms = {} if terms is None else {"costs": costs} | terms
    assert same_bytes(again.decision_function(X, **terms), predictor.decision_function(X, **terms))
    assert same_bytes(again.exits(X, **terms), predictor.exits(X, **terms))
    assert_same_report(again.cost(X, **terms), predictor.cost(X, **terms))
    for row in X[:2]:
        assert steps(again, row, "path") == steps(predictor, row, "path")
    save(again, path)
    assert path.read_bytes() == content


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    save(evolve(chain(LABORATORY), ladder=[Rung(0.0, 0.01)]), path)
    return path


def test_prices_of_its_own_can_be_given(saved):
    save(load(saved), saved, costs=[3.0, 4.0])
    assert load(saved).costs.full_cost() == 7.0


FORGED = {
    "no kind": (
        set_model(None, "kind"),
        "expected one of the kinds ['stages', 'planned', 'prepared', 'mixed'], got None",
    ),
    "another kind": (set_model("pickle", "kind"), "expected one of the kinds"),
    "a kind of no text": (set_model(["planned"], "kind"), "expected one of the kinds"),
    "the other kind": (set_model("stages", "kind"), "malformed model: expected exactly"),
    "a further key": (set_model("", "code"), "malformed model: expected exactly"),
    "stops of no list": (set_model({}, "stops"), "expected a list"),
    "no stops": (set_model([], "stops"), "expected at least one"),
    "stops of no table": (set_model([1, 2, 3], "stops"), "malformed stop 0"),
    "a stop that says too much": (set_model(1, "stops", 0, "below"), "malformed stop 0"),
    "a link of none": (set_model({}, "stops", 0, "answer"), "malformed stop 0"),
    "an unknown link": (set_model("cubic", "stops", 0, "answer", "link"), "link: expected"),
    "links that differ": (set_model("sigmoid", "stops", 0, "answer", "link"), "one link"),
    "gains of no truth": (set_model(1, "stops", 0, "gains"), "expected true or false"),
    "gains that are not there": (set_model(True, "stops", 2, "gains"), "no array 'stop.2.gains.learners'"),
    "gains that nobody takes": (set_model(False, "stops", 1, "gains"), "stop 1: gains: expected those of 1"),
    "a plan that is not there": (set_model(True, "stops", 0, "planned"), "no array 'stop.0.planned.learners'"),
    "features out of order": (set_array("stop.2.features", [1, 0]), "ascending"),
    "features too far": (set_array("stop.2.features", [0, 2]), "stop 2: buys column 2"),
    "features of floats": (
        set_entry("stop.2.features", dtype="<f8"),
        "'stop.2.features': expected 1 dimension(s) of <i8",
    ),
    "features that are not read": (set_array("stop.1.features", [1]), "which is not bought there"),
    "a learner too far": (set_array("stop.2.answer.learners", [0, 9]), "stop 2: answer: "),
    "a weight of NaN": (set_array("stop.2.answer.weights", [[np.nan], [1]]), "weights: expected finite"),
    "gains that read more": (set_array("stop.1.gains.learners", [1, 2]), "reads 'b', which is not bought there"),
    "gains of no table": (set_model(3, "gains"), "malformed gains"),
    "names of gains that differ": (set_model(["a", "c", "score 0"], "gains", "feature_names"), "columns of bank"),
    "opaque gains": (
        set_model([{"name": "o", "features": [], "width": 1}], "gains", "opaques"),
        "pass opaque={name: callable}",
    ),
    "an unknown kind of learner": (set_array("gains.bank.kind", [0, 0, 9]), "'gains.bank.kind': expected 0 to 2"),
    "a rung of no truth": (set_array("ladder", [0.0, 1.0, 2.0]), "malformed ladder"),
    "a rung too high": (set_array("ladder", [1.0, 1.0, 0.0]), "expected rungs from 0 on"),
    "a planned rung without plans": (set_array("ladder", [0.0, 1.0, 1.0]), "a planned rung if stops have plans"),
    "a tradeoff of no number": (set_model("1", "tradeoff"), "tradeoff"),
    "a negative tradeoff": (set_model(-1.0, "tradeoff"), "tradeoff"),
    "prices of no table": (set_model(3, "costs"), "expected a table"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_plans_are_refused(saved, case):
    edit, words = FORGED[case]
    assert words in refusal(saved, forged(*edit(*parts_of(saved.read_bytes()))))


def test_a_plan_cut_anywhere_is_refused(saved):
    content = saved.read_bytes()
    for length in range(0, len(content), 7):
        text = refusal(saved, content[:length])
        assert "truncated" in text or (length == 0 and "empty" in text)
