"""The algorithm: sets of features, a model on each, regressions of later gains, and the plans that rows follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from costframe.plugin import TrainingData, run_parallel
from costframe.trees import HeldOutPredictions, Scorer
from costframe_planner.alternatives import choose_alternatives, choose_by_score
from costframe_planner.between import train_between
from costframe_planner.gains import known_at, regress_gains
from costframe_planner.parts import choose_parts
from costframe_planner.problem import Problem
from costframe_planner.routes import Routes
from costframe_planner.search import search_sets
from costframe_planner.set_models import CALM_ROWS, SetModel, choose_trees, train_models
from costframe_planner.spare import SpareOfFit
from costframe_planner.trained import Trained

_MOST_STOPS = 45  # of those for parts and of the front
_BITS = 63  # most stops of all kinds, which have a bit each
_BILLS = 12  # sets of least bill, each with a model
_BY_SCORE = 6  # most sets of better scores, each with a point
_BETWEEN = 3  # sets of the front for each further one between them
_TIERS = 4  # prices of features, up to which each has a model of all that costs no more


def train_planner(
    problem: Problem, data: TrainingData, progress: Callable[[float], None], scorer: Scorer | None = None
) -> Trained:
    """Train a planner: choose sets from the front of cost and loss, train a model on each, then regress gains.

    With l_k(i) the out-of-fold loss of row i under the model of set k, the gain D_kj regresses l_j(i) - l_k(i) on the
    features of set k and the model's scores.
    """
    scorer = None if problem.stakes is not None else scorer  # bills are the scores there
    archive = search_sets(problem, progress, scorer)
    n_sets = problem.settings.n_sets
    selectors, parts = choose_parts(archive, min(3 * n_sets // 2, _MOST_STOPS - n_sets))
    others = parts or choose_alternatives(archive, n_sets // 2)
    chosen = [*archive.spread(n_sets), *others, archive.free, *problem.prices.tiers(_TIERS)]
    if problem.stakes is not None:
        chosen += archive.search_bills(_BILLS)
    if problem.n_rows <= CALM_ROWS:
        chosen += [features | archive.free for features in chosen if features]
    chosen = sorted(dict.fromkeys(chosen), key=lambda features: features != archive.free)[:_BITS]
    further = list[frozenset[int]]()
    if scorer is not None:
        further = choose_by_score(archive, chosen, _BY_SCORE, partial(_is_better, cache(archive.held_out), scorer))
    train = partial(train_models, problem, choose_trees(problem))
    trained = train([*chosen, *further], selectors)
    stops, singles = trained[: len(chosen)], trained[len(chosen) :]
    stops += train_between(problem, archive, stops, min(n_sets // _BETWEEN, _BITS - len(stops)), train)
    models = _keep_distinct(problem, stops, archive.free)
    progress(0.8)
    seen = [known_at(problem, model) for model in models]
    before_last = range(len(models) - 1)
    gains = run_parallel(lambda k: regress_gains(problem, models, k, seen[k]), before_last, problem.n_threads)
    routes = Routes(problem.prices, tuple(frozenset(model.features) for model in models))
    spare = SpareOfFit.of(problem, data, routes.sets)
    return Trained(models, seen, gains, routes, spare, bool(parts), singles)


def train_plain(problem: Problem, data: TrainingData) -> tuple[SetModel, SetModel, SpareOfFit]:
    """Train the constant and the model on all features, and keep what the spare ensemble needs, for tradeoff 0."""
    sets = [frozenset[int](), frozenset(range(len(problem.prices.cost)))]
    nothing, everything = train_models(problem, choose_trees(problem), sets)
    return nothing, everything, SpareOfFit.of(problem, data)


def _is_better(
    held_out: Callable[[frozenset[int]], HeldOutPredictions], scorer: Scorer, new: frozenset[int], old: frozenset[int]
) -> bool:
    """Return whether one set's score is better than another's by more than the standard error, over all folds."""
    one, other = held_out(new), held_out(old)
    return scorer(one) - scorer(other) > Scorer.standard_error(scorer.influence(one) - scorer.influence(other))


def _keep_distinct(problem: Problem, models: list[SetModel], free: frozenset[int]) -> list[SetModel]:
    """Sort models by the price of the features they read, and keep the best one for each set of priced features.

    The first reads no features but those whose values are prices of errors.
    """
    price, loss = problem.prices.of_set, [problem.rows.mean(model.losses) for model in models]
    order = sorted(range(len(models)), key=lambda k: (price(models[k].features), -loss[k], models[k].features))
    sure = min((models[k].features for k in order), key=len)
    nothing = next(k for k in order if models[k].features == sure)
    by_loss = sorted((k for k in order if models[k].features != sure), key=lambda k: -loss[k])
    best = {frozenset(models[k].features) - free: k for k in by_loss}
    return [models[nothing], *(models[k] for k in order if k in best.values())]
