"""Answers fitted anew, from the root down, to the rows that the routes really send there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from costframe_cstc.answers import Fitter
    from costframe_cstc.tree import Tree, WeightedSum

__all__ = ["refit"]


def refit(fitter: Fitter, tree: Tree) -> tuple[Tree, list[WeightedSum]]:
    """Fit all answers; return also an answer that could end the tree at each node, a leaf's being its own."""
    passes = fitter.judge.flow(tree).passes > 0
    priors: list[WeightedSum] = []
    answers: list[WeightedSum] = []
    for node, parent in enumerate(tree.topology.parent):
        prior, inside = fitter.constant() if parent < 0 else priors[parent], passes[:, node]
        bought = tree.bought(node)
        fit = fitter.at(prior, inside)
        answers.append(fit.answer(bought) if inside.any() else prior)
        if tree.topology.routes[node]:
            priors.append(fit.free_answer(bought | tree.used[node]) if inside.any() else prior)
        else:
            priors.append(prior)
            tree = tree.with_answer(node, answers[node])
    return tree, answers
