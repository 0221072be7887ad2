"""One stage of boosted trees by default: gates for a fixed cheap model, then both models together.

Rows that stay pay for the cheap model. All rows pay for the gate's features, except rows that go on if the expensive
model reads the feature anyway, and rows that stay if the cheap model reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from attrs import evolve, frozen

from costframe.gates import GatedPair, Scores
from costframe.plugin import deal_folds, exact_sum, to_grid, track, weigh_flags
from costframe.trees import (
    Annealer,
    Annealing,
    Boosted,
    LazyPrices,
    Running,
    Start,
    anneal,
    boost_at_prices,
    in_loss,
    loss_for,
    once_prices,
    tree_grower,
)
from costframe_adapt.boosting import GrowingPair, boost_cheap, cheap_prices, converged

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.gates import Candidate
    from costframe.plugin import PriceArrays, Rows, WeakLearnerBank
    from costframe.trees import AnnealedPath, Ensemble, OncePrices, Predicted, SplitPrices
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptTrees

    F8 = NDArray[np.float64]

__all__ = ["GatePrices", "anneal_cheap", "fit_boosted_stage"]

_FOLDS = 3  # of a cheap model
_ROUNDS = 10  # of the alternation
_PATIENCE = 2  # rounds of the alternation without a better model
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
    patience = _PATIENCE if q is None else 1
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
    """The rows that pay for a gate's trees, and their prices.

    Attributes
    ----------
    prices : PriceArrays
    rows : Rows
    stays : float64 (n,)
        1 - q: the cheap model's share of each row.
    read : bool (n, d)
        Features that the expensive model reads anyway.
    tradeoff : float
    """

    prices: PriceArrays
    rows: Rows
    stays: NDArray[np.float64]
    read: NDArray[np.bool_]
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
    def _resources_read(self) -> NDArray[np.bool_]:
        return self.prices.direct_needs.of_rows(self.read)


@frozen(eq=False)
class _CheapModel:
    """A cheap model grown for all rows.

    Attributes
    ----------
    ensemble : Ensemble
        At its best round.
    candidate : Candidate
        The model without a gate.
    running : Running
        Its scores and account on the held-out rows.
    out_of_fold : float64 (n, K)
        Scores of the training rows out of fold.
    """

    ensemble: Ensemble
    candidate: Candidate
    running: Running
    out_of_fold: NDArray[np.float64]

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


def _out_of_fold(judge: Judge, trees: AdaptTrees, model: Candidate, n_rounds: int) -> NDArray[np.float64]:
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
