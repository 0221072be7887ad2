"""Pruning on validation rows, from the bottom up: what a subtree is worth there must be more than its removal saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe_cstc.judge import Judge
    from costframe_cstc.tree import Tree, WeightedSum


__all__ = ["prune"]

_ERRORS = 1.0  # a subtree is kept if it is worth more than so many standard errors of what it seems to be worth


def prune(judge: Judge, tree: Tree, answers: Sequence[WeightedSum]) -> Tree:
    """End a tree at a node, one after another from the last on, unless loss + lambda * cost rises by it.

    It must rise by more than the standard error of the difference between the rows' sums: a subtree that is no better
    than chance would have it is not kept.

    Parameters
    ----------
    judge : Judge
        Of the validation rows.
    tree : Tree
    answers : sequence of WeightedSum
        For each node an answer that could end the tree there.
    """
    now = judge.each(tree)
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        # the nodes before it keep their numbers: they are numbered level by level, and later ones alone are gone
        ended = tree.ending_at(node, answers[node])
        without = judge.each(ended)
        saved = without - now
        if saved.sum() <= _ERRORS * judge.error(saved):
            tree, now = ended, without
    return tree
