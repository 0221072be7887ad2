"""Pruning on validation rows, from the bottom up: what a subtree is worth there must be more than its removal saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe_cstc.judge import Judge
    from costframe_cstc.tree import Tree, WeightedSum

import os

SE = float(os.environ.get("SE", "0"))
__all__ = ["prune"]


def prune(judge: Judge, tree: Tree, answers: Sequence[WeightedSum]) -> Tree:
    """End a tree at a node, one after another from the last on, where loss + lambda * cost does not rise by it.

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
        if saved.sum() <= SE * judge.error(saved):
            tree, now = ended, without
    return tree
