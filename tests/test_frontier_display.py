"""Pictures of frontiers: scikit-learn's convention, lines that never fall, labels off the data, and no traces left."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from attrs import evolve
from frontier_cases import COSTS, some_rows
from matplotlib.text import Annotation, Text

import costframe as cf
from costframe.core.errors import DataError, ParameterError
from costframe.frontier import BudgetSearch, Frontier, Point
from costframe.plot import FrontierDisplay
from costframe.report.labels import bar_boxes, line_boxes, marker_boxes
from costframe.report.pictures import new_figure

SIZES = {"small": (4, 3), "large": (9, 6)}


def point(algorithm, cost, score, test_score, **more):
    rest = {"score_error": 0.01, "test_cost": 1.1 * cost, "test_error": 0.02, "fixed": 0.0, "n_features": 3}
    rest |= {"tradeoff": 0.1, "n_learners": 10, "rounds": 2.0, "seconds": 0.1}
    return Point(algorithm=algorithm, cost=cost, score=score, test_score=test_score, **(rest | more))


def several(algorithms=5, most=40.0, seed=0):
    """Points whose test scores have another order than their estimates."""
    rng, points = np.random.default_rng(seed), [point("one", 0.0, 0.5, 0.5, n_features=0)]
    for number in range(algorithms):
        for cost in most * rng.random(8) ** 2:
            score = 0.98 - 0.2 * np.exp(-cost / 3) - 0.01 * rng.random()
            points.append(point(f"algorithm {number}", float(cost), score, score + 0.02 * rng.normal()))
    return Frontier(tuple(points), "roc_auc", "CAD", most)


def spread():
    """Points over many powers of ten."""
    points = [evolve(p, cost=p.cost**3, test_cost=p.cost**3) for p in several().points]
    return Frontier(tuple(points), "average_precision", "CAD", 40.0**3)


def odd(costs):
    """A few points at given costs, under a unit that is no formula."""
    points = [point("miser", cost, 0.5 + 0.1 * i, 0.6, n_features=i) for i, cost in enumerate(costs)]
    return Frontier(tuple(points), "roc_auc", "$\\unit_{", float(max(costs)))


def drawn(frontier, size, **options):
    """Draw on a figure of a size; return the display."""
    figure = new_figure(size, 150, layout="constrained")
    display = FrontierDisplay.from_frontier(frontier, ax=figure.add_subplot(), **options)
    figure.draw_without_rendering()
    return display


@pytest.fixture(scope="module")
def search():
    X, y = some_rows()
    return BudgetSearch(cf.estimator("miser", costs=COSTS, n_estimators=20), 8.0, points=4, cv=0).fit(X, y)


def test_plot_returns_the_display_with_its_axes_and_figure():
    frontier = several(2)
    display = frontier.plot(title="scores")
    try:
        assert isinstance(display, FrontierDisplay)
        assert display.figure_ is plt.gcf()
        assert display.ax_ in display.figure_.axes
    finally:
        plt.close(display.figure_)
    ax = new_figure((4, 3), 100).add_subplot()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert frontier.plot(ax=ax).ax_ is ax
    with pytest.raises(ParameterError, match="ax: expected axes of matplotlib, got 3"):
        display.plot(3)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_labels_fit_into_a_figure_without_a_layout(size):
    figure = new_figure(size, 100)
    ax = several(2).plot(ax=figure.add_subplot(), title="scores").ax_
    figure.draw_without_rendering()
    box = ax.get_tightbbox(figure.canvas.get_renderer())
    assert (box.min >= 0).all()
    assert (box.max <= figure.bbox.max).all()
    assert figure.get_layout_engine() is None
    beside = new_figure(size, 100).subplots(1, 2)
    place = beside[1].get_position().bounds
    several(2).plot(ax=beside[1])
    assert beside[1].get_position().bounds == place  # several axes are placed by whoever made them


def test_the_picture_says_which_points_it_leaves_out():
    constant = several(2).points[0]
    assert drawn(several(2), SIZES["small"]).ax_.get_xlabel() == (
        "mean cost per row (CAD)\nnot drawn: 1 constant, ROC AUC 0.5"
    )
    two = Frontier((evolve(constant, score=0.4), *several(2).points), "roc_auc", "CAD", 40.0)
    assert drawn(two, SIZES["small"]).ax_.get_xlabel().endswith("not drawn: 2 constants, ROC AUC up to 0.5")
    assert drawn(several(2), SIZES["small"], chosen=constant).ax_.get_xlabel() == "mean cost per row (CAD)"


def test_costs_of_zero_have_no_axis_below_zero():
    ax = drawn(Frontier((point("miser", 0.0, 0.7, 0.7), point("cegb", 0.0, 0.6, 0.6)), "r2", "CAD", 0.0), (4, 3)).ax_
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick < 0] == []
    assert high > 0


def test_nothing_of_the_style_is_left_behind():
    before = dict(mpl.rcParams)
    display = several(2).plot()
    plt.close(display.figure_)
    display.to_bytes("svg")
    assert dict(mpl.rcParams) == before
    assert not plt.get_fignums()


@pytest.mark.parametrize("costs", [[1, 2, 3], [0, 1, 5000], [2], [0, 0, 0]])
def test_pictures_are_whole_and_repeat(costs):
    frontier = odd(costs)
    first = FrontierDisplay(frontier, frontier.points[-1], title="a $ and _ {")
    again = FrontierDisplay(odd(costs), frontier.points[-1], title="a $ and _ {")
    png, svg = first.to_bytes(), first.to_bytes("svg")
    assert png.startswith(b"\x89PNG")
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own file
    assert (again.to_bytes(), again.to_bytes("svg")) == (png, svg)
    with pytest.raises(ParameterError, match="kind: expected 'png' or 'svg', got 'pdf'"):
        first.to_bytes("pdf")


def lines_of_steps(display):
    return [line for line in display.ax_.lines if line.get_drawstyle() == "steps-post"]


def test_the_one_line_joins_the_best_estimates_and_never_falls():
    frontier = several()
    (line,) = lines_of_steps(drawn(frontier, SIZES["large"]))
    x, y = line.get_data()
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) >= 0).all()
    best = [p for p in frontier.non_dominated() if p.n_features]
    assert list(zip(x, y, strict=True))[:-1] == [(p.cost, p.score) for p in best]
    assert (x[-1], y[-1]) == (frontier.full_cost, best[-1].score)
    assert not lines_of_steps(drawn(frontier, SIZES["large"], part="test"))


def test_the_chosen_point_is_named_and_its_test_result_marked():
    frontier = several()
    chosen = frontier.non_dominated()[3]
    display = drawn(frontier, SIZES["large"], chosen=chosen)
    places = {tuple(line.get_xydata()[0]) for line in display.ax_.lines if line.get_marker() == "*"}
    assert places == {(chosen.test_cost, chosen.test_score)}
    (name, *_) = [text.get_text() for text in display.ax_.texts]
    assert name == f"{chosen.name or chosen.algorithm}\n{chosen.score:.4f} ±.010 at {chosen.cost:.2f}"
    assert display.ax_.get_ylabel() == "estimated ROC AUC"
    on_test = drawn(frontier, SIZES["large"], chosen=chosen, part="test")
    assert not [line for line in on_test.ax_.lines if line.get_marker() == "*"]
    assert on_test.ax_.texts[0].get_text().endswith(f"{chosen.test_score:.4f} ±.020 at {chosen.test_cost:.2f}")
    assert FrontierDisplay(frontier).chosen == frontier.recommended()


def extent_of(text):
    return Text.get_window_extent(text).extents if isinstance(text, Annotation) else text.get_window_extent().extents


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("part", ["estimate", "test"])
@pytest.mark.parametrize("frontier", [several(1), several(), several(7, 4000.0), spread(), odd([1, 2, 3]), odd([2])])
def test_no_label_covers_data_or_another_label(frontier, part, size):
    display = drawn(frontier, SIZES[size], part=part, title="a title")
    ax, whole = display.ax_, display.figure_.bbox.extents
    marked = [line for line in ax.lines if line.get_marker() != "None"]
    joined = [line for line in ax.lines if line.get_linestyle() != "None"]
    data = np.vstack([*map(marker_boxes, marked), *map(line_boxes, joined), *map(bar_boxes, ax.collections)])
    labels = [*ax.texts, *ax.get_legend().get_texts(), ax.yaxis.label, ax.xaxis.label, ax._left_title]
    extents = np.array([extent_of(text) for text in labels if text.get_text()])
    assert (extents[:, :2] >= whole[:2] - 1).all()
    assert (extents[:, 2:] <= whole[2:] + 1).all()
    for number, extent in enumerate(extents):
        for other in [*data, *extents[:number]]:
            across, up = np.minimum(extent[2:], other[2:]) - np.maximum(extent[:2], other[:2])
            assert min(across, up) <= 2, labels[number].get_text()  # pixels


def test_a_search_shows_its_frontier_and_its_choice_on_other_rows(search):
    X, y = some_rows(seed=1)
    ax = new_figure((4, 3), 100).add_subplot()
    plain = FrontierDisplay.from_estimator(search, ax=ax)
    assert plain.frontier is search.frontier_
    assert plain.chosen is search.best_point_
    tested = FrontierDisplay.from_estimator(search, X, y, ax=ax).chosen
    assert tested.test_cost == search.cost(X).mean
    assert 0.5 < tested.test_score <= 1
    assert tested.score == search.best_point_.score


def test_a_model_shows_itself_under_caps(search):
    X, y = some_rows(seed=1)
    ax = new_figure((4, 3), 100).add_subplot()
    model = search.best_estimator_
    display = FrontierDisplay.from_estimator(model, X, y, scoring="accuracy", ax=ax)
    whole, *capped = display.frontier.points
    assert display.chosen is whole
    assert whole.cost == model.cost(X).mean
    assert whole.score == pytest.approx(model.score(X, y))
    assert max(p.cost for p in capped) <= whole.cost
    assert min(p.cost for p in capped) < 0.5 * whole.cost
    again = FrontierDisplay.from_estimator(model.predictor_.with_classes([0, 1]), X, y, scoring="accuracy", ax=ax)
    assert again.frontier.points[0].score == whole.score


def test_refusals(search):
    frontier = several(1)
    with pytest.raises(ParameterError, match="chosen: expected one of the frontier's points"):
        FrontierDisplay(frontier, point("other", 1.0, 0.5, 0.5))
    named = Frontier((evolve(frontier.points[0], name="miser-1"),), "r2", "CAD", 2.0)
    assert FrontierDisplay(named, "miser-1").chosen is named.points[0]
    with pytest.raises(ParameterError, match="got 'miser-2'"):
        FrontierDisplay(named, "miser-2")
    with pytest.raises(ParameterError, match="part: expected 'estimate' or 'test', got 'valid'"):
        FrontierDisplay(frontier, part="valid")
    bare = Frontier((point("miser", 1.0, 0.5, None),), "r2", "CAD", 2.0)
    with pytest.raises(ParameterError, match="the points have no results on test"):
        FrontierDisplay(bare, part="test")
    with pytest.raises(DataError, match="X, y: expected rows and labels on which to score the model"):
        FrontierDisplay.from_estimator(search.best_estimator_)
    with pytest.raises(ParameterError, match="estimator: expected a fitted model of costframe, got 3"):
        FrontierDisplay.from_estimator(3, [[1.0]], [1])
