"""Takes features and resources from nodes where that does not cost more than it saves, exactly priced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe_cstc.routes import placed_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from costframe_cstc.answers import Fitter
    from costframe_cstc.tree import Tree

__all__ = ["trim"]

_MOST = 32  # groups of a node that are tried, the dearest first


def trim(fitter: Fitter, tree: Tree) -> Tree:
    """Remove all weights of a node that need a feature, resource or learner, while loss + lambda * cost does not rise.

    If that is dearer, as nodes below buy it then, it is removed from them too. The last nodes come first; thresholds
    are placed anew, and answers fitted anew to what is left.
    """
    judge = fitter.judge
    total = judge.measure(tree).total
    for node in range(len(tree.topology) - 1, -1, -1):
        after = np.flatnonzero(tree.topology.paths[:, node]).tolist()
        for gone in _groups(fitter, tree, node):
            for nodes in ([node], after) if len(after) > 1 else ([node],):
                if not (gone & tree.used[nodes].any(axis=0)).any():
                    continue  # went with another group
                without = _without(fitter, tree, nodes, gone)
                now = judge.measure(without).total
                if now <= total:
                    tree, total = without, now
    return tree


def _groups(fitter: Fitter, tree: Tree, node: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which outputs need each of the groups with a price that a node is the first to buy, bool (C,)."""
    groups = fitter.judge.pricing.groups
    now, before = (groups.used(used[np.newaxis].astype(np.float64))[0] for used in (tree.used[node], tree.bought(node)))
    new = np.flatnonzero(now & ~before & (groups.price > 0))
    for group in new[np.argsort(-groups.price[new], kind="stable")][:_MOST]:
        gone = np.zeros(groups.member.shape[1], np.bool_)
        gone[groups.member.indices[groups.member.indptr[group] : groups.member.indptr[group + 1]]] = True
        yield gone


def _without(fitter: Fitter, tree: Tree, nodes: list[int], gone: NDArray[np.bool_]) -> Tree:
    """Remove outputs from some nodes, which ascend."""
    for node in nodes:
        inside = fitter.judge.flow(tree).passes[:, node] > 0
        if tree.topology.routes[node]:
            tree = placed_at(fitter.judge, tree.with_route(node, np.where(gone, 0.0, tree.route[node]), 0.0), node)
        elif inside.any():
            kept = tree.bought(node) | (tree.used[node] & ~gone)
            tree = tree.with_answer(node, fitter.at(fitter.constant, inside).free_answer(kept))
    return tree
