"""ADAPT-GBRT: Algorithm 2, a cheap model and a gate boosted in turns, as printed and as one stage does by default.

Rows that stay pay for the cheap model. All rows pay for the gate's features, except rows that go on if the expensive
model reads the feature anyway, and rows that stay if the cheap model reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from attrs import define, evolve, frozen
from numpy.typing import ArrayLike
from scipy.special import entr, expit

from costframe.gates import Candidate, GatedPair, Scores
from costframe.plugin import (
    B1,
    F8,
    Account,
    PriceArrays,
    Rows,
    TrainingData,
    WeakLearnerBank,
    deal_folds,
    exact_mean,
    exact_sum,
    to_grid,
    track,
    weigh_flags,
)
from costframe.trees import (
    AnnealedPath,
    Annealer,
    Annealing,
    BinnedData,
    Boosted,
    Ensemble,
    EnsembleRun,
    LazyPrices,
    Monitor,
    NoPrices,
    OncePrices,
    Predicted,
    RowLoss,
    Running,
    SplitPrices,
    Start,
    anneal,
    boost_at_prices,
    in_loss,
    loss_for,
    once_prices,
    tree_grower,
)
from costframe_adapt.judge import AdaptTrees, Judge

_LEAST_HESSIAN = 1e-16
_ROUNDS = 10  # of the alternation
_PATIENCE = 30  # rounds of a cheap model without a better one
_STEADY = 1e-4  # change of a row's share at which the alternation has converged


def boost_pair(judge: Judge, trees: AdaptTrees) -> tuple[Candidate, list[float]]:
    """Run Algorithm 2: from Greedy Miser's model and a gate of zero, alternate q and all trees, until q converges.

    Returns
    -------
    Candidate, list of float
        The models of the last round; bound + tradeoff * prices of all features bought, after each round.
    """
    data, tradeoff = judge.data, judge.settings.tradeoff
    start = boost_cheap(data, judge.binned, trees, tradeoff, None)[0].finish(data.feature_names)
    pair = GatedPair.of(start)
    scores, held = (Scores.without_gate(start.decision_function(rows.X)) for rows in (judge.rows, judge.held))
    objective: list[float] = []
    if judge.settings.full_share == 0:  # no gate
        return judge.candidate(pair, scores, held), objective
    q = judge.shares(pair, scores)
    while True:
        # One table of u_f: the first tree of either model that uses a feature buys it for both.
        prices = once_prices(data.prices, judge.rows, tradeoff=tradeoff)
        growing = GrowingPair.begin(judge, trees, q, prices, prices)
        for _ in range(trees.n_estimators):
            if not growing.add_round():
                break
        pair, (scores, held) = growing.pair(data.feature_names), growing.scores()
        objective.append(_bound(judge, q, scores) + _price_of(judge, pair))
        before, q = q, judge.shares(pair, scores)
        if converged(judge, before, q) or len(objective) == _ROUNDS:
            return judge.candidate(pair, scores, held, growing.accounts()), objective


def boost_cheap(
    data: TrainingData, binned: BinnedData, trees: AdaptTrees, tradeoff: float, held: Rows | None
) -> tuple[Ensemble, int]:
    """Boost with q = 0 and early stopping on held-out rows; return the ensemble of all rounds, and the best round.

    With Miser's trees this is Greedy Miser.
    """
    rows, loss = data.train, loss_for(data.n_classes)
    monitor = None if held is None else Monitor(held, loss, data.prices, tradeoff, _PATIENCE, None)
    prices = cheap_prices(trees, data.prices, rows, tradeoff)
    return boost_at_prices(rows, loss, trees, tree_grower(rows, binned, trees), prices, monitor=monitor)


def cheap_prices(trees: AdaptTrees, prices: PriceArrays, rows: Rows, tradeoff: float) -> SplitPrices:
    """Return the prices of a cheap model's trees, for the rows that it answers."""
    if trees.by_row:
        return LazyPrices(prices, tradeoff, len(rows), rows.weight)
    return once_prices(prices, rows, tradeoff=tradeoff)


