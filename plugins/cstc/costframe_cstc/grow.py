"""Growth of a tree from the top down, then by splits of leaves: answers of nodes, and pruning by held-out rows.

A fit begins with the parent's answer, and learners bought on the way are free.

It fits each node as if it were a leaf, and then divides the node's rows in two by its scores. A leaf may later divide
its rows by a single output, tried with answers on both sides: this finds sides that differ in the learners worth buying
but not in their labels, which no fit to labels finds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from attrs import define, field, frozen

from costframe.plugin import (
    B1,
    F8,
    I8,
    BankOutputs,
    SampledPrices,
    coarse,
    exact_sum,
    product,
    sum_over_rows,
    sum_products,
)
from costframe.stagewise import (
    Evaluation,
    Loss,
    NormalEquations,
    SoftTree,
    Squared,
    Topology,
    WeightedSum,
    fit_at_price,
    halving_threshold,
    in_loss,
    minimize_smooth,
)

_ROUNDS = 15  # few, so that rounding has no effect
_SHRINK = 0.5  # a node's ridge is multiplied by its share of the rows to minus this power
_ERRORS = 1.0  # a subtree must gain this many standard errors of its gain


@frozen(eq=False)
class Fitter:
    """Fits answers to training rows."""

    train: Evaluation  # the training rows
    ridge: float  # in units of the outputs' median variance, for all rows

    def ridge_for(self, share: float) -> float:
        """Return the ridge of a node with this share of the rows; it is larger for few rows."""
        return float(self.ridge * share**-_SHRINK)

    @cached_property
    def constant(self) -> WeightedSum:
        """The best constant as an answer."""
        rows, loss = self.train.rows, self.train.loss
        width = rows.target.shape[1]
        nothing = np.zeros((0, width)), np.zeros(width)
        H, offset = np.zeros((len(rows.target), 0)), np.zeros(rows.target.shape)
        _, constant = refine(loss, H, rows.target, rows.loss_weight, offset, nothing, 0.0)
        return WeightedSum(np.zeros((rows.outputs.shape[1], width)), constant)

    def at(self, prior: WeightedSum, inside: B1) -> NodeFit:
        """Begin fits with a prior at a node with the rows `inside`, bool (n,)."""
        return NodeFit(self, prior, np.flatnonzero(inside))


@frozen(eq=False)
class NodeFit:
    """Fits answers to the rows of a node, from a prior.

    By weighted least squares it approximates Newton's step of the scores from the prior. For other losses than the
    square it then minimizes the loss over the same learners.
    """

    fitter: Fitter
    prior: WeightedSum
    at: I8  # (rows,)

    def answer(self, bought: B1, inflation: float = 1.0) -> WeightedSum:
        """Fit an answer that may buy learners worth their price times `inflation`; `bought`, bool (C,), are free."""
        normal, ridge = self.normal, self.fitter.ridge_for(self._share)
        weights = fit_at_price(normal, self.prices.after(bought), inflation * self.price, ridge)
        return self._refined(weights, normal.intercept(weights))

    def free_answer(self, bought: B1) -> WeightedSum:
        """Fit an answer by bought learners, bool (C,)."""
        used = np.flatnonzero(bought)
        normal = NormalEquations.of(self._outputs.columns(used), *self._response)
        varying, weights = np.flatnonzero(normal.varies), np.zeros(self.prior.weights.shape)
        ridge = self.fitter.ridge_for(self._share) * normal.unit
        weights[used[varying]] = normal.columns(varying).solve(np.full(len(varying), ridge))
        return self._refined(weights, normal.intercept(weights[used]))

    @cached_property
    def _outputs(self) -> BankOutputs:
        return self.fitter.train.rows.outputs.rows(self.at)

    @cached_property
    def _share(self) -> float:
        return exact_sum(self.fitter.train.rows.share[self.at])

    @cached_property
    def _offset(self) -> F8:
        return self.prior.scores(self._outputs)

    @cached_property
    def _response(self) -> tuple[F8, F8]:
        """The step of the scores, (rows, M), and the rows' weights, (rows,)."""
        rows, loss = self.fitter.train.rows, self.fitter.train.loss
        h = loss.curvature(self._offset)
        return -loss.slope(self._offset, rows.target[self.at]) / h[:, np.newaxis], rows.loss_weight[self.at] * h

    @cached_property
    def _weight(self) -> float:
        return float(self._response[1].sum())

    @property
    def price(self) -> float:
        """Loss, in units of `normal`, per unit of cost."""
        return self.fitter.train.tradeoff * self._share / self._weight

    @cached_property
    def normal(self) -> NormalEquations:
        """Normal equations of the step from the prior."""
        return NormalEquations.of(self._outputs, *self._response)

    @cached_property
    def prices(self) -> SampledPrices:
        """Prices of all learners for the rows of the node."""
        share = np.zeros(len(self.fitter.train.rows.share))
        share[self.at] = self.fitter.train.rows.share[self.at]
        return self.fitter.train.pricing.drawn(share)[0]

    def _refined(self, weights: F8, constant: F8) -> WeightedSum:
        """Add a step to the prior."""
        rows, loss, prior = self.fitter.train.rows, self.fitter.train.loss, self.prior
        if not isinstance(loss, Squared):
            used, weight = np.flatnonzero(weights.any(axis=1)), rows.loss_weight[self.at]
            total, H = exact_sum(weight), self._outputs.columns(used).block(slice(0, len(self.at)))
            squares, mean = np.split(sum_over_rows(np.hstack([np.square(H), H]), weight / total), 2)
            unit = float(np.median(squares - np.square(mean))) if len(used) else 0.0
            ridge = self.fitter.ridge_for(self._share) * max(unit, 0.0) * self._weight / total
            start = weights[used], constant
            found, constant = refine(loss, H, rows.target[self.at], weight, self._offset, start, ridge)
            weights = np.zeros(weights.shape)
            weights[used] = found
        return WeightedSum(prior.weights + weights, prior.constant + constant)


