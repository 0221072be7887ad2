"""The cost-sensitive tree of classifiers, in the paper's order: start, improvement, pruning, answers.

`train_by_exact_cost` is the default. `train_as_printed` is section 4 for `recipe="paper"`, step by step beside it:
`initialize` in the place of `grow`, eq. 5 in the place of `move_routes`, and its own pruning and fine-tuning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import B1, F8, I8, PricedGroups, Rows, StageTree, WeakLearnerBank, halves, sample_by_hash
from costframe.stagewise import (
    MOST_LEARNERS,
    BankRows,
    BankTask,
    Evaluation,
    Flow,
    Logistic,
    NormalEquations,
    RelaxedObjective,
    Softmax,
    SoftTree,
    Squared,
    Step,
    Topology,
    WeightedSum,
    as_stage_tree,
    best_threshold,
    calibrate_tree,
    climb,
    cycle,
    drop_zeros,
    energies,
    fit_at_price,
    fit_relaxed,
    groups_in_loss,
    halving_threshold,
    pick,
)
from costframe_cstc.grow import Fitter, divide, grow, prune, refine, refit

CHOICES: dict[str, tuple[float, ...]] = {
    "inflation": (0.3, 1.0, 3.0, 10.0, 30.0),
    "ridge": (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0),
}
STARTS: dict[str, tuple[float, ...]] = {"inflation": (1.0, 10.0), "ridge": (1e-3, 0.1, 10.0)}

_SWEEPS = 2
_FEW = 50  # outputs
_INFLATIONS = (1.0, 4.0)  # of prices: all rows of a node pay for its route
_LEAST = 1e-12  # of the largest difference between two sides: a route ignores rows with less
_ENOUGH = 1e-9  # of the objective
_MOST_PICKING = 8_000  # rows for the choice of settings
_MOST_MOVING = 10_000  # rows for the moves of routes
_MOST_READ = 200_000  # largest number of rows with stored reads
_CYCLES = 100  # of eq. 5


@frozen
class CSTCSettings:
    """Numbers of the algorithm."""

    tradeoff: float  # lambda
    depth: int  # levels of nodes
    steepness: float  # gamma
    loss: str = "squared"  # {"squared", "logistic"}: of classes; for numbers it is squared
    l1: float = 0.0  # rho, as printed
    inflation: float = 1.0  # in growth by exact cost, a node of level l pays prices times inflation^(depth - l)
    ridge: float = 1.0  # of fits by exact cost, in units of the outputs' median variance
    optimize: bool = True  # whether to improve the start of the tree


def train_cstc(
    task: BankTask, held_out: Rows, settings: CSTCSettings, free: Collection[str], steps: list[Step]
) -> StageTree:
    """Train a tree of classifiers.

    Parameters
    ----------
    task : BankTask
    held_out : Rows
        For choices and pruning.
    settings : CSTCSettings
    free : collection of str
        Settings to choose.
    steps : list of Step
        Gets the accepted steps of the paper's cycles.
    """
    data, bank = task.data, task.bank

    def on(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        found = task.on(rows, learners)
        reads = found.pricing.on_all_rows if len(rows) <= _MOST_READ else None
        if data.n_classes and settings.loss == "logistic":
            return evolve(found, reads=reads, loss=Logistic() if data.n_classes == 2 else Softmax())
        return evolve(found, reads=reads)

    if task.as_printed:
        tree = train_as_printed(on(data.train), on(held_out), settings, steps)
        return task.finish_printed(tree, settings.steepness)
    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    fewer, few_held_out = (sample_by_hash(rows, data, _MOST_PICKING) for rows in (data.train, held_out))
    settings = pick_settings(settings, free, on(fewer, few), on(few_held_out, few), task.verbose)
    train = on(data.train)
    some = on(sample_by_hash(data.train, data, _MOST_MOVING)) if len(data.train) > _MOST_MOVING else train
    chosen_by = evolve(on(held_out), half=halves(held_out, data))
    tree = train_by_exact_cost(train, some, chosen_by, settings, tune="ridge" in free)
    tree = calibrate_tree(tree, chosen_by) if data.n_classes else tree
    return as_stage_tree(bank, tree, task.link, settings.steepness)


def train_by_exact_cost(
    train: Evaluation, some: Evaluation, held_out: Evaluation, settings: CSTCSettings, *, tune: bool
) -> SoftTree:
    """Grow a tree, move its routes and split its leaves, and keep the best tree on held-out rows.

    Parameters
    ----------
    train, some : Evaluation
        Rows for fits of answers, and fewer of them for moves of routes.
    held_out : Evaluation
    settings : CSTCSettings
    tune : bool
        Whether to choose the answers' ridge again in the end.
    """

    def total(tree: SoftTree) -> float:
        return held_out.total(tree if isinstance(held_out.loss, Squared) else calibrate_tree(tree, held_out))

    fitter, fewer = Fitter(train, settings.ridge), Fitter(some, settings.ridge)
    tree, answers = grow(fitter, settings.depth, settings.inflation)
    best = prune(held_out, tree, answers)
    if not settings.optimize:
        return best
    for _ in range(_SWEEPS):
        tree = move_routes(fewer, some.place_thresholds(tree), held_out)
        tree, answers = refit(fitter, divide(fewer, tree, settings.depth, held_out))
        best = min([best, prune(held_out, tree, answers)], key=total)
    if tune:
        best = min([best, _tuned(fitter, fewer, best, held_out)], key=total)
    return min([best, _placed(held_out, best)], key=total)


def _tuned(fitter: Fitter, fewer: Fitter, tree: SoftTree, held_out: Evaluation) -> SoftTree:
    """Fit answers again with the best ridge on held-out rows, chosen by fits to fewer training rows."""

    def total(ridge: float) -> float:
        return held_out.total(refit(evolve(fewer, ridge=ridge), tree)[0])

    ridge = climb(CHOICES["ridge"], fitter.ridge, total)
    tuned = tree if ridge == fitter.ridge else refit(evolve(fitter, ridge=ridge), tree)[0]
    return min((tree, tuned), key=held_out.total)


def _placed(held_out: Evaluation, tree: SoftTree) -> SoftTree:
    """Place thresholds on held-out rows, if thresholds placed on one half are better on the other."""
    if held_out.half is None or len(tree) == 1:
        return tree
    gained = held_out.cross_fit(lambda _: tree) - held_out.cross_fit(lambda half: half.place_thresholds(tree))
    return held_out.place_thresholds(tree) if gained > 0 else tree


def pick_settings(
    settings: CSTCSettings, free: Collection[str], train: Evaluation, held_out: Evaluation, verbose: int
) -> CSTCSettings:
    """Choose free settings by loss + lambda * cost of the grown and pruned tree on held-out rows.

    Over few outputs it also splits leaves, which is quick.
    """
    dividing = settings.optimize and train.rows.outputs.shape[1] <= _FEW

    def total(at: CSTCSettings) -> float:
        fitter = Fitter(train, at.ridge)
        tree, answers = grow(fitter, at.depth, at.inflation)
        if dividing:
            tree, answers = refit(fitter, divide(fitter, tree, at.depth, held_out))
        return held_out.total(prune(held_out, tree, answers))

    grid = {name: CHOICES[name] for name in CHOICES if name in free and (name != "inflation" or settings.depth > 1)}
    return pick(settings, grid, STARTS, total, 2, "CSTC: settings", verbose)


@frozen(eq=False)
class _Choice:
    """The choice of a route: the rows of its node, and their payments below minus those above."""

    node: int
    inside: B1
    more: F8
    flow: Flow

    @classmethod
    def at(cls, train: Evaluation, tree: SoftTree, node: int, losses: F8) -> _Choice:
        """Compare the sides of a node, with the losses of answers, (n, K)."""
        flow = train.flow(tree)
        return cls(node, flow.passes[:, node] > 0, flow.payment_difference(node, losses, train.arrival(tree)), flow)


def move_routes(fitter: Fitter, tree: SoftTree, guard: Evaluation | None = None) -> SoftTree:
    """Give each route, the last first, other learners and weights.

    A move must lower loss + lambda * cost on the training rows, and not raise it on the guard's rows.
    """
    train = fitter.train
    losses = train.losses(tree)
    best = train.total(tree)
    limit = np.inf if guard is None else guard.total(tree)
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        for moved in _candidates(fitter, tree, _Choice.at(train, tree, node, losses)):
            total = train.total(moved)
            if total < best * (1 - _ENOUGH):
                seen = -np.inf if guard is None else guard.total(moved)
                if seen <= limit:
                    tree, best, limit = moved, total, seen
    return tree


def _candidates(fitter: Fitter, tree: SoftTree, choice: _Choice) -> Iterator[SoftTree]:
    """Fit a route to the better side of each row, weighted by the difference, at some prices."""
    rows, pricing = fitter.train.rows, fitter.train.pricing
    size = np.abs(choice.more) * choice.inside
    at = np.flatnonzero(size > _LEAST * size.max())
    side = np.sign(choice.more[at])[:, np.newaxis]
    if not ((side > 0).any() and (side < 0).any()):
        return
    share, outputs = float(rows.share[choice.inside].sum()), rows.outputs.rows(at)
    prices, draw = pricing.drawn(np.where(choice.inside, rows.share, 0.0))
    prices = prices.after(tree.bought(choice.node))
    for later in np.flatnonzero(tree.topology.paths[:, choice.node]):
        if later != choice.node:  # later purchases of a row cost nothing more here
            prices = prices.after(tree.used[later], among=draw.of(choice.flow.passes[:, later] > 0))
    seen: set[bytes] = set()
    normal, ridge = NormalEquations.of(outputs, side, size[at]), fitter.ridge_for(share)
    for inflation in _INFLATIONS:
        price = inflation * fitter.train.tradeoff * share / float(size[at].sum())
        weights = fit_at_price(normal, prices, price, ridge)
        used = np.flatnonzero(weights.any(axis=1))
        if not len(used) or weights.tobytes() in seen:
            continue
        seen.add(weights.tobytes())
        H = outputs.columns(used).block(slice(0, len(at)))
        yield _routed(fitter.train, tree, choice, weights[:, 0])
        start, nothing = (2.0 * weights[used], 2.0 * normal.intercept(weights)), np.zeros(side.shape)
        refined, _ = refine(Logistic(), H, side, size[at], nothing, start, ridge * normal.unit / 4)
        weights[used] = refined
        yield _routed(fitter.train, tree, choice, weights[:, 0])


def _routed(train: Evaluation, tree: SoftTree, choice: _Choice, route: F8) -> SoftTree:
    """Replace the weights, (C,), of the chosen route, and place its threshold."""
    inside, used = np.flatnonzero(choice.inside), np.flatnonzero(route)
    scores = train.rows.outputs.rows(inside).columns(used).times(route[used])
    return tree.with_route(choice.node, route, best_threshold(scores, choice.more[inside], np.inf))


def train_as_printed(train: Evaluation, held_out: Evaluation, settings: CSTCSettings, steps: list[Step]) -> SoftTree:
    """Minimize eq. 5 over a full tree, prune it on held-out rows, and fine-tune the nodes that predict.

    The printed loss counts every level of the tree; so its lambda is the tradeoff times the number of levels.
    """
    groups = groups_in_loss(train.pricing.groups, settings.depth * settings.tradeoff)
    topology = Topology.full(settings.depth)
    tree = initialize(train.rows, groups, topology, settings)
    if settings.optimize:
        eq_5 = RelaxedObjective.of_tree(train.rows, train.loss, groups, topology, settings.l1, settings.steepness)
        tree = cycle(eq_5, tree.coarse(), _CYCLES, steps)
    tree = prune_by_loss(held_out, drop_zeros(tree, train.rows))
    return fine_tune(train.rows, tree, settings.steepness)


def initialize(rows: BankRows, groups: PricedGroups, topology: Topology, settings: CSTCSettings) -> SoftTree:
    """Fit nodes from the top, each as if it were a leaf, which is convex; each threshold halves the rows."""
    tree = SoftTree.of_zeros(topology, rows.outputs.shape[1], rows.target.shape[1])
    for node in range(len(topology)):
        passes = _passes(rows, tree, settings.steepness)[:, node]
        before = np.flatnonzero(topology.paths[node])[:-1]
        bought = np.asarray(sum((energies(groups, tree.weights[k]) for k in before), np.zeros(len(groups.price))))
        share = float(rows.share @ passes)
        fit = fit_relaxed(rows, passes, groups.times(share), settings.l1, bought)
        tree = tree.with_answer(node, fit)
        if topology.routes[node]:
            scores = fit.scores(rows.outputs).sum(axis=1)
            theta = halving_threshold(scores, rows.loss_weight * passes)
            tree.threshold[node] = theta if np.isfinite(theta) else scores[0]  # all scores are equal
    return tree


def prune_by_loss(held_out: Evaluation, tree: SoftTree) -> SoftTree:
    """Remove nodes from the bottom up while the loss on held-out rows does not rise."""
    least = held_out.measured_loss(tree)
    for node in range(len(tree) - 1, 0, -1):
        if not tree.topology.routes[node]:
            without = tree.take(*tree.topology.without(node))
            if (loss := held_out.measured_loss(without)) <= least:
                tree, least = without, loss
    return tree


def fine_tune(rows: BankRows, tree: SoftTree, steepness: float) -> SoftTree:
    """Fit each classifier that predicts again, without cost, on its support.

    A classifier that also routes keeps its routing weights, and its prediction becomes a leaf over the same learners.
    """
    passes = _passes(rows, tree, steepness)
    for node in np.flatnonzero(tree.topology.has_exit)[::-1].tolist():
        fit = _least_squares(rows, passes[:, node], np.flatnonzero(tree.used[node]))
        tree = tree.with_leaf(node, fit) if tree.topology.routes[node] else tree.with_answer(node, fit)
    return tree


def _passes(rows: BankRows, tree: SoftTree, steepness: float) -> F8:
    """Return the probabilities to reach nodes, p^k: float64 (n, K)."""
    return Flow.of(tree.topology, tree.routing(tree.scores(rows)), tree.threshold, steepness).passes


def _least_squares(rows: BankRows, passes: F8, support: I8) -> WeightedSum:
    normal = NormalEquations.of(rows.outputs.columns(support), rows.target, rows.loss_weight * passes)
    weights, varies = np.zeros((rows.outputs.shape[1], rows.target.shape[1])), np.flatnonzero(normal.varies)
    weights[support[varies]] = normal.columns(varies).solve(np.zeros(len(varies)))
    return WeightedSum(weights, normal.intercept(weights[support]))
