"""Stage trees and plans that tests of pictures share."""

from __future__ import annotations

import numpy as np
from matplotlib.text import Text
from wrapper_cases import Preparation, PreparedPredictor

import costframe as cf
from costframe import Answer
from costframe.plugin import PlannedPredictor, Stop

NAMES = (
    "f$_1 {",
    "a name so long that no box can ever hold it, however wide it may be drawn",
    "<b>&--",
    "\n\u4e2d",
    "e",
)
COSTS = {
    "unit": "CAD",
    "resources": {"nurse": 7.0},
    "features": {name: {"cost": 2.0, "needs": ["nurse"]} for name in NAMES},
}
BANK = cf.WeakLearnerBank.columns(NAMES)
X = np.random.default_rng(0).normal(size=(200, 5))
EVERY = [0, 1, 2, 3, 4]


def chain(n, link="identity"):
    stages = []
    for k in range(n):
        ends = 2 * k + 1, 2 * k + 2
        stages += [cf.Route([k % 5], [1.0], 0.0, -0.5, 1.0, *ends), cf.Answer([k % 5], [1.0], 0.0, link)]
    return cf.StageTree(BANK, [*stages, cf.Answer(EVERY, np.ones(5), 0.0, link)], cf.CostModel.from_dict(COSTS))


def full(depth, outputs=1):
    count = 2**depth - 1
    stages = [cf.Route([k % 5], [1.0], 0.0, 0.0, 1.0, 2 * k + 1, 2 * k + 2) for k in range(count)]
    weights = np.random.default_rng(1).normal(size=(5, outputs))
    stages += [cf.Answer(EVERY, weights, np.zeros(outputs)) for _ in range(count + 1)]
    return cf.StageTree(BANK, stages)


def plan(n, outputs=1):
    """Stops over ever more of the features; the first column decides how far a row goes."""
    weights = np.random.default_rng(1).normal(size=(5, outputs))
    gains_bank = cf.WeakLearnerBank.columns((*NAMES, *(f"score {k}" for k in range(outputs))))
    stops = []
    for k in range(n):
        read, later = EVERY[: min(k, 5)], n - 1 - k
        gains = None
        if later:
            slopes = np.arange(later) * np.ones((len(read[:1]), 1))
            gains = Answer(read[:1], slopes, np.full(later, 0.1 if k else -0.2))
        stops.append(Stop(read, Answer(read, weights[: len(read)], np.zeros(outputs)), gains))
    return PlannedPredictor(BANK, gains_bank, stops, 0.01, cf.CostModel.from_dict(COSTS))


def one():
    return cf.StageTree(BANK, [cf.Answer([0], [1.0], 0.0)])


def prepared(inner):
    """The model over columns in another order, which a preparation makes."""
    swapped = Preparation(NAMES, (), (4, 3, 2, 1, 0), tuple(f"made {name}" for name in NAMES))
    tree = cf.StageTree(cf.WeakLearnerBank.columns(swapped.names), inner.stages)
    return PreparedPredictor(tree, swapped, inner.costs)


def expect_apart(figure, edge=0.0, across=0.0, up=0.0):
    """Expect that no text lies over another or is cut off, beyond these pixels."""
    figure.draw_without_rendering()
    extents = np.array([text.get_window_extent().extents for text in figure.findobj(Text) if text.get_text()])
    assert (extents[:, :2] >= -edge).all()
    assert (extents[:, 2:] <= figure.bbox.max + edge).all()
    for number, extent in enumerate(extents):
        common = np.minimum(extent[2:], extents[:number, 2:]) - np.maximum(extent[:2], extents[:number, :2])
        assert ((common[:, 0] <= across) | (common[:, 1] <= up)).all()