def refine(
    loss: Loss, H: F8, target: F8, weight: F8, offset: F8, start: tuple[F8, F8], penalty: float
) -> tuple[F8, F8]:
    """Minimize sum_i w_i loss(offset_i + c + D'h_i) / sum_i w_i + penalty / 2 |D|^2: weights (U, M), constants (M,)."""
    share, width = weight / exact_sum(weight), target.shape[1]
    mean = sum_over_rows(H, share)
    centered = H - mean
    unit = np.sqrt(sum_over_rows(np.square(centered), share))
    unit = 1.0 / np.where(unit > 0, unit, 1.0)

    def unpack(x: F8) -> tuple[F8, F8]:
        free = x.reshape(-1, width)
        return unit[:, np.newaxis] * free[:-1], free[-1]

    def value(x: F8) -> tuple[float, F8]:
        weights, constant = unpack(x)
        scores = offset + product(centered, weights) + constant
        slope = loss.slope(scores, target)
        by_weight = unit[:, np.newaxis] * (sum_products(centered, share[:, np.newaxis] * slope) + penalty * weights)
        sums = sum_over_rows(np.column_stack([loss.value(scores, target), slope]), share)
        total = float(sums[0]) + 0.5 * penalty * float(np.square(weights).sum())
        return total, np.append(by_weight, sums[1:])

    begin = coarse(np.vstack([start[0] / unit[:, np.newaxis], start[1] + mean @ start[0]]).ravel())
    found = minimize_smooth(value, begin, {"maxiter": _ROUNDS})
    weights, constant = unpack(found.x if found.fun <= value(begin)[0] else begin)
    return weights, constant - mean @ weights


def path_models(fitter: Fitter, tree: SoftTree) -> list[WeightedSum]:
    """Fit an answer for each node over the learners bought on the way to it."""
    passes = fitter.train.flow(tree).passes > 0
    found = [fitter.constant]
    for node, parent in enumerate(tree.topology.parent.tolist()):
        if node:
            inside, prior = passes[:, parent], found[parent]
            known = fitter.at(prior, inside).free_answer(tree.bought(node)) if inside.any() else prior
            found.append(known)
    return found