@frozen
class GateLoss:
    """(1 - q) log(1 + exp(g)) + q log(1 + exp(-g)): the cross-entropy of q and sigma(g), with q in place of labels."""

    def gradients(self, y: ArrayLike, scores: F8, *, n_threads: int = 1) -> tuple[F8, F8]:
        """(n, 1) each: sigma(g) - q, and sigma(g) (1 - sigma(g))."""
        del n_threads  # one thread is enough
        sure = expit(scores)
        return sure - np.asarray(y, np.float64)[:, np.newaxis], np.maximum(sure * (1 - sure), _LEAST_HESSIAN)

    def mean(self, y: ArrayLike, scores: F8, weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the cross-entropy."""
        lost = np.logaddexp(0.0, scores[:, 0]) - np.asarray(y, np.float64) * scores[:, 0]
        return float(np.average(lost, weights=None if weight is None else np.asarray(weight, np.float64)))


@define(eq=False)
class GrowingPair:
    """The ensembles of the cheap model and of the gate while they grow."""

    # cheap, gate: with scores of held-out rows; the labels of the gate are q
    cheap: EnsembleRun
    gate: EnsembleRun
    tradeoff: float
    rebuilds: bool  # whether the cheap model grows too

    @classmethod
    def begin(cls, judge: Judge, trees: AdaptTrees, q: F8, cheap: SplitPrices, gate: SplitPrices) -> GrowingPair:
        """Begin both at their best constants for shares q, each with its prices."""
        staying, loss = evolve(judge.rows, weight=judge.rows.weight * (1 - q)), loss_for(judge.data.n_classes)
        boosted = Boosted.constant(staying, loss, trees.learning_rate)
        first = _run(judge, trees, staying, loss.for_rows(staying), boosted, cheap)
        return cls(first, _gate_run(judge, trees, q, gate), judge.settings.tradeoff, rebuilds=True)

    @classmethod
    def behind(
        cls, judge: Judge, trees: AdaptTrees, q: F8, cheap: Boosted, running: Running, gate: SplitPrices
    ) -> GrowingPair:
        """Begin a gate at its best constant for shares q, for a fixed cheap model, known on the held-out rows too."""
        loss = loss_for(judge.data.n_classes).for_rows(judge.rows)
        first = _run(judge, trees, judge.rows, loss, cheap, NoPrices(), running)
        return cls(first, _gate_run(judge, trees, q, gate), judge.settings.tradeoff, rebuilds=False)

    def add_round(self) -> bool:
        """Add a tree per output to the cheap model, then one to the gate; return False if none of them splits."""
        cheap = self.rebuilds and self.cheap.add_round(self.tradeoff)
        return self.gate.add_round(self.tradeoff) or cheap

    def scores(self) -> tuple[Scores, Scores]:
        """Return the scores of training rows and of held-out rows."""
        cheap, gate = self.cheap, self.gate
        return (
            Scores(cheap.boosted.scores.copy(), gate.boosted.scores[:, 0].copy()),
            Scores(cheap.running.scores.copy(), gate.running.scores[:, 0].copy()),
        )

    def accounts(self) -> tuple[Account, Account]:
        """Return the accounts of the cheap model and of the gate on the held-out rows."""
        return Account.of_prefix(self.cheap.running.paid), Account.of_prefix(self.gate.running.paid)

    def pair(self, feature_names: Sequence[str]) -> GatedPair:
        """Return the cheap model and the gate at this round."""
        cheap, gate = (run.boosted.ensemble.finish(feature_names) for run in (self.cheap, self.gate))
        return GatedPair.of(cheap, gate)


def _gate_run(judge: Judge, trees: AdaptTrees, q: F8, prices: SplitPrices) -> EnsembleRun:
    """Begin a gate at the log odds of the mean of q."""
    rows = judge.rows
    share = exact_mean(q, rows.weight)
    start = np.array([np.log(share) - np.log1p(-share)])
    boosted = Boosted(Ensemble(start, trees.learning_rate, "sigmoid"), np.tile(start, (len(rows), 1)))
    return _run(judge, trees, evolve(rows, y=q), GateLoss(), boosted, prices)


def _run(
    judge: Judge,
    trees: AdaptTrees,
    rows: Rows,
    loss: RowLoss,
    boosted: Boosted,
    prices: SplitPrices,
    running: Running | None = None,
) -> EnsembleRun:
    grow = tree_grower(judge.rows, judge.binned, trees)  # its leaves count all rows, also those that go on
    if running is None:
        running = Running(judge.held, loss_for(judge.data.n_classes), judge.data.prices)
        running.begin(boosted.ensemble.intercept)
    return EnsembleRun(rows, loss, grow, boosted, prices, running, None, trees.n_threads)


def converged(judge: Judge, before: F8, q: F8) -> bool:
    """Return whether the shares of an alternation have settled."""
    rows = judge.rows
    return exact_sum(np.abs(q - before) * rows.weight) < _STEADY * rows.total_weight


def _bound(judge: Judge, q: F8, train: Scores) -> float:
    """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] on the training rows."""
    below, above = judge.losses(train)
    return exact_mean((1 - q) * below + q * above - entr(q) - entr(1 - q), judge.rows.weight)


def _price_of(judge: Judge, pair: GatedPair) -> float:
    """Return tradeoff * the prices of all features and resources that a pair reads."""
    prices, read = judge.data.prices, np.diff(pair.bank.F.indptr) > 0
    needed = prices.direct_needs.of_set(np.flatnonzero(read))
    return judge.settings.tradeoff * float(prices.cost[read].sum() + prices.resource_cost[needed].sum())


_FOLDS = 3  # of a cheap model
_PATIENCE_OF_TURNS = 2  # rounds of the alternation without a better model
_GATES = 3  # most gates for a fixed cheap model, while they get better
_LOOKED_AT = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0)  # of all trees
_LOOKS = 3  # without a better model before growth stops


def fit_boosted_stage(
    judge: Judge, trees: AdaptTrees, q: F8 | None = None, given: Ensemble | None = None
) -> tuple[list[Candidate], F8 | None, list[float]]:
    """Fit a cheap model, gates for it, and, with trees paid row by row, also both models together.

    It may begin with the shares, float64 (n,), or the cheap model of a similar fit.

    Returns
    -------
    list of Candidate, float64 (n,) or None, list of float
        All candidates, the last shares of both models together, and loss + tradeoff * cost of each round.
    """
    cheap = _CheapModel.best(judge, trees, given)
    found, shares = [cheap.candidate], None
    history: list[float] = []
    if judge.settings.full_share != 0:
        more, history = _gates(judge, trees, cheap)
        found += more
        if trees.by_row:
            more, shares, values = _jointly(judge, trees, cheap, q)
            found, history = found + more, history + values
    return found, shares, history


def _gates(judge: Judge, trees: AdaptTrees, cheap: _CheapModel) -> tuple[list[Candidate], list[float]]:
    """Keep the cheap model, and fit gates to its out-of-fold failures.

    A strong cheap model is too sure on its training rows: its losses there say little about new rows.
    """
    bank, fixed = cheap.candidate.pair.bank, Boosted(cheap.ensemble, cheap.out_of_fold)
    found: list[Candidate] = []
    history: list[float] = []
    pair, train = cheap.candidate.pair, Scores.without_gate(cheap.out_of_fold)
    for _ in range(_GATES):
        q = judge.shares(pair, train)
        of_gate = _gate_prices(judge, q)
        prices = of_gate.by_row_after(bank) if trees.by_row else of_gate.once_after(bank)
        found.append(_best(judge, trees, GrowingPair.behind(judge, trees, q, fixed, cheap.running, prices)))
        history.append(judge.total(found[-1]))
        if history[-1] > min(history):
            break
        pair, train = found[-1].pair, found[-1].train
    return found, history


def _jointly(
    judge: Judge, trees: AdaptTrees, cheap: _CheapModel, q: F8 | None
) -> tuple[list[Candidate], F8, list[float]]:
    """Boost both models again in each round, for new shares, at row-by-row prices for the rows that pay.

    It begins with the shares of the cheap model alone, or with q, float64 (n,), of a similar fit.

    Returns
    -------
    list of Candidate, float64 (n,), list of float
        The best of each round, the last shares, and loss + tradeoff * cost of each round.
    """
    patience = _PATIENCE_OF_TURNS if q is None else 1
    q = judge.shares(cheap.candidate.pair, cheap.candidate.train) if q is None else q
    found: list[Candidate] = []
    history: list[float] = []
    for _ in track(range(_ROUNDS), "Adapt", verbose=judge.settings.verbose):
        prices = _gate_prices(judge, q).by_row()
        staying = prices.with_weight(judge.rows.weight * (1 - q))
        found.append(_best(judge, trees, GrowingPair.begin(judge, trees, q, staying, prices)))
        history.append(judge.total(found[-1]))
        before, q = q, judge.shares(found[-1].pair, found[-1].train)
        if converged(judge, before, q) or len(history) - 1 - int(np.argmin(history)) == patience:
            break
    return found, q, history


def _best(judge: Judge, trees: AdaptTrees, growing: GrowingPair) -> Candidate:
    """Grow all rounds, and return the best candidate on the way."""
    rounds, names, found = trees.n_estimators, judge.data.feature_names, []
    checked = {max(1, int(rounds * share)) for share in _LOOKED_AT}
    for number in range(1, rounds + 1):
        idle = not growing.add_round()
        if number in checked or idle:
            found.append(judge.candidate(growing.pair(names), *growing.scores(), growing.accounts()))
            totals = [judge.total(one) for one in found]
            if idle or len(totals) - 1 - int(np.argmin(totals)) >= _LOOKS:
                break
    return min(found, key=judge.total)


def _gate_prices(judge: Judge, q: F8) -> GatePrices:
    read = judge.expensive.train.account.acquired
    return GatePrices(judge.data.prices, judge.rows, 1 - q, read, judge.settings.tradeoff)


@frozen(eq=False)
class GatePrices:
    """The rows that pay for a gate's trees, and their prices."""

    prices: PriceArrays
    rows: Rows
    stays: F8  # (n,): 1 - q: the cheap model's share of each row
    read: B1  # (n, d): features that the expensive model reads anyway
    tradeoff: float

    def by_row(self) -> LazyPrices:
        """Return row-by-row prices."""
        prices, rows = self.prices, self.rows
        full = prices.cost.sum() + prices.resource_cost.sum()
        later = weigh_flags(self.read, prices.cost)
        if len(prices.resource_cost):
            later = later + weigh_flags(self._resources_read, prices.resource_cost)
        anyway = later / full if full > 0 else np.zeros(len(rows))
        pays = rows.weight * (1 - (1 - self.stays) * anyway)
        return LazyPrices(prices, self.tradeoff, len(rows), pays)

    def by_row_after(self, cheap: WeakLearnerBank) -> LazyPrices:
        """Return row-by-row prices after the features on each row's ways through the cheap model's trees."""
        found, everyone = self.by_row(), np.arange(len(self.rows), dtype=np.int32)
        leaves = cheap.leaves(self.rows.X)
        for tree in range(len(cheap)):
            found.charge_leaves(cheap.trees.restrict([tree]), np.ascontiguousarray(leaves[:, tree]), everyone)
        return found

    def once_after(self, cheap: WeakLearnerBank) -> OncePrices:
        """Return prices paid once; only rows that go on pay for features of the cheap model."""
        prices = self.prices
        going = to_grid(self.rows.weight * (1 - self.stays))  # so sums have no order
        stays = exact_sum(self.rows.weight * self.stays)
        all_going = exact_sum(going)
        features = all_going - going @ self.read
        resources = all_going - going @ self._resources_read
        found = once_prices(prices, self.rows, tradeoff=self.tradeoff)
        bought = np.diff(cheap.F.indptr) > 0
        needed = prices.direct_needs.of_set(np.flatnonzero(bought))
        own = in_loss(1.0, (stays + features) * prices.cost) + prices.once
        found.feature_price = np.where(bought, features * prices.cost, own)
        own = in_loss(1.0, (stays + resources) * prices.resource_cost)
        found.resource_price = np.where(needed, resources * prices.resource_cost, own)
        found.mark_paid(bought & (features * prices.cost == 0), needed & (resources * prices.resource_cost == 0))
        return found

    @property
    def _resources_read(self) -> B1:
        return self.prices.direct_needs.of_rows(self.read)


