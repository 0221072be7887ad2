"""Pictures of stages and of rows, step by step: against rows followed one by one; whole, and nothing over anything."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from stage_cases import BANK, COSTS, NAMES, X, chain, expect_apart, full, one, plan, prepared

import costframe as cf
from costframe.core.predictors.fitted import as_predictor
from costframe.plot import AcquisitionDisplay, RowAcquisitionDisplay, RowsPerStageDisplay, StagesDisplay
from costframe.report.row_steps import follow_rows
from costframe.report.style import new_figure

STAGES = {
    "one answer without rows": (one, {}),
    "a constant": (lambda: cf.StageTree(BANK, [cf.Answer([], [], 0.3)]), {"X": X, "y": X[:, 0]}),
    "a chain": (lambda: chain(10, "sigmoid"), {"X": X, "y": X[:, 0] > 0}),
    "a full tree": (lambda: full(4), {"X": X, "y": X[:, 1], "costs": COSTS}),
    "texts as labels": (lambda: full(1), {"X": X, "y": ["a $ so_" * 30, "b"] * 100}),
    "classes": (lambda: full(2, 4), {"X": X, "y": np.arange(200) % 4, "title": "a $ and _ {" * 30}),
    "nothing finite": (one, {"X": np.full((3, 5), np.inf), "y": [1.0, 2.0, 3.0]}),
    "many labels of huge size": (one, {"X": X, "y": 1e308 * np.linspace(-1, 1, 200)}),
    "a plan of many stops": (lambda: plan(12, 3), {"X": X, "y": X[:, 0], "title": "a $ and _ {" * 30}),
    "a plan without prices": (lambda: plan(1).with_costs(None), {"X": X}),
}


def drawn_stages(make, size=None, **given):
    """Return a figure with the picture."""
    display = StagesDisplay.of(make(), **given)
    figure = new_figure(size or display.size, display.dpi, layout="constrained")
    return display.plot(figure.add_subplot()).figure_


@pytest.mark.parametrize(("case", "size"), [*((case, None) for case in STAGES), ("a full tree", (4, 3))])
def test_no_text_lies_over_another_or_is_cut_off(case, size):
    make, given = STAGES[case]
    figure = drawn_stages(make, size, **given)
    expect_apart(figure, up=0.02 * figure.dpi)


def test_names_prices_traffic_and_costs_are_said():
    data = cf.datasets.make_quadrants(40)
    bank = cf.WeakLearnerBank.columns(data.feature_names)
    stages = [cf.Route([0], [1.0], 0.0, 0.125, 1.0, 1, 2), cf.Answer([5], [1.0], 0.0), cf.Answer([2], [1.0], 0.0)]
    tree, rows = cf.StageTree(bank, stages, data.costs), data.X[:10].copy()
    rows[:, 0] = [1, 1, 1, -1, -1, -1, -1, -1, -1, -1]
    svg = StagesDisplay.of(tree, X=rows).to_bytes("svg")
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own file
    texts = re.findall(r"<!-- (.*?) -->", svg.decode())
    for text in ("up if score &gt; 0.125", "30 % of rows", "70 % of rows", "y_mm", "y_pp", "sign_x", "price"):
        assert text in texts
    assert texts.count("11") == 2  # what the rows of each answer cost
    assert "y_pm" not in texts
    frame = pd.DataFrame(rows, columns=list(data.feature_names))[list(reversed(data.feature_names))]
    assert StagesDisplay.of(cf.FittedEstimator(tree), frame).to_bytes("svg") == svg


KINDS = (RowsPerStageDisplay, AcquisitionDisplay, RowAcquisitionDisplay)


def trees():
    """Two trees that share a feature, and one more feature for some rows."""
    rng = np.random.default_rng(0)
    y = (X[:, 0] > 0) & (X[:, 1] > 0.3) | (X[:, 2] > 1)
    return cf.estimator("miser", costs=COSTS, n_estimators=3, max_depth=2).fit(
        pd.DataFrame(X, columns=list(NAMES)), y ^ (rng.random(len(y)) < 0.1)
    )


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


def drawn(kind, model, rows, y=None, size=(4, 3), **options):
    figure = new_figure(size, 150, layout="constrained")
    display = kind.from_estimator(model, rows, y, ax=figure.add_subplot(), **options)
    figure.draw_without_rendering()
    return display


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("case", "size"),
    [*((case, (4, 3)) for case in CASES if "chain" not in case), ("a full tree", (9, 6)), ("a wide table", (9, 6))],
)
def test_pictures_have_no_text_over_another_or_cut_off(case, kind, size):
    make, rows, _ = CASES[case]
    y = np.array(["a label that is longer than its part", "b$_"])[np.arange(len(rows)) % 2]
    expect_apart(drawn(kind, make(), rows, y, size, title="a title").figure_, 1.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("kind", "given", "more", "match"),
    [
        (StagesDisplay, ([1],), {}, r"estimator: expected a StageTree or a PlannedPredictor, or a .*, got list$"),
        (StagesDisplay, (one(), pd.DataFrame({"e": [1.0]})), {}, "the data lack"),
        (StagesDisplay, (one(),), {"y": [1.0]}, "y: has no effect without X"),
        (StagesDisplay, (one(), X, np.full(200, np.nan)), {}, "y: expected finite labels"),
        (RowsPerStageDisplay, (one(), X[:0]), {}, "X: expected at least one row, got none"),
        (AcquisitionDisplay, ("model", X), {}, "estimator: expected a fitted model of costframe, got 'model'"),
        (AcquisitionDisplay, (one(), X, ["a", "b"]), {}, r"y: expected one label a row, shape \(200,\), got \(2,\)"),
        (RowAcquisitionDisplay, (one(), X), {"acquisition": "leaf"}, "acquisition: expected 'path' or 'learner'"),
    ],
)
def test_refusals(kind, given, more, match):
    with pytest.raises(cf.CostframeError, match=match):
        kind.of(*given, **more)