def refit(fitter: Fitter, tree: SoftTree) -> tuple[SoftTree, list[WeightedSum]]:
    """Fit all answers again; return also an answer for each node as a leaf."""
    passes = fitter.train.flow(tree).passes > 0
    answers: list[WeightedSum] = []
    for node, prior in enumerate(path_models(fitter, tree)):
        inside = passes[:, node]
        answers.append(fitter.at(prior, inside).answer(tree.bought(node)) if inside.any() else prior)
        if not tree.topology.routes[node]:
            tree = tree.with_answer(node, answers[node])
    return tree, answers


def prune(held_out: Evaluation, tree: SoftTree, answers: Sequence[WeightedSum]) -> SoftTree:
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


_FEWEST = 10  # rows on each side of a route
_ROUNDING = 1e-6
_MOST = 1e300  # largest inflation
_LESS = (1.0, 0.5, 0.0)  # powers of the inflation to try until a node buys outputs to divide rows by
_TRIED = 12  # outputs to try at a node
_ENOUGH = 1e-9  # of the objective


@define(eq=False)
class _Node:
    """A node during growth."""

    level: int
    inside: B1
    bought: B1
    prior: WeightedSum
    classifier: WeightedSum = field(init=False)
    answer: WeightedSum = field(init=False)
    direction: F8 = field(init=False)
    threshold: float = field(init=False, default=0.0)
    children: tuple[int, int] = field(init=False, default=(-1, -1))


def grow(fitter: Fitter, depth: int, inflation: float) -> tuple[SoftTree, list[WeightedSum]]:
    """Fit node after node; a node of level l pays prices times inflation^(depth - l), l = 1..depth.

    A node before the last level is a leaf if it buys nothing, or cannot divide its rows.

    Returns
    -------
    SoftTree, list of WeightedSum
        The tree, and an answer for each node as a leaf.
    """
    n_rows, n_outputs = fitter.train.rows.outputs.shape
    root = _Node(1, np.ones(n_rows, np.bool_), np.zeros(n_outputs, np.bool_), fitter.constant)
    nodes, waiting = [root], deque([root])
    while waiting:
        node = waiting.popleft()
        halves = _fit_node(fitter, node, _power(inflation, depth - node.level), last=node.level == depth)
        if halves is not None:
            bought = node.bought | node.classifier.used
            pair = [_Node(node.level + 1, half, bought, node.classifier) for half in halves]
            node.children = len(nodes), len(nodes) + 1
            nodes += pair
            waiting += pair
    topology = Topology(np.array([node.children for node in nodes], np.int64))
    tree = SoftTree.of_zeros(topology, *root.answer.weights.shape)
    for number, node in enumerate(nodes):
        if topology.routes[number]:
            tree = tree.with_route(number, node.classifier.weights @ node.direction, node.threshold)
        else:
            tree = tree.with_answer(number, node.answer)
    return tree, [node.answer for node in nodes]


def _power(inflation: float, levels: int) -> float:
    """Return inflation^levels, at most 1e300."""
    with np.errstate(over="ignore"):
        return float(min(np.float_power(inflation, levels), _MOST))


def _fit_node(fitter: Fitter, node: _Node, inflation: float, *, last: bool) -> tuple[B1, B1] | None:
    """Fit a node, and return the rows that go below and above, or None for a leaf."""
    fit = fitter.at(node.prior, node.inside)
    node.answer = fit.answer(node.bought)
    node.classifier, node.direction = node.answer, np.ones(node.prior.weights.shape[1])
    if last:
        return None
    if inflation != 1:
        for power in _LESS:
            node.classifier = fit.answer(node.bought, inflation**power)
            if node.classifier.used.any():
                break
    rows = fitter.train.rows
    scores = node.classifier.scores(rows.outputs)
    at = np.flatnonzero(node.inside)
    node.direction = _leading(scores[at], rows.loss_weight[at])
    score = (scores - node.classifier.constant) @ node.direction
    node.threshold = halving_threshold(score[at], rows.loss_weight[at])
    above = node.inside & (score > node.threshold)
    below = node.inside & ~above
    counts = fitter.train.counts
    enough = min(exact_sum(counts[side]) for side in (below, above)) >= _FEWEST - _ROUNDING
    return (below, above) if enough and np.isfinite(node.threshold) else None


