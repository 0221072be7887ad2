"""Pictures of stage trees: whole, the same each time, nothing over anything else, and refusals."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from stage_cases import BANK, COSTS, NAMES, X, chain, expect_apart, full, one, plan, prepared

import costframe as cf
from costframe.plot import StagesDisplay
from costframe.report.pictures import cut_text, new_figure, to_drawable, width_of, wrap_text

CASES = {
    "one answer": (one, {"X": X}),
    "one answer without rows": (one, {}),
    "a constant": (lambda: cf.StageTree(BANK, [cf.Answer([], [], 0.3)]), {"X": X, "y": X[:, 0]}),
    "a chain": (lambda: chain(10, "sigmoid"), {"X": X, "y": X[:, 0] > 0}),
    "a chain against labels": (lambda: chain(3), {"X": X, "y": X[:, 0]}),
    "a full tree": (lambda: full(4), {"X": X, "y": X[:, 1], "costs": COSTS}),
    "a full tree without rows": (lambda: full(4), {"costs": COSTS}),
    "texts as labels": (lambda: full(1), {"X": X, "y": ["a $ so_" * 30, "b"] * 100}),
    "many texts as labels": (lambda: full(1, 3), {"X": X, "y": [f"label {i}" for i in range(200)]}),
    "classes": (lambda: full(2, 4), {"X": X, "y": np.arange(200) % 4, "title": "a $ and _ {" * 30}),
    "nothing finite": (one, {"X": np.full((3, 5), np.inf), "y": [1.0, 2.0, 3.0]}),
    "huge values": (one, {"X": np.array([[1e308] * 5, [-1e308] * 5])}),
    "many labels of huge size": (one, {"X": X, "y": 1e308 * np.linspace(-1, 1, 200)}),
    "a plan": (lambda: plan(4), {"X": X, "y": X[:, 0] > 0}),
    "a plan without rows": (lambda: plan(4), {}),
    "a plan of many stops": (lambda: plan(12, 3), {"X": X, "y": X[:, 0], "title": "a $ and _ {" * 30}),
    "a plan without prices": (lambda: plan(1).with_costs(None), {"X": X}),
    "one row": (lambda: chain(2), {"X": X[:1], "acquisition": "learner"}),
}


@pytest.mark.parametrize("case", ["a chain against labels", "classes", "a plan"])
def test_pictures_are_whole_and_repeat(case):
    make, given = CASES[case]
    first = StagesDisplay.of(make(), **given)
    assert first.to_bytes().startswith(b"\x89PNG")
    svg = first.to_bytes("svg")
    assert StagesDisplay.of(make(), **given).to_bytes("svg") == svg
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own file


def drawn(make, size=None, **given):
    """Return a figure with the picture."""
    display = StagesDisplay.of(make(), **given)
    figure = new_figure(size or display.size, display.dpi, layout="constrained")
    return display.plot(figure.add_subplot()).figure_


@pytest.mark.parametrize(
    ("case", "size"), [*((case, None) for case in CASES), ("a full tree", (4, 3)), ("a plan", (9, 6))]
)
def test_no_text_lies_over_another_or_is_cut_off(case, size):
    make, given = CASES[case]
    figure = drawn(make, size, **given)
    expect_apart(figure, up=0.02 * figure.dpi)


def boxes_in(figure):
    return [patch for patch in figure.axes[0].patches if type(patch).__name__ == "FancyBboxPatch"]


@pytest.mark.parametrize("case", ["a chain", "a full tree", "texts as labels", "classes", "a plan of many stops"])
def test_boxes_are_apart_and_hold_their_texts(case):
    figure = drawn(CASES[case][0], **CASES[case][1])
    figure.draw_without_rendering()
    inches = figure.axes[0].transData.inverted()
    boxes = [(b.get_x(), b.get_y(), b.get_x() + b.get_width(), b.get_y() + b.get_height()) for b in boxes_in(figure)]
    model = CASES[case][0]()
    assert len(boxes) == len(getattr(model, "stages", None) or model.stops)
    for i, (left, low, right, high) in enumerate(boxes):
        for other in boxes[:i]:
            assert min(right, other[2]) < max(left, other[0]) or min(high, other[3]) < max(low, other[1])
    for text in figure.findobj(Text):
        extent = text.get_window_extent().transformed(inches)
        inside = [box for box in boxes if box[0] <= extent.x0 <= box[2] and box[1] <= extent.y0 <= box[3]]
        for box in inside:
            assert extent.x1 <= box[2] + 0.01
            assert extent.y1 <= box[3] + 0.01


def said(tree, **given):
    """Return the texts of the picture; matplotlib notes them beside their outlines."""
    return re.findall(r"<!-- (.*?) -->", StagesDisplay.of(tree, **given).to_bytes("svg").decode())


def test_names_prices_traffic_and_costs_are_said():
    data = cf.datasets.make_quadrants(40)
    bank = cf.WeakLearnerBank.columns(data.feature_names)
    stages = [cf.Route([0], [1.0], 0.0, 0.125, 1.0, 1, 2), cf.Answer([5], [1.0], 0.0), cf.Answer([2], [1.0], 0.0)]
    tree = cf.StageTree(bank, stages, data.costs)
    rows = data.X[:10].copy()
    rows[:, 0] = [1, 1, 1, -1, -1, -1, -1, -1, -1, -1]
    texts = said(tree, X=rows)
    for text in ("up if score &gt; 0.125", "30 % of rows", "70 % of rows", "y_mm", "y_pp", "sign_x", "price"):
        assert text in texts
    assert texts.count("11") == 2  # what the rows of each answer cost
    assert "y_pm" not in texts
    assert "12.5" in said(tree, X=rows, costs=[2.5, 0, 10, 0, 0, 10])
    unpriced = said(tree.with_costs(None), X=rows)
    assert "price" not in unpriced
    assert "mean cost of these rows" not in unpriced
    bare = said(tree)
    assert "y_mm" in bare
    assert not [text for text in bare if "of rows" in text]


def test_lines_are_as_wide_as_the_share_of_rows():
    figure = drawn(lambda: full(1), X=np.repeat([[1.0] * 5, [-1.0] * 5], [30, 10], axis=0))
    ways = [patch.get_linewidth() for patch in figure.axes[0].patches if type(patch).__name__ == "PathPatch"]
    assert ways[1] - 0.8 == pytest.approx(3 * (ways[0] - 0.8))  # above, then below


def test_what_stops_acquire_and_where_rows_go_is_said():
    rows = np.repeat([[-9.0] * 5, [9.0] * 5], [30, 10], axis=0)
    assert plan(4).exits(rows).tolist() == [3] * 30 + [1] * 10
    texts = said(plan(4), X=rows)
    for text in (
        "stop 3",
        "answers none",
        "answers 25 % of them",
        "75 % of rows",
        "75 %",
        "no row comes here",
        "nurse",
    ):
        assert text in texts
    assert {"9 CAD", "13 CAD"} <= set(texts)  # what the rows cost that are answered at stops 1 and 3
    assert not [text for text in said(plan(4)) if "of rows" in text or "answers" in text]
    assert not [text for text in said(plan(4).with_costs(None), X=rows) if "CAD" in text]


def test_of_prepared_columns_it_shows_the_inner_model():
    texts = said(prepared(chain(2)), X=X[:, ::-1])
    assert any(text.startswith("made") for text in texts)
    shares = [text for text in said(chain(2), X=X) if "of rows" in text]
    assert [text for text in texts if "of rows" in text] == shares


def test_takes_fitted_estimators_and_frames():
    class Fitted:
        predictor_ = chain(2)

    frame = pd.DataFrame(X, columns=list(NAMES))[list(reversed(NAMES))]
    assert StagesDisplay.of(Fitted(), frame).to_bytes() == StagesDisplay.of(chain(2), X).to_bytes()


class Odd:
    predictor_ = 3


REFUSED = {
    "a list": (([1],), {}, r"estimator: expected a StageTree or a PlannedPredictor, or a .*, got list$"),
    "an odd predictor": ((Odd(),), {}, "got int as the predictor of Odd"),
    "too few columns": ((one(), X[:, :3]), {}, "expected 5 columns"),
    "a frame of less": ((one(), pd.DataFrame({"e": [1.0]})), {}, "the data lack"),
    "no rows": ((one(), X[:0]), {}, "X: expected at least one row"),
    "too few numbers": ((one(), X, [1, 2, 3]), {}, r"y: expected one label a row, shape \(200,\), got \(3,\)"),
    "too few texts": ((one(), X, ["a", "b", "c"]), {}, r"y: expected one label a row, shape \(200,\), got \(3,\)"),
    "missing labels": ((one(), X, np.full(200, np.nan)), {}, "y: expected finite labels"),
    "labels alone": ((one(),), {"y": [1.0]}, "y: has no effect without X"),
    "an acquisition": ((one(),), {"acquisition": "leaf"}, "acquisition: expected 'path' or 'learner'"),
    "too few prices": ((one(),), {"costs": {"features": {"e": 1.0}}}, "no price for"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    given, more, match = REFUSED[case]
    with pytest.raises(cf.CostframeError, match=match):
        StagesDisplay.of(*given, **more)


def test_texts_fit_their_width():
    name = "feature_with_a_long_name_17"
    short = cut_text(name, 1.0, 8)
    assert width_of(short, 8) <= 1.0 < width_of(name, 8)
    assert re.fullmatch("feature.*….*_17", short)
    assert cut_text("short", 1.0, 8) == "short"
    assert to_drawable("a\tb\u202e\u4e2d") == r"a\tb\u202e" + "\N{REPLACEMENT CHARACTER}"
    lines = wrap_text("some words that go on and on, over many lines", 1.0, 8)
    assert len(lines) > 2
    assert all(width_of(line, 8) <= 1.0 for line in lines)
    assert " ".join(lines) == "some words that go on and on, over many lines"