@frozen(eq=False)
class _CheapModel:
    """A cheap model grown for all rows."""

    ensemble: Ensemble  # at its best round
    candidate: Candidate  # the model without a gate
    running: Running  # its scores and account on the held-out rows
    out_of_fold: F8  # (n, K): scores of the training rows out of fold

    @classmethod
    def best(cls, judge: Judge, trees: AdaptTrees, given: Ensemble | None = None) -> Self:
        """Boost a model with early stopping on held-out rows; take the given one if it is better there."""
        boosted, n_rounds = boost_cheap(judge.data, judge.binned, trees, judge.settings.tradeoff, judge.held)
        looks = [_evaluate(judge, one) for one in (boosted.prefix(n_rounds), given) if one is not None]
        ensemble, candidate, running = min(looks, key=lambda look: judge.total(look[1]))
        return cls(ensemble, candidate, running, _out_of_fold(judge, trees, candidate, len(ensemble.rounds)))


def _evaluate(judge: Judge, ensemble: Ensemble) -> tuple[Ensemble, Candidate, Running]:
    """Evaluate an ensemble without a gate."""
    running = Running(judge.held, loss_for(judge.data.n_classes), judge.data.prices)
    running.begin(ensemble.intercept)
    for number in range(len(ensemble.rounds)):
        running.add(ensemble.of_round(number), ensemble.step)
    tree = ensemble.finish(judge.data.feature_names)
    train = Scores.without_gate(tree.decision_function(judge.rows.X))
    candidate = judge.candidate(GatedPair.of(tree), train, Scores.without_gate(running.scores.copy()))
    return ensemble, candidate, running