def _leading(scores: F8, weight: F8) -> F8:
    """Return the direction of largest variance of scores (n, M): float64 (M,), its largest component positive."""
    if scores.shape[1] == 1:
        return np.ones(1)
    share = weight / weight.sum()
    centered = scores - share @ scores
    leading = np.linalg.eigh(centered.T @ (share[:, np.newaxis] * centered))[1][:, -1]
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax()]))


def divide(fitter: Fitter, tree: SoftTree, depth: int, guard: Evaluation) -> SoftTree:
    """Split leaves above the last level, and split rows of routes to two leaves again, by one output each.

    A split must lower loss + lambda * cost on the training rows, and not raise it on the guard's rows.
    """
    train = fitter.train
    best, limit = train.total(tree), guard.total(tree)
    known = path_models(fitter, tree)
    for node in range(len(tree.topology) - 1, -1, -1):
        topology = tree.topology
        children = topology.children[node]
        if topology.paths[node].sum() >= depth or (children[0] >= 0 and topology.routes[children].any()):
            continue
        held = [tried for tried in _divided(fitter, tree, node, known[node]) if guard.total(tried) <= limit]
        totals = [train.total(tried) for tried in held]
        if held and min(totals) < best * (1 - _ENOUGH):
            tree, best = held[int(np.argmin(totals))], min(totals)
            limit, known = guard.total(tree), path_models(fitter, tree)
    return tree


def _divided(fitter: Fitter, tree: SoftTree, node: int, known: WeightedSum) -> Iterator[SoftTree]:
    """Yield trees in which one output splits a node's rows in halves, with answers below and above."""
    train, bought = fitter.train, tree.bought(node)
    counts = train.counts
    inside = train.flow(tree).passes[:, node] > 0
    if exact_sum(counts[inside]) < 2 * _FEWEST:
        return
    fit = fitter.at(known, inside)
    for output in _worth_trying(fit, bought):
        scores = train.rows.outputs.columns(np.array([output])).times(np.ones(1))
        threshold = halving_threshold(scores[fit.at], train.rows.loss_weight[fit.at])
        halves = inside & ~(scores > threshold), inside & (scores > threshold)
        if min(exact_sum(counts[half]) for half in halves) < _FEWEST:
            continue
        route = np.zeros(tree.weights.shape[1])
        route[output] = 1.0
        below, above = (fitter.at(known, half).answer(bought | (route != 0)) for half in halves)
        yield tree.dividing(node, route, threshold, below, above)


def _worth_trying(fit: NodeFit, bought: B1) -> list[int]:
    """List few outputs that vary, in turns by gain minus price and by gain per price."""
    normal = fit.normal
    varying = np.flatnonzero(normal.varies)
    if len(varying) <= _TRIED:
        return varying.tolist()
    offers = in_loss(fit.prices.after(bought), fit.price).offers
    gain = 0.5 * np.square(normal.right).sum(axis=1) / np.maximum(np.diag(normal.gram), np.finfo(np.float64).tiny)
    free = np.finfo(np.float64).tiny * max(1.0, float(gain[varying].max()))  # to keep the worth of free outputs finite
    rate = gain / np.maximum(offers, free)
    ranks = (varying[np.argsort(-value[varying], kind="stable")] for value in (gain - offers, rate))
    mixed = np.stack(list(ranks), axis=1).ravel()
    first = np.sort(np.unique(mixed, return_index=True)[1])[:_TRIED]
    return [int(output) for output in mixed[first]]
