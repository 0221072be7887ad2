"""Answers fitted anew, from the root down, to the rows that the routes really send there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from costframe_cstc.answers import Fitter
    from costframe_cstc.tree import Tree, WeightedSum

__all__ = ["path_models", "refit"]


def path_models(fitter: Fitter, tree: Tree) -> list[WeightedSum]:
    """Return for each node what can be said of its rows by what is bought on the way there."""
    passes = fitter.judge.flow(tree).passes > 0
    found = [fitter.constant]
    for node, parent in enumerate(tree.topology.parent.tolist()):
        if node:
            inside, prior = passes[:, parent], found[parent]
            known = fitter.at(prior, inside).free_answer(tree.bought(node)) if inside.any() else prior
            found.append(known)
    return found


def refit(fitter: Fitter, tree: Tree) -> tuple[Tree, list[WeightedSum]]:
    """Fit all answers; return also an answer that could end the tree at each node, a leaf's being its own."""
    passes = fitter.judge.flow(tree).passes > 0
    answers: list[WeightedSum] = []
    for node, prior in enumerate(path_models(fitter, tree)):
        inside = passes[:, node]
        answers.append(fitter.at(prior, inside).answer(tree.bought(node)) if inside.any() else prior)
        if not tree.topology.routes[node]:
            tree = tree.with_answer(node, answers[node])
    return tree, answers
