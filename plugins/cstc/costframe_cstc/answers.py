"""Answers fitted anew, from the root down, to the rows that come; subtrees that held-out rows do not call for end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.stagewise.evaluation import Evaluation
    from costframe.stagewise.soft_tree import SoftTree, WeightedSum
    from costframe_cstc.node_fits import Fitter

__all__ = ["path_models", "prune", "refit"]

_ERRORS = 1.0  # a subtree is kept if it is worth more than so many standard errors of what it seems to be worth


def path_models(fitter: Fitter, tree: SoftTree) -> list[WeightedSum]:
    """Return for each node an answer over what is bought on the way there."""
    passes = fitter.train.flow(tree).passes > 0
    found = [fitter.constant]
    for node, parent in enumerate(tree.topology.parent.tolist()):
        if node:
            inside, prior = passes[:, parent], found[parent]
            known = fitter.at(prior, inside).free_answer(tree.bought(node)) if inside.any() else prior
            found.append(known)
    return found


def refit(fitter: Fitter, tree: SoftTree) -> tuple[SoftTree, list[WeightedSum]]:
    """Fit all answers; return also an answer that could end the tree at each node, a leaf's being its own."""
    passes = fitter.train.flow(tree).passes > 0
    answers: list[WeightedSum] = []
    for node, prior in enumerate(path_models(fitter, tree)):
        inside = passes[:, node]
        answers.append(fitter.at(prior, inside).answer(tree.bought(node)) if inside.any() else prior)
        if not tree.topology.routes[node]:
            tree = tree.with_answer(node, answers[node])
    return tree, answers


def prune(held_out: Evaluation, tree: SoftTree, answers: Sequence[WeightedSum]) -> SoftTree:
    """End a tree at a node, one after another from the last on, unless loss + lambda * cost rises by it.

    It must rise by more than the standard error of the difference between the rows' sums: a subtree that is no better
    than chance would have it is not kept.

    Parameters
    ----------
    held_out : Evaluation
    tree : SoftTree
    answers : sequence of WeightedSum
        For each node an answer that could end the tree there.
    """
    now = held_out.each(tree)
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        # the nodes before it keep their numbers: they are numbered level by level, and later ones alone are gone
        ended = tree.ending_at(node, answers[node])
        without = held_out.each(ended)
        saved = without - now
        if saved.sum() <= _ERRORS * held_out.error(saved):
            tree, now = ended, without
    return tree
