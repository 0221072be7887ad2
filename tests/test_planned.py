"""Planned predictors: every way to predict a row gives what the naive twin gives, on any terms, and costs the same."""

import naive_planned
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from costframe.testing.strategies import cost_models, feature_names, planned_predictors, rows

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


def acquisition_prices(costs):
    """The same prices without those that a planned predictor refuses."""
    features = tuple(evolve(feature, split=0.0) for feature in costs.features)
    return evolve(costs, features=features, split=0.0, learner=0.0, reuse=0.0)


def plain_costs(names):
    return cost_models(names).map(acquisition_prices)


@st.composite
def cases(draw, **settings):
    names = draw(feature_names())
    predictor = draw(planned_predictors(names, **settings))
    costs = draw(plain_costs(names))
    terms = {
        "tradeoff": draw(st.sampled_from((0.0, 0.1, 1.0))),
        "max_cost": draw(st.none() | st.sampled_from((0.0, 1.0, 2.6, 3.5, 1e6))),
        "unavailable": draw(st.just(()) | st.sets(st.sampled_from([*names, *costs.resource_names]))),
    }
    return predictor, costs, draw(rows(len(names))), terms


def same_bits(a, b):
    return np.array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64), equal_nan=True)


def inquire(predictor, row, *arguments, **terms):
    """End, names asked for."""
    values = dict(zip(predictor.feature_names, row.tolist(), strict=True))
    inquiry, asked = predictor.inquire(*arguments, **terms), []
    while inquiry.needs:
        assert not set(inquiry.needs) & set(asked)
        asked += inquiry.needs
        inquiry.supply({name: values[name] for name in inquiry.needs})
    return inquiry.answer, asked


@given(cases())
def test_table_equals_naive_twin_equals_inquiry(case):
    predictor, costs, X, terms = case
    values, exits = predictor.predict(X, costs=costs, **terms), predictor.exits(X, costs=costs, **terms)
    scores = predictor.decision_function(X, costs=costs, **terms)
    report = predictor.cost(X, costs, rounds=True, **terms)
    assert same_bits(report.predictions, values)
    for i, row in enumerate(X):
        twin = naive_planned.walk(predictor, row, costs, **terms)
        end, asked = inquire(predictor, row, costs, **terms)
        assert exits[i] == end.exit == twin["exit"]
        assert same_bits(values[i], twin["value"])
        assert same_bits(end.value, twin["value"])
        assert same_bits(
            scores[i], np.squeeze(twin["scores"] if predictor.stops[0].answer.link != "ranked" else twin["value"])
        )
        assert report.per_row[i] == end.cost == twin["cost"]
        assert set(end.acquired) == set(asked) == twin["acquired"]
        assert {name for name, one in zip(predictor.feature_names, report.acquired[i], strict=True) if one} == set(
            asked
        )
        assert report.rounds[i] == end.rounds == twin["rounds"]
        assert end.reason == twin["reason"]
        if report.cut is not None:
            assert report.cut[i] == (twin["reason"] != "complete")
