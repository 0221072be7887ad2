"""How wrong figures from records may be: two readings of them, and the odds at which the advice changes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from drawn_records import NAMES, TESTS, draw_records, fit_frontier
from sklearn.metrics import log_loss, roc_auc_score

import costframe as cf
from costframe.choices.how_wrong import HowWrong, InService
from costframe.core.errors import DataError, ParameterError
from costframe.records.completion import find_donors
from costframe.records.made import Records
from costframe.records.suspicion import HiddenSuspicion

frontier_of = functools.cache(fit_frontier)


@functools.cache
def found(history: str, scoring: str | None = "neg_log_loss", *, errors: bool = False) -> tuple[HowWrong, Any, Any]:
    """Return what is found in records, these, and the model in question."""
    frontier, drawn = frontier_of(scoring, errors=errors), draw_records(history, 2000, 1)
    how_wrong = frontier.how_wrong(drawn.seen, drawn.y)
    assert how_wrong.chosen.name == "tested-1"
    return how_wrong, drawn, frontier.model("tested-1")


def rows_of(records: Any) -> tuple[Any, Any, Records]:
    cells = Records.of_cells(records.seen == records.seen, list(NAMES))
    assert cells is not None
    return records.seen, records.y, cells


@pytest.mark.parametrize("history", ["columns", "label", "value"])
def test_both_readings_have_the_truth_between_them(history: str) -> None:
    how_wrong, drawn, model = found(history)
    truth = -log_loss(drawn.y, model.predict_proba(drawn.X)[:, 1])
    stated = -log_loss(drawn.y, model.predict_proba(drawn.seen)[:, 1])
    error = 0.013  # of a mean of 2,000 log losses
    assert how_wrong.low - error < truth < how_wrong.high + error
    assert abs(stated - truth) > 2 * error
    if history != "value":  # in which neither reading is right
        assert abs(how_wrong.chosen.by_label - truth) < error


def test_the_reading_by_columns_is_right_where_columns_decided_and_is_contradicted_where_they_did_not() -> None:
    how_wrong, drawn, model = found("columns")
    truth = -log_loss(drawn.y, model.predict_proba(drawn.X)[:, 1])
    assert abs(how_wrong.chosen.by_columns - truth) < 0.02
    assert not how_wrong.contradicted
    for history in ("label", "value"):
        assert found(history)[0].contradicted


def test_scores_that_are_no_means_are_read_too() -> None:
    how_wrong, drawn, model = found("label", "roc_auc")
    truth = roc_auc_score(drawn.y, model.predict_proba(drawn.X)[:, 1])
    assert how_wrong.chosen.by_label == pytest.approx(truth, abs=0.01)
    assert how_wrong.worth.expected == pytest.approx(how_wrong.chosen.by_label, abs=0.005)
    low, high = how_wrong.worth.interval(2.0)
    assert low < truth < high


def test_bills_are_read_where_errors_have_prices() -> None:
    how_wrong, drawn, model = found("label", None, errors=True)
    truth = model.cost(drawn.X, drawn.y).mean_bill
    assert how_wrong.figure_name == "bill"
    assert how_wrong.chosen.by_label == pytest.approx(truth, abs=1.0)
    assert how_wrong.worth.expected == pytest.approx(-how_wrong.chosen.by_label, abs=0.5)


def test_the_runner_up_asks_for_no_test_and_has_an_exact_figure() -> None:
    how_wrong, drawn, _ = found("label")
    assert how_wrong.runner_up is not None
    assert how_wrong.runner_up.name == "free-1"
    model = frontier_of("neg_log_loss").model("free-1")
    exact = -log_loss(drawn.y, model.predict_proba(drawn.seen)[:, 1])
    assert how_wrong.runner_up.by_label == pytest.approx(exact)
    assert how_wrong.runner_up.by_columns == pytest.approx(exact)


def test_at_the_odds_that_are_told_the_runner_up_is_as_good() -> None:
    how_wrong, _, _ = found("label")
    assert how_wrong.odds is not None
    assert how_wrong.gain is not None
    assert 1.5 < how_wrong.odds < 10.0
    assert how_wrong.gain.lowest(how_wrong.odds) == pytest.approx(0.0, abs=1e-9)


def test_a_free_model_is_compared_with_the_best_that_asks() -> None:
    drawn = draw_records("label", 1000, 1)
    how_wrong = frontier_of("neg_log_loss").how_wrong(drawn.seen, drawn.y, "free-1")
    assert how_wrong.runner_up is not None
    assert how_wrong.runner_up.name == "tested-1"
    assert how_wrong.low == how_wrong.high
    assert how_wrong.odds == 1.0
    assert "On these rows tested-1 is as good as free-1" in str(how_wrong)


def test_a_mask_says_what_was_made() -> None:
    drawn, frontier = draw_records("columns", 400, 1), frontier_of("neg_log_loss")
    made = np.ones(drawn.seen.shape, np.bool_)
    made[:, TESTS] = drawn.made[:, np.newaxis]
    by_mask = frontier.how_wrong(drawn.seen, drawn.y, made=made)
    assert by_mask.chosen == frontier.how_wrong(drawn.seen, drawn.y).chosen


def test_rows_with_all_tests_and_foreign_scores_are_refused() -> None:
    drawn, frontier = draw_records("columns", 400, 1), frontier_of("neg_log_loss")
    with pytest.raises(DataError, match="X: all tests were made"):
        frontier.how_wrong(drawn.X, drawn.y)
    with pytest.raises(ParameterError, match="scoring: expected that of the frontier, neg_log_loss, got roc_auc"):
        frontier.how_wrong(drawn.seen, drawn.y, scoring="roc_auc")


def test_donors_by_columns_give_whole_rows_and_ask_no_label_of_who_takes() -> None:
    X, y, cells = rows_of(draw_records("label", 600, 3))
    cells = evolve(cells, names=("b0", "b1"), columns=tuple(np.array([f]) for f in TESTS), made=cells.made.repeat(2, 1))
    donors = find_donors(X, y, cells, by_class=True, copies=3, reading="columns")
    assert (donors[..., 0] == donors[..., 1]).all()
    assert cells.made[donors].all()
    taking = np.flatnonzero(~cells.made[:, 0])
    shuffled = y.copy()
    shuffled[taking] = shuffled[taking[::-1]]
    again = find_donors(X, shuffled, cells, by_class=True, copies=3, reading="columns")
    np.testing.assert_array_equal(again, donors)
    by_label = find_donors(X, y, cells, by_class=True, copies=3)
    assert (y[by_label[:, taking]] == y[taking, np.newaxis]).mean() > 0.9  # but for rows far from their class
    assert (y[donors[:, taking]] != y[taking, np.newaxis]).any()


def test_an_unknown_reading_is_refused() -> None:
    X, y, cells = rows_of(draw_records("label", 60, 3))
    with pytest.raises(ParameterError, match="reading: expected 'label' or 'columns', got 'both'"):
        find_donors(X, y, cells, by_class=True, reading="both")  # type: ignore[arg-type]


def test_sentences_say_what_is_known() -> None:
    hidden = HiddenSuspicion(np.zeros((1, 1)))
    both = InService("rich-1", -0.219, -0.225), InService("poor-1", -0.3, -0.3)
    one = HowWrong(*both, 2.34, False, "neg_log_loss", hidden, hidden)
    assert str(one) == (
        "If whoever ordered the tests knew only what is recorded, the neg_log_loss in service would be -0.2250 instead "
        "of -0.2190. The advice may change, from rich-1 to poor-1, if unrecorded suspicion moved the odds of a result "
        "by more than 2.3 times."
    )
    assert "even if unrecorded suspicion moved the odds of a result by 10 times" in str(evolve(one, odds=math.inf))
    assert "speak against that" in str(evolve(one, contradicted=True))
    assert "advice" not in str(evolve(one, runner_up=None, odds=None, gain=None))
    assert (one.low, one.high) == (-0.225, -0.219)


def test_it_is_a_method_of_frontiers() -> None:
    assert callable(cf.Frontier.how_wrong)
