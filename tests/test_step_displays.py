"""Pictures of a model's rows, step by step: against rows followed one by one, and of odd models and wide tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from stage_cases import COSTS, NAMES, X, chain, expect_apart, full, one, plan, prepared

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe.core.predictors.fitted import as_predictor
from costframe.plot import AcquisitionDisplay, RowAcquisitionDisplay, RowsPerStageDisplay
from costframe.report.pictures import new_figure
from costframe.report.stages import follow_rows
from costframe.report.step_displays import group_items

KINDS = (RowsPerStageDisplay, AcquisitionDisplay, RowAcquisitionDisplay)


def trees():
    """Two trees that share a feature, and one more feature for some rows."""
    rng = np.random.default_rng(0)
    y = (X[:, 0] > 0) & (X[:, 1] > 0.3) | (X[:, 2] > 1)
    return cf.estimator("miser", costs=COSTS, n_estimators=3, max_depth=2).fit(
        pd.DataFrame(X, columns=list(NAMES)), y ^ (rng.random(len(y)) < 0.1)
    )


def stepped():
    def ask():
        values = yield ("a",)
        if values["a"] > 0:
            yield ("b",)
        return values["a"]

    return cf.SteppedPredictor(("a", "b"), ask)


WIDE = tuple(f"column {i}" for i in range(500))


def wide(prices):
    bank = cf.WeakLearnerBank.columns(WIDE)
    costs = cf.CostModel.from_dict({"features": dict(zip(WIDE, prices, strict=True))})
    stages = [cf.Route(range(40), np.ones(40), 0.0, 0.0, 1.0, 1, 2), cf.Answer([], [], 0.0)]
    return cf.StageTree(bank, [*stages, cf.Answer(range(60), np.ones(60), 0.0)], costs)


WIDE_ROWS = np.random.default_rng(1).normal(size=(50, 500))
CASES = {
    "one answer": (one, X, "round"),
    "boosted trees": (trees, X, "round"),
    "a chain": (lambda: chain(4), X, "depth"),
    "a full tree": (lambda: full(3), X, "depth"),
    "a plan": (lambda: plan(4), X, "stop"),
    "a chain over prepared columns": (lambda: prepared(chain(3)), X, "depth"),
    "one answer over prepared columns": (lambda: prepared(one()), X, "round"),
    "one row": (lambda: chain(2), X[:1], "depth"),
    "a constant": (lambda: cf.StageTree(cf.WeakLearnerBank.columns(NAMES), [cf.Answer([], [], 0.3)]), X, "round"),
    "a wide table": (lambda: wide(np.arange(1.0, 501.0)), WIDE_ROWS, "depth"),
}


@pytest.mark.parametrize("case", CASES)
def test_steps_hold_what_rows_acquire(case):
    make, rows, word = CASES[case]
    model = as_predictor(make())
    steps = follow_rows(model, rows)
    report = model.cost(rows, rounds=word == "round")
    assert steps.word == word
    assert np.array_equal(steps.acquired >= 0, report.acquired)
    assert np.array_equal(steps.per_row, report.per_row)
    assert (steps.acquired <= steps.last[:, None]).all()
    if word == "round":
        assert np.array_equal(steps.last, np.maximum(report.rounds - 1, 0))


def test_steps_of_a_chain_are_its_routes():
    """Row i passes a route as long as its column exceeds -0.5; route k reads column k, the last answer all five."""
    steps = follow_rows(chain(3), X)
    passed = np.logical_and.accumulate(X[:, :3] > -0.5, axis=1)
    assert np.array_equal(steps.acquired[:, 0], np.zeros(200))
    for k in (1, 2):
        assert np.array_equal(steps.acquired[:, k], np.where(passed[:, k - 1], k, -1))
    assert np.array_equal(steps.acquired[:, 4], np.where(passed[:, 2], 3, -1))
    assert np.array_equal(steps.last, passed.sum(axis=1))
    raw = follow_rows(prepared(chain(3)), X[:, ::-1])
    assert np.array_equal(raw.acquired, steps.acquired[:, ::-1])


def test_steps_of_a_plan_are_its_stops():
    rows = np.repeat([[-9.0] * 5, [9.0] * 5], [30, 10], axis=0)
    steps = follow_rows(plan(4), rows)
    assert steps.last.tolist() == [3] * 30 + [1] * 10
    assert steps.acquired[0].tolist() == [1, 3, 3, -1, -1]
    assert steps.acquired[-1].tolist() == [1, -1, -1, -1, -1]


def test_many_rows_of_rounds_are_thinned():
    steps = follow_rows(one(), np.repeat(X, 5, axis=0))
    assert (len(steps.rows), steps.n_given) == (500, 1000)
    display = drawn(RowsPerStageDisplay, one(), np.repeat(X, 5, axis=0), np.arange(1000) % 2)
    assert display.ax_.get_ylabel() == "share of 500 of 1,000 rows left"


def drawn(kind, model, rows, y=None, size=(4, 3), **options):
    figure = new_figure(size, 150, layout="constrained")
    display = kind.from_estimator(model, rows, y, ax=figure.add_subplot(), **options)
    figure.draw_without_rendering()
    return display


def test_bars_are_the_rows_left_by_label():
    y = np.where(X[:, 4] > 0, "yes", "no")
    ax = drawn(RowsPerStageDisplay, chain(3), X, y).ax_
    last = follow_rows(chain(3), X).last
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, -1)
    assert heights == pytest.approx(
        np.array([[((last >= k) & (y == name)).mean() for k in range(4)] for name in ("no", "yes")])
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes"]
    assert ax.texts[1].get_text() == f"{100 * (last >= 1).mean():.0f} %"


def test_shades_are_shares_of_rows_that_have_each_item():
    display = drawn(AcquisitionDisplay, chain(3), X, size=(9, 6))
    at = follow_rows(chain(3), X).acquired
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels[0] == "nurse: 7"  # each feature needs it
    shares = display.ax_.images[0].get_array().filled()
    assert shares[0] == pytest.approx(np.ones(4))
    assert shares[1:] == pytest.approx(
        np.array([[((at[:, f] >= 0) & (at[:, f] <= k)).mean() for k in range(4)] for f in range(5)])
    )
    assert display.ax_.texts[0].get_text() == "100"


def test_rows_stand_by_label_and_cost():
    y = np.arange(200) % 2
    display = drawn(RowAcquisitionDisplay, chain(3), X, y)
    steps = follow_rows(chain(3), X)
    shown = display.ax_.images[0].get_array()
    order = np.concatenate([np.flatnonzero(y == k)[np.argsort(steps.per_row[y == k], kind="stable")] for k in (0, 1)])
    assert np.array_equal(shown[2].filled(-1), steps.acquired[order, 1])
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0", "1"]


def test_many_items_are_grouped_by_price_or_by_what_rows_pay():
    steps = follow_rows(wide(np.arange(1.0, 501.0)), WIDE_ROWS[:49])
    groups = group_items(steps, 12)
    paid = np.arange(1.0, 501.0) * (steps.acquired >= 0).mean(axis=0)
    most = sorted(np.argsort(-paid, kind="stable")[:11], reverse=True)
    assert [group.label for group in groups[:-1]] == [f"column {i}: {i + 1}" for i in most]
    assert groups[-1].label == "489 more"
    assert sum(group.steps.shape[1] for group in groups) == 500
    few = group_items(follow_rows(wide(np.resize([1.0, 5.0], 500)), WIDE_ROWS), 12)
    assert [group.label for group in few] == ["250 items: 5", "250 items: 1"]
    assert few[0].share(0) == pytest.approx(20 / 250)
    assert len(group_items(follow_rows(wide(np.zeros(500)), WIDE_ROWS), 12)) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("case", "size"), [*((case, (4, 3)) for case in CASES), ("a full tree", (9, 6)), ("a wide table", (9, 6))]
)
def test_pictures_have_no_text_over_another_or_cut_off(case, kind, size):
    make, rows, _ = CASES[case]
    y = np.array(["a label that is longer than its part", "b$_"])[np.arange(len(rows)) % 2]
    expect_apart(drawn(kind, make(), rows, y, size, title="a title").figure_, 1.0, 2.0, 2.0)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rows_give_equal_bytes_and_frames_are_matched_by_name(kind):
    first = kind.of(chain(3), X, X[:, 4] > 0)
    frame = pd.DataFrame(X, columns=list(NAMES))[list(reversed(NAMES))]
    assert kind.of(chain(3), frame, X[:, 4] > 0).to_bytes() == first.to_bytes()
    assert kind.of(cf.FittedEstimator(chain(3)), X, X[:, 4] > 0).to_bytes() == first.to_bytes()
    assert first.to_bytes("svg") == first.to_bytes("svg")
    assert kind.from_estimator(trees(), X, ax=new_figure((4, 3), 100).add_subplot()).ax_ is not None


def test_refusals():
    for kind in KINDS:
        with pytest.raises(DataError, match="X: expected at least one row, got none"):
            kind.of(one(), X[:0])
    with pytest.raises(ParameterError, match="estimator: expected a fitted model of costframe, got 'model'"):
        AcquisitionDisplay.of("model", X)
    with pytest.raises(DataError, match=r"y: expected one label a row, shape \(200,\), got \(3,\)"):
        AcquisitionDisplay.of(one(), X, ["a", "b", "c"])
    with pytest.raises(ParameterError, match="acquisition: expected 'path' or 'learner'"):
        AcquisitionDisplay.of(one(), X, acquisition="leaf")
    with pytest.raises(DataError, match="X: expected rows, got None"):
        AcquisitionDisplay.from_estimator(one())


def test_models_that_can_only_be_stepped_have_rounds():
    rows = np.array([[1.0, 2.0], [-1.0, 2.0]])
    steps = follow_rows(stepped(), rows)
    assert steps.acquired.tolist() == [[0, 1], [0, -1]]
    assert steps.numbers == range(1, 3)
