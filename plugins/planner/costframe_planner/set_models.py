"""The model of each set of features: boosted trees, or copies of a base model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from attrs import evolve, frozen

from costframe import Answer
from costframe.adoption import GivenBase
from costframe.plugin import F8, I8, DataError, TreeTable, run_parallel
from costframe.trees import BinnedData, BoostedFolds, TreeSettings
from costframe_planner.problem import Problem

_SIZES = (1_000, (4, 8)), (5_000, (8, 16)), (np.inf, (16, 64))  # largest number of rows, numbers of leaves to try
_ROWS_TO_TRY = 12_000
_STEP, _LONG_STEP = 0.08, 0.2
_SMALL = 5_000, 500  # largest numbers of rows and features for short steps; rankings always have these
_PATIENCE = 1.6, 8, 20  # rounds without a gain times the step, and their least and largest number
_LEAVES_PER_FEATURE, _FEW, _SMALL_STEP = 8, 4, 0.1
_MANY = 150  # models of more features use fewer bins
CALM_ROWS = 10_000  # up to here trees may begin at linear scores, and sets are tried with all free features too
_FEWEST_ROWS = 100
_CALM_ROUNDS, _CALM_LEAVES = 60, 3  # fewer rounds ask for smaller trees


@frozen(eq=False)
class SetModel:
    """The model of a set."""

    features: tuple[int, ...]  # features that it reads, ascending
    # trees over all columns, or a function of rows of `features` that returns scores; trained on all rows
    learners: TreeTable | Callable[[F8], F8]
    answer: Answer  # their sum, if they are the first learners of a bank
    scores: F8  # (n, K): out-of-fold scores
    losses: F8  # (n,): losses of these
    realised: F8  # (n,): the same without expectations; see `Problem.realised`
    nested: F8  # (n,): the same of scores whose rounds and size of trees were chosen without a row's own fold


def choose_trees(problem: Problem) -> TreeSettings:
    """Choose the size of trees by the out-of-fold loss of a model on all features and a sample of rows.

    Copies of a base model grow none.
    """
    if problem.base is not None:
        return problem.trees(2, 1.0, 0, None)
    settings, n, d = problem.settings, problem.n_rows, problem.data.bins.shape[1]
    short = problem.rows.qid is not None or (n <= _SMALL[0] and d <= _SMALL[1])
    step = settings.learning_rate or (_STEP if short else _LONG_STEP)
    sizes = next(sizes for most, sizes in _SIZES if n <= most)
    sizes_tried = [problem.trees(size, step, settings.trees.n_estimators, _patience(step)) for size in sizes]
    if settings.max_leaves is not None:
        return evolve(sizes_tried[0], max_leaves=settings.max_leaves)
    data, rows, fold, *_ = problem.sample(_ROWS_TO_TRY)
    judged = np.unique(fold)[: 2 if len(rows) > 2_000 else None].tolist()

    def loss(trees: TreeSettings) -> float:
        return BoostedFolds.fit(data, rows, problem.loss, fold, trees, judged=judged).loss

    losses = run_parallel(loss, sizes_tried, problem.n_threads)
    return sizes_tried[int(np.argmin(losses))]


def _trees_for(trees: TreeSettings, n_features: int) -> TreeSettings:
    """Return settings with smaller trees and steps for few features."""
    most, step = _LEAVES_PER_FEATURE * n_features, trees.learning_rate
    leaves = most if trees.max_leaves is None else min(trees.max_leaves, most)
    trees = evolve(trees, max_leaves=max(leaves, 2))
    if n_features > _FEW or step <= _SMALL_STEP or not trees.n_estimators:
        return trees
    return evolve(trees, learning_rate=_SMALL_STEP, n_iter_no_change=_patience(_SMALL_STEP))


def _patience(step: float) -> int:
    """Return after how many rounds without a gain boosting ends: large steps need fewer."""
    product, fewest, most = _PATIENCE
    return round(min(max(product / step, fewest), most))  # the quotient may be infinite


def _boost_calmly(problem: Problem, data: BinnedData, trees: TreeSettings) -> tuple[BoostedFolds, list[BoostedFolds]]:
    """Boost from a constant, from linear scores, and with tiny trees if few rounds pay.

    Return the one of least held-out loss, and all. Weak signals in few rows are lost in larger trees.
    """
    race = partial(BoostedFolds.race, data, problem.rows, problem.loss, problem.fold)
    enough = problem.n_rows >= max(_FEWEST_ROWS, 2 * trees.min_samples_leaf)
    calm = enough and problem.n_rows <= CALM_ROWS and data.splittable.any()
    tried = race([(trees, False), (trees, True)] if calm else [(trees, False)])
    best = min(tried, key=lambda fitted: fitted.loss)
    if calm and best.n_rounds < _CALM_ROUNDS and (trees.max_leaves or np.inf) > _CALM_LEAVES:
        tried += race([(evolve(trees, max_leaves=_CALM_LEAVES), best is tried[1])], beat=best.loss)
        best = min(best, tried[-1], key=lambda fitted: fitted.loss)
    return best, tried


def _nested_scores(problem: Problem, tried: Sequence[BoostedFolds]) -> F8:
    """Return out-of-fold scores (n, K) by the fits and rounds that other folds choose."""
    nested, scores = [fitted.nested for fitted in tried if fitted.nested is not None], tried[0].scores.copy()
    if nested:
        for place, number in enumerate(np.unique(problem.fold).tolist()):
            best, outside = min(nested, key=lambda one: one.least[place]), problem.fold == number
            scores[outside] = best.scores[outside]
    return scores


def _train_copies(problem: Problem, base: GivenBase, columns: I8) -> SetModel:
    """Train copies of the base model on a set's columns: one on all rows, and one without each fold."""
    rows, fold, n_outputs = problem.rows, problem.fold, problem.loss.n_outputs
    scores = np.empty((len(rows), n_outputs))
    for number in np.unique(fold).tolist():
        out = fold == number
        scores[out] = base.fit(rows.take(~out), columns)(rows.X[np.ix_(out, columns)]).reshape(-1, n_outputs)
    answer = Answer(np.arange(1), np.eye(n_outputs), np.zeros(n_outputs), problem.loss.link)
    with np.errstate(over="ignore"):
        losses = problem.losses(scores)
    if not np.isfinite(losses).all():
        raise DataError(
            f"base: {type(base.model).__name__}: expected predictions that have a square, got {np.abs(scores).max():g}"
        )
    realised = problem.realised(scores)
    return SetModel(tuple(columns.tolist()), base.fit(rows, columns), answer, scores, losses, realised, realised)


