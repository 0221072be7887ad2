"""Cheap models grown for all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from attrs import evolve, frozen

from costframe.gates import Candidate, GatedPair, Scores
from costframe.plugin import F8, PriceArrays, Rows, Sampling, TrainingData, loss_for
from costframe.trees import (
    AnnealedPath,
    Annealing,
    BinnedData,
    Ensemble,
    LazyPrices,
    Monitor,
    OncePrices,
    Running,
    SplitPrices,
    Start,
    anneal,
    boost_at_prices,
    tree_grower,
)
from costframe_adapt.judge import Judge
from costframe_adapt.settings import AdaptTrees

_PATIENCE = 30  # rounds of a cheap model without a better one
_FOLDS = 3  # of a cheap model


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
        return LazyPrices(prices, tradeoff, len(rows), rows.uneven_weight)
    return OncePrices.of(prices, rows, tradeoff=tradeoff)


@frozen(eq=False)
class CheapModel:
    """A cheap model grown for all rows."""

    ensemble: Ensemble  # at its best round
    candidate: Candidate  # the model without a gate
    running: Running  # its scores and account on the held-out rows
    out_of_fold: F8  # (n, K): scores of the training rows out of fold

    @classmethod
    def best(cls, judge: Judge, trees: AdaptTrees, given: Ensemble | None = None) -> Self:
        """Boost a model with early stopping on held-out rows; take the given one if it is better there."""
        boosted, n_rounds = boost_cheap(judge.data, judge.binned, trees, judge.settings.tradeoff, judge.held)
        looks = [_evaluate(judge, model) for model in (boosted.prefix(n_rounds), given) if model is not None]
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
    fold, out_of_fold = Sampling(data).folds(rows, _FOLDS)[1], np.empty((len(rows), loss.n_outputs))
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
        out_of_fold[outside] = scores.reshape(len(outside), loss.n_outputs)
    return out_of_fold


def anneal_cheap(judge: Judge, trees: AdaptTrees, score: Callable[..., float] | None) -> AnnealedPath:
    """Anneal trees from prices at which nothing is bought to almost none, measured on the held-out rows."""
    data, rows = judge.data, judge.rows
    return anneal(
        evolve(data, valid=judge.held),
        loss_for(data.n_classes),
        [Start(tree_grower(rows, judge.binned, trees), [cheap_prices(trees, data.prices, rows, 1.0)])],
        Annealing.of(trees.n_estimators, score),
        step=trees.learning_rate,
        n_threads=trees.n_threads,
    )
