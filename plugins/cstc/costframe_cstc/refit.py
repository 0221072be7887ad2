"""Answers fitted again to a tree, and nodes removed that gain too little."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from costframe.stagewise import Evaluation, SoftTree, WeightedSum
from costframe_cstc.node_fits import Fitter

_ERRORS = 1.0  # a subtree must gain this many standard errors of its gain


def path_models(fitter: Fitter, tree: SoftTree) -> list[WeightedSum]:
    """Fit an answer for each node over the learners bought on the way to it."""
    passes = fitter.train.flow(tree).passes > 0
    models = [fitter.constant]
    for node, parent in enumerate(tree.topology.parent.tolist()):
        if node:
            inside, prior = passes[:, parent], models[parent]
            known = fitter.at(prior, inside).free_answer(tree.bought(node)) if inside.any() else prior
            models.append(known)
    return models


def refit_answers(fitter: Fitter, tree: SoftTree) -> tuple[SoftTree, list[WeightedSum]]:
    """Fit all answers again; return also an answer for each node as a leaf."""
    passes = fitter.train.flow(tree).passes > 0
    answers: list[WeightedSum] = []
    for node, prior in enumerate(path_models(fitter, tree)):
        inside = passes[:, node]
        answers.append(fitter.at(prior, inside).answer(tree.bought(node)) if inside.any() else prior)
        if not tree.topology.routes[node]:
            tree = tree.with_answer(node, answers[node])
    return tree, answers


def prune_nodes(held_out: Evaluation, tree: SoftTree, answers: Sequence[WeightedSum]) -> SoftTree:
    """Turn nodes into leaves, from the last on, unless this raises loss + lambda * cost.

    A rise within one standard error may be chance, and does not keep a subtree.

    Parameters
    ----------
    held_out : Evaluation
    tree : SoftTree
    answers : sequence of WeightedSum
        Of each node as a leaf.
    """
    now = held_out.row_totals(tree)
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        # earlier nodes keep their numbers, as these go level by level
        ended = tree.ending_at(node, answers[node])
        without = held_out.row_totals(ended)
        saved = without - now
        if saved.sum() <= _ERRORS * held_out.error(saved):
            tree, now = ended, without
    return tree