def train_models(
    problem: Problem,
    trees: TreeSettings,
    sets: Sequence[frozenset[int]],
    selectors: Sequence[frozenset[int]] = (),
) -> list[SetModel]:
    """Train the model of each set, on all rows and without each fold: boosted trees, or copies of the base model.

    `trees` are those of a model on all features. Sets with a selector read it even if their trees do not: it tells what
    to buy next.
    """
    base, price = problem.base, problem.prices.added_prices(())

    def train(features: frozenset[int]) -> SetModel:
        columns = np.array(sorted(features), np.int64)
        varied = columns[problem.data.splittable[columns]]
        if base is not None and len(varied):
            return _train_copies(problem, base, varied)
        columns = columns[np.argsort(price[columns], kind="stable")]  # of equal splits, the first column's is made
        data = (problem.data if len(columns) <= _MANY else problem.coarse).take_columns(columns)
        fitted, tried = _boost_calmly(problem, data, _trees_for(trees, len(columns)))
        nested = problem.realised(_nested_scores(problem, tried))
        learners, answer = fitted.whole(columns)
        read = np.setdiff1d(learners.feature, [-1]).tolist()
        if problem.stakes is not None and base is None:
            read = sorted({*read, *problem.stakes.columns})
        read = sorted({*read, *(f for selector in selectors if selector <= features for f in selector)})
        scores = fitted.scores
        return SetModel(tuple(read), learners, answer, scores, problem.losses(scores), problem.realised(scores), nested)

    largest_first = sorted(range(len(sets)), key=lambda place: -len(sets[place]))
    made = run_parallel(lambda place: train(sets[place]), largest_first, problem.n_threads)
    return [made[largest_first.index(place)] for place in range(len(sets))]
