"""Compiled parts of a growing tree: its nodes, its prices, and the draw of features."""

from typing import NamedTuple

from costframe.plugin import B1, F8, I4, I8, kernel


class Rule(NamedTuple):
    """How a tree grows."""

    kind: int  # of the impurity
    alpha: float  # its threshold
    minimax: bool  # the drop of the worse side, else of both together
    max_features: int
    max_depth: int
    min_leaf: float  # weight of the rows of a leaf
    base: float  # added to the price of each split


class SplitPrice(NamedTuple):
    """Prices of features, of comparisons and of resources, with all resources that each feature needs."""

    feature: F8
    split: F8
    resource: F8
    need_first: I8
    need: I8


class GrowingTree(NamedTuple):
    """The nodes of a tree: at most 2 n - 1."""

    feature: I4
    bin: I4
    missing_left: B1
    left: I4
    right: I4
    parent: I4
    depth: I4
    begin: I8
    end: I8
    counts: F8  # (nodes, K)


@kernel
def mark_bought(nodes: GrowingTree, node: int, prices: SplitPrice, bought: B1, paid: B1) -> None:
    """Mark the features and the resources that are bought above a node."""
    bought[:] = False
    paid[:] = False
    while node > 0:
        node = nodes.parent[node]
        f = nodes.feature[node]
        bought[f] = True
        for at in range(prices.need_first[f], prices.need_first[f + 1]):
            paid[prices.need[at]] = True


@kernel
def price_split(f: int, prices: SplitPrice, bought: B1, paid: B1) -> float:
    """Return the price of a split by a feature, given purchases above."""
    price = prices.split[f]
    if not bought[f]:
        price += prices.feature[f]
        for at in range(prices.need_first[f], prices.need_first[f + 1]):
            if not paid[prices.need[at]]:
                price += prices.resource[prices.need[at]]
    return float(price)


@kernel
def draw_feature(order: I8, place: int, state: I8) -> int:
    """Draw the next feature without repetition; `state[0]` times the factor stays below 2^63."""
    state[0] = state[0] * 48271 % 2147483647
    other = place + state[0] % (order.shape[0] - place)
    chosen = order[other]
    order[other] = order[place]
    order[place] = chosen
    return int(chosen)
