"""Pictures of frontiers: scikit-learn's convention, lines that never fall, labels off the data, and no traces left."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from attrs import evolve
from matplotlib.text import Annotation, Text

from costframe.choices import Frontier, Point
from costframe.plot import FrontierDisplay
from costframe.plugin import ParameterError
from costframe.report.labels import bar_boxes, line_boxes, marker_boxes
from costframe.report.style import new_figure

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


def test_the_chosen_point_is_named_and_its_test_result_marked():
    frontier = several()
    chosen = frontier.non_dominated()[3]
    display = drawn(frontier, SIZES["large"], chosen=chosen)
    places = {tuple(line.get_xydata()[0]) for line in display.ax_.lines if line.get_marker() == "*"}
    assert places == {(chosen.test_cost, chosen.test_score)}
    (name, *_) = [text.get_text() for text in display.ax_.texts]
    assert name == f"{chosen.name or chosen.algorithm}\n{chosen.score:.4f} ±.010 at {chosen.cost:.2f}"
    assert display.ax_.get_ylabel() == "estimated ROC AUC"
    assert FrontierDisplay(frontier).chosen == frontier.recommended()


def extent_of(text):
    return Text.get_window_extent(text).extents if isinstance(text, Annotation) else text.get_window_extent().extents


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("frontier", [several(), several(7, 4000.0), spread(), odd([2])])
def test_no_label_covers_data_or_another_label(frontier, size):
    display = drawn(frontier, SIZES[size], title="a title")
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


def test_plot_returns_the_display_with_its_axes_and_leaves_nothing_behind():
    before, figures, frontier = dict(mpl.rcParams), plt.get_fignums(), several(2)
    display = frontier.plot(title="scores")
    assert display.figure_ is plt.gcf()
    assert display.ax_ in display.figure_.axes
    plt.close(display.figure_)
    ax = new_figure((4, 3), 100).add_subplot()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert ax.get_xlabel() == "mean cost per row (CAD)\nnot drawn: 1 constant, ROC AUC 0.5"
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == figures


NAMED = Frontier((point("miser", 1.0, 0.5, None, name="miser-1"),), "r2", "CAD", 2.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: FrontierDisplay(several(1), point("other", 1.0, 0.5, 0.5)), "chosen: expected one of the frontier's"),
        (lambda: FrontierDisplay(NAMED, "miser-2"), "got 'miser-2'"),
        (lambda: FrontierDisplay(NAMED).plot(3), "ax: expected axes of matplotlib, got 3"),
        (lambda: FrontierDisplay(NAMED).to_bytes("pdf"), "kind: expected 'png' or 'svg', got 'pdf'"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ParameterError, match=words):
        call()