def _out_of_fold(judge: Judge, trees: AdaptTrees, model: Candidate, n_rounds: int) -> F8:
    """Return out-of-fold scores, (n, K), of models with the features of this one."""
    data, rows, loss = judge.data, judge.rows, loss_for(judge.data.n_classes)
    read = np.diff(model.pair.bank.F.indptr) > 0
    # No tree splits on a column without values.
    X = np.where(read, rows.X, np.nan)
    binned = judge.binned.mapper.transform(X, n_threads=trees.n_threads)
    fold, found = deal_folds(rows, data, _FOLDS)[1], np.empty((len(rows), loss.n_outputs))
    for number in range(_FOLDS):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        some = len(inside) > 0
        if not len(outside):
            continue
        few = rows.take(inside) if some else rows
        prices = cheap_prices(trees, data.prices, few, judge.settings.tradeoff)
        if not trees.by_row:  # the model has bought its features already
            prices.mark_paid(read, data.prices.direct_needs.of_set(np.flatnonzero(read)))
        rounds = evolve(trees, n_estimators=n_rounds if some else 0)
        ensemble, _ = boost_at_prices(few, loss, rounds, tree_grower(few, binned.take_rows(inside), trees), prices)
        scores = ensemble.finish(data.feature_names).decision_function(rows.X[outside])
        found[outside] = scores.reshape(len(outside), loss.n_outputs)
    return found


def anneal_cheap(judge: Judge, trees: AdaptTrees, score: Callable[[Predicted], float] | None) -> AnnealedPath:
    """Anneal trees from prices at which nothing is bought to almost none, measured on the held-out rows."""
    data, rows = judge.data, judge.rows
    prices: SplitPrices = once_prices(data.prices, rows)
    if trees.by_row:
        prices = LazyPrices(data.prices, 1.0, len(rows), rows.uneven_weight)
    return anneal(
        evolve(data, valid=judge.held),
        loss_for(data.n_classes),
        [Start(tree_grower(rows, judge.binned, trees), [prices])],
        Annealing(Annealer(trees.n_estimators, score)),
        step=trees.learning_rate,
        n_threads=trees.n_threads,
    )
