"""Answers of classes as probabilities: one slope and constants for the whole tree, from validation rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe.stagewise.calibration import as_counts, calibrate, calibrate_two
from costframe_cstc.losses import Squared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe_cstc.judge import Judge
    from costframe_cstc.tree import Tree

__all__ = ["calibrated"]


def calibrated(tree: Tree, judge: Judge) -> Tree:
    """Let the answers minimize cross-entropy on the judge's rows by a slope and constants that all of them share.

    Answers fitted by squares are no log odds, and those to rows that the bank was trained on are too sure. Labels are
    softened here: log odds that are better as they are stay.
    """
    rows, leaves = judge.rows, ~tree.topology.routes
    scores = np.einsum("ik,ikm->im", judge.flow(tree).passes * leaves, tree.answers(rows))
    weight = as_counts(rows.weight)
    constants: NDArray[np.float64]
    if scores.shape[1] == 1:
        slope, constant = calibrate_two(scores[:, 0], (rows.target[:, 0] > 0).astype(np.int64), weight)
        constants = np.array([constant])
    else:
        slope, constants = calibrate(scores, rows.target.argmax(axis=1), weight)
    shifted = np.where(leaves[:, np.newaxis], slope * tree.constant + constants, 0.0)
    found = evolve(tree, answer=slope * tree.answer, constant=shifted)
    if isinstance(judge.loss, Squared) or judge.measure(found).loss <= judge.measure(tree).loss:
        return found
    return tree
