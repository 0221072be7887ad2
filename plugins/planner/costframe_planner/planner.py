"""The algorithm: sets of features, a model on each, regressions of later gains, and the plans that rows follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial

import numpy as np
from attrs import evolve, field, frozen

from costframe.plugin import (
    B1,
    F8,
    I8,
    Answer,
    CostframeError,
    DataError,
    Rows,
    TreeTable,
    run_parallel,
    standard_error,
)
from costframe.sets import SetArchive, SetPrices, choose_alternatives, choose_by_score, choose_parts, choose_spread
from costframe.trees import (
    BinMapper,
    BinnedData,
    BoostedFolds,
    ManyFolds,
    Predictions,
    Scorer,
    TreeSettings,
    boost_folds,
    regress_many,
)
from costframe_planner.problem import COARSE, Base, Problem

_SIZES = (1_000, (4, 8)), (5_000, (8, 16)), (np.inf, (16, 64))  # largest number of rows, numbers of leaves to try
_ROWS_TO_TRY = 12_000
_STEP, _LONG_STEP = 0.08, 0.2
_SMALL = 5_000, 500  # largest numbers of rows and features for short steps; rankings always have these
_PATIENCE = 20
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


def choose_trees(problem: Problem) -> TreeSettings:
    """Choose the size of trees by the out-of-fold loss of a model on all features and a sample of rows."""
    settings, n, d = problem.settings, problem.n_rows, problem.data.bins.shape[1]
    short = problem.rows.qid is not None or (n <= _SMALL[0] and d <= _SMALL[1])
    step = settings.learning_rate or (_STEP if short else _LONG_STEP)
    sizes = next(sizes for most, sizes in _SIZES if n <= most)
    sizes_tried = [problem.trees(size, step, settings.trees.n_estimators, _PATIENCE) for size in sizes]
    if settings.max_leaves is not None:
        return evolve(sizes_tried[0], max_leaves=settings.max_leaves)
    data, rows, fold, *_ = problem.sample(_ROWS_TO_TRY)
    judged = np.unique(fold)[: 2 if len(rows) > 2_000 else None].tolist()

    def loss(trees: TreeSettings) -> float:
        return boost_folds(data, rows, problem.loss, fold, trees, judged=judged).loss

    losses = run_parallel(loss, sizes_tried, problem.n_threads)
    return sizes_tried[int(np.argmin(losses))]


def _trees_for(trees: TreeSettings, n_features: int) -> TreeSettings:
    """Return settings with smaller trees and steps for few features."""
    most, step = _LEAVES_PER_FEATURE * n_features, trees.learning_rate
    leaves = most if trees.max_leaves is None else min(trees.max_leaves, most)
    return evolve(
        trees, max_leaves=max(leaves, 2), learning_rate=min(step, _SMALL_STEP) if n_features <= _FEW else step
    )


def _boost_calmly(problem: Problem, data: BinnedData, trees: TreeSettings) -> BoostedFolds:
    """Boost from a constant, from linear scores, and with tiny trees if few rounds pay; keep the least held-out loss.

    Weak signals in few rows are lost in larger trees.
    """

    def boost(settings: TreeSettings, *, linear: bool) -> BoostedFolds:
        return boost_folds(data, problem.rows, problem.loss, problem.fold, settings, linear=linear)

    best = boost(trees, linear=False)
    enough = problem.n_rows >= max(_FEWEST_ROWS, 2 * trees.min_samples_leaf)
    if not enough or problem.n_rows > CALM_ROWS or not data.splittable.any():
        return best
    linear = (other := boost(trees, linear=True)).loss < best.loss
    best = other if linear else best
    if best.n_rounds < _CALM_ROUNDS and (trees.max_leaves or np.inf) > _CALM_LEAVES:
        other = boost(evolve(trees, max_leaves=_CALM_LEAVES), linear=linear)
        best = other if other.loss < best.loss else best
    return best


def _train_copies(problem: Problem, base: Base, columns: I8) -> SetModel:
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
    return SetModel(tuple(columns.tolist()), base.fit(rows, columns), answer, scores, losses)


def train_models(
    problem: Problem, sets: Sequence[frozenset[int]], selectors: Sequence[frozenset[int]] = ()
) -> list[SetModel]:
    """Train the model of each set, on all rows and without each fold: boosted trees, or copies of the base model.

    Sets with a selector read it even if their trees do not: it tells what to buy next.
    """
    base, price = problem.base, problem.prices.added_prices(())
    chosen = choose_trees(problem) if base is None else problem.trees(2, 1.0, 0, None)

    def train(features: frozenset[int]) -> SetModel:
        columns = np.array(sorted(features), np.int64)
        varied = columns[problem.data.splittable[columns]]
        if base is not None and len(varied):
            return _train_copies(problem, base, varied)
        columns = columns[np.argsort(price[columns], kind="stable")]  # of equal splits, the first column's is made
        data = (problem.data if len(columns) <= _MANY else problem.coarse).take_columns(columns)
        fitted = _boost_calmly(problem, data, _trees_for(chosen, len(columns)))
        trees, answer = fitted.whole(columns)
        read = np.setdiff1d(trees.feature, [-1]).tolist()
        if problem.stakes is not None and base is None:
            read = sorted({*read, *problem.stakes.columns})
        read = sorted({*read, *(f for each in selectors if each <= features for f in each)})
        return SetModel(tuple(read), trees, answer, fitted.scores, problem.losses(fitted.scores))

    largest_first = sorted(range(len(sets)), key=lambda place: -len(sets[place]))
    made = run_parallel(lambda place: train(sets[place]), largest_first, problem.n_threads)
    return [made[largest_first.index(place)] for place in range(len(sets))]


@frozen(eq=False, slots=False)
class Routes:
    """Prices of the ways between stops."""

    prices: SetPrices
    sets: tuple[frozenset[int], ...]  # features of each stop
    _steps: dict[int, F8] = field(factory=dict, init=False, repr=False)

    @cached_property
    def _members(self) -> B1:
        """Features of each stop: bool (m, d)."""
        members = np.zeros((len(self.sets), len(self.prices.cost)), np.bool_)
        for own, features in zip(members, self.sets, strict=True):
            own[list(features)] = True
        return members

    def _bought(self, visited: I8) -> B1:
        """Return the features bought by rows that visited these stops, one bit each: bool (v, d)."""
        return (visited[:, np.newaxis] >> np.arange(len(self.sets)) & 1).astype(np.bool_) @ self._members

    def steps(self, visited: I8) -> F8:
        """Return the further price of each stop for rows that visited these stops: float64 (v, m)."""
        fresh = np.array([each for each in visited.tolist() if each not in self._steps], np.int64)
        if len(fresh):
            have = self._bought(fresh)
            either = (have[:, np.newaxis] | self._members).reshape(-1, have.shape[1])
            further = self.prices.of_sets(either).reshape(len(fresh), -1) - self.prices.of_sets(have)[:, np.newaxis]
            self._steps.update(zip(fresh.tolist(), further, strict=True))
        return np.stack([self._steps[each] for each in visited.tolist()])

    def worth(self, visited: I8, tradeoff: float) -> F8:
        """Return the further price of each stop times the tradeoff, in units of loss: float64 (v, m)."""
        with np.errstate(over="ignore"):  # rows never choose an infinite price
            return tradeoff * self.steps(visited)

    def cost(self, visited: I8) -> F8:
        """Return the price that each row has paid: float64 (n,)."""
        every, place = np.unique(visited, return_inverse=True)
        return self.prices.of_sets(self._bought(every))[place]


def follow(routes: Routes, gains: Sequence[F8], tradeoff: float) -> tuple[I8, I8]:
    """Send rows from stop to stop, each time to the j with the least gains_kj + tradeoff * price.

    Parameters
    ----------
    routes : Routes
    gains : sequence of float64 (n, m - 1 - k)
        For each stop k except the last: expected loss at each later stop minus that at k.
    tradeoff : float

    Returns
    -------
    int64 (n,), int64 (n,)
        Stop that answers each row, and the stops it visited, one bit each.
    """
    m, n = len(routes.sets), len(gains[0]) if gains else 0
    at, visited = np.zeros(n, np.int64), np.ones(n, np.int64)
    for k in range(m - 1):
        if not len(here := np.flatnonzero(at == k)):
            continue
        every, place = np.unique(visited[here], return_inverse=True)
        values = gains[k][here] + routes.worth(every, tradeoff)[place, k + 1 :]
        best = values.argmin(axis=1)
        go = values[np.arange(len(here)), best] < 0
        at[here[go]] = k + 1 + best[go]
        visited[here[go]] |= np.int64(1) << (k + 1 + best[go])
    return at, visited


_QUICK_ROWS = 8_000
_FEW_ROWS = 2_000
_FOR_FEW, _FOR_MANY = (8, 0.2, 40), (16, 0.28, 28)  # leaves, step and rounds of quick fits, for few rows and for many
# Where all rounds lose so much of the gain of all features to noise, cheap sets would seem to gain nothing: quick fits
# stop at their best round, with this patience
_LOST_TO_NOISE, _QUICK_PATIENCE = 1 / 8, 10
_FOR_BILLS = 4, 0.1, 40  # quick fits on few rows, where the search is by bill and without patience
_MOST_STOPS = 45  # of those for parts and of the front
_BITS = 63  # most stops of all kinds, which have a bit each
_BILLS = 12  # sets of least bill, each with a model
_BY_SCORE = 6  # most sets of better scores, each with a point
_GAIN_TREES = TreeSettings(max_leaves=8, l2_regularization=5.0)  # of regressions of gains
_STEPS = (5_000, 0.08, 60), (np.inf, 0.15, 30)  # largest number of rows, step, rounds
_TIERS = 4  # prices of features, up to which each has a model of all that costs no more
_PARTS = 3  # of the rows, to cross-fit regressions
_SHARE, _FEWEST = 300, 20  # a leaf has at least n / _SHARE and at least _FEWEST rows
_JUDGED = 3  # held-out folds of quick fits on few rows; one fold for many rows


@frozen(eq=False)
class Trained:
    """All trained models; only the choice of sets depends on prices."""

    models: list[SetModel]  # models of the stops, by ascending cost
    seen: list[BinnedData]  # data known at each stop
    gains: list[ManyFolds]  # regressions of each stop except the last
    routes: Routes
    parted: bool = False  # whether some sets are for parts of the rows
    singles: list[SetModel] = field(factory=list)  # further models that answer all rows, and are no stops
    _induced: dict[float, list[ManyFolds]] = field(factory=dict, init=False, repr=False)

    @property
    def all_models(self) -> list[SetModel]:
        """The models of the stops, and the further ones."""
        return [*self.models, *self.singles]

    def induced(self, problem: Problem, tradeoff: float) -> list[ManyFolds]:
        """Return the regressions of backward induction at a tradeoff; see `induce`."""
        if tradeoff not in self._induced:
            self._induced[tradeoff] = induce(problem, self, tradeoff)
        return self._induced[tradeoff]


def train_planner(problem: Problem, progress: Callable[[float], None], scorer: Scorer | None = None) -> Trained:
    """Train a planner: choose sets from the front of cost and loss, train a model on each, then regress gains.

    With l_k(i) the out-of-fold loss of row i under the model of set k, the gain D_kj regresses l_j(i) - l_k(i) on the
    features of set k and the model's scores.
    """
    scorer = None if problem.stakes is not None else scorer  # bills are the scores there
    archive = search_sets(problem, progress, scorer)
    n_sets = problem.settings.n_sets
    selectors, parts = choose_parts(archive, min(3 * n_sets // 2, _MOST_STOPS - n_sets))
    others = parts or choose_alternatives(archive, n_sets // 2)
    chosen = [*choose_spread(archive, n_sets), *others, archive.free, *problem.prices.tiers(_TIERS)]
    if problem.stakes is not None:
        chosen += archive.search_bills(_BILLS)
    if problem.n_rows <= CALM_ROWS:
        chosen += [each | archive.free for each in chosen if each]
    chosen = sorted(dict.fromkeys(chosen), key=lambda each: each != archive.free)[:_BITS]
    further = list[frozenset[int]]()
    if scorer is not None:
        further = choose_by_score(archive, chosen, _BY_SCORE, partial(_is_better, cache(archive.held_out), scorer))
    trained = train_models(problem, [*chosen, *further], selectors)
    models, singles = _keep_distinct(problem, trained[: len(chosen)], archive.free), trained[len(chosen) :]
    progress(0.8)
    seen = [_known_at(problem, model) for model in models]
    stops = range(len(models) - 1)
    gains = run_parallel(lambda k: regress_gains(problem, models, k, seen[k]), stops, problem.n_threads)
    routes = Routes(problem.prices, tuple(frozenset(model.features) for model in models))
    return Trained(models, seen, gains, routes, bool(parts), singles)


def train_plain(problem: Problem) -> tuple[SetModel, SetModel]:
    """Train the constant and the model on all features, for tradeoff 0."""
    nothing, everything = train_models(problem, [frozenset(), frozenset(range(len(problem.prices.cost)))])
    return nothing, everything


def search_sets(problem: Problem, progress: Callable[[float], None], scorer: Scorer | None) -> SetArchive:
    """Search sets of features by quick fits on a sample of the rows."""
    data, rows, fold, half, stakes = problem.sample(_QUICK_ROWS)
    few, folds = len(rows) <= _FEW_ROWS, np.unique(fold).tolist()
    judged = folds[: _JUDGED if few else 1]
    shape = _FOR_FEW if problem.n_rows <= _FEW_ROWS else _FOR_MANY
    if stakes is not None and few:
        shape, judged = _FOR_BILLS, folds  # bills of few rows are noisy

    def loss(n_rounds: int, patience: int | None) -> float:
        """Return the loss of a quick fit on all features."""
        trees = problem.trees(*shape[:2], n_rounds, patience)
        return boost_folds(data, rows, problem.loss, fold, trees, judged=judged).loss

    def is_noisy() -> bool:
        nothing, best, every = loss(0, None), loss(shape[2], shape[2]), loss(shape[2], None)
        return every - best > _LOST_TO_NOISE * (nothing - best)

    at = np.flatnonzero(np.isin(fold, judged))
    archive = SetArchive(
        data,
        rows,
        problem.loss,
        fold,
        half,
        tuple(judged),
        problem.prices,
        problem.trees(*shape, _QUICK_PATIENCE if stakes is None and is_noisy() else None),
        problem.n_threads,
        None if stakes is None else stakes.take(at).losses,
        None if scorer is None else partial(_score_held_out, problem, rows.take(at), scorer),
    )
    archive.search(problem.settings.max_tries, lambda share: progress(0.4 * share))
    return archive


def _score_held_out(problem: Problem, rows: Rows, scorer: Scorer, scores: F8) -> float:
    """Return the score of some rows, given their out-of-fold scores (n, K); NaN where they lack a class, say."""
    try:
        return scorer(problem.held_out(rows, scores))
    except CostframeError:
        return np.nan


def _is_better(
    held_out: Callable[[frozenset[int]], Predictions], scorer: Scorer, new: frozenset[int], old: frozenset[int]
) -> bool:
    """Return whether one set's score is better than another's by more than the standard error, over all folds."""
    one, other = held_out(new), held_out(old)
    return scorer(one) - scorer(other) > standard_error(scorer.influence(one) - scorer.influence(other))


def regress_gains(problem: Problem, models: list[SetModel], k: int, seen: BinnedData) -> ManyFolds:
    """Regress the gains of each later set at stop k."""
    here = models[k].losses
    targets = np.stack([model.losses - here for model in models[k + 1 :]], axis=1)
    return regress(problem, seen, targets)


def induce(problem: Problem, trained: Trained, tradeoff: float) -> list[ManyFolds]:
    """Plan by backward induction at one tradeoff: regress, from the last stop to the first, the values of later stops.

    V_k(i) is the loss and price of row i from stop k on, under out-of-fold regressions: l_k(i) if it stays, else
    tradeoff * price(k -> j) + V_j(i) for the j with the least Q_kj(i) + tradeoff * price(k -> j) < 0, where Q_kj
    regresses V_j - l_k.
    """
    models, routes = trained.models, trained.routes
    found: list[ManyFolds] = []
    values = [model.losses for model in models]
    for k in range(len(models) - 2, -1, -1):
        here = models[k].losses
        targets = np.stack([values[j] - here for j in range(k + 1, len(models))], axis=1)
        found.append(regress(problem, trained.seen[k], targets, n_threads=problem.n_threads))
        price = routes.worth(np.array([1 << k]), tradeoff)[0, k + 1 :]
        asked = found[-1].predictions + price
        if trained.parted and k == 0 and (asked >= 0).all():
            found[-1] = _set_out(found[-1], asked)
            asked = found[-1].predictions + price
        best, rows = asked.argmin(axis=1), np.arange(len(here))
        onwards = here + targets[rows, best] + price[best]
        values[k] = np.where(asked[rows, best] < 0, onwards, here)
    return found[::-1]


def _set_out(regression: ManyFolds, asked: F8) -> ManyFolds:
    """Return the regression, lower by a constant, so that all rows buy something.

    The first features of a part gain more per price than the selector with one of them, so no plan of least loss and
    price alone buys few: these plans serve small budgets.
    """
    shift = 4 * np.max(asked, where=np.isfinite(asked), initial=1e-300)
    return evolve(regression, predictions=regression.predictions - shift, intercept=regression.intercept - shift)


def _known_at(problem: Problem, model: SetModel) -> BinnedData:
    """Return the data known at a set: the features that its model reads, and its scores."""
    features = problem.coarse.take_columns(np.array(model.features, np.int64))
    mapper = BinMapper.fit(model.scores, max_bins=COARSE, sample_weight=problem.rows.weight)
    return features.append_columns(mapper.transform(model.scores))


def regress(problem: Problem, seen: BinnedData, targets: F8, *, n_threads: int = 1) -> ManyFolds:
    """Regress targets, float64 (n, T), on the data known at a set, cross-fitted, and shrunk as far as it generalizes.

    The slope of each target on its predictions out of fold, from 0 to 1, multiplies these: rows that follow an
    overconfident regression buy what is not worth its price.
    """
    fewest = max(_FEWEST, problem.n_rows // _SHARE)
    step, n_rounds = next((step, count) for most, step, count in _STEPS if problem.n_rows <= most)
    settings = evolve(_GAIN_TREES, min_samples_leaf=fewest, learning_rate=step, n_estimators=n_rounds)
    parts, rows = problem.fold % _PARTS, problem.rows
    found = regress_many(seen, rows, targets, parts, settings, n_threads=n_threads)
    each = zip(*map(np.ascontiguousarray, (found.predictions.T, targets.T)), found.intercept, strict=True)
    return found.shrunk(np.array([_slope(rows, *one) for one in each]))


def _slope(rows: Rows, predicted: F8, target: F8, mean: float) -> float:
    """Return the slope of a regression of targets, with their mean, on predictions, clipped to [0, 1]."""
    moved = predicted - rows.mean(predicted)
    unit = np.abs(moved).max(initial=0.0)  # squares of huge losses overflow
    if unit == 0:
        return 1.0
    moved = moved / unit
    truth = (target - mean) / unit
    return float(np.clip(rows.mean(moved * truth) / rows.mean(moved * moved), 0.0, 1.0))


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
