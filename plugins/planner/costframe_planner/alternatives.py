"""Further sets of an archive: of better scores, and alternatives that are each better for some rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
from attrs import evolve

from costframe.plugin import F8, run_parallel
from costframe.sets import FeatureSet, SetArchive
from costframe.trees import ManyFolds, TreeSettings

_NEAR = 0.35  # largest loss of a candidate above the front at its cost, as a share of the possible gain
_DEAREST = 0.8  # largest cost of a candidate, as a share of the full cost
_CANDIDATES = 14
_LEAST = 0.03  # least gain of a pair, as a share of the possible gain; it must also exceed _ERRORS standard errors
_ERRORS = 3.0
_DECIDING, _FURTHER = 2, 8  # shared sets to try with further features, and the number of these
_MANY = 40
_FEW_TREES = TreeSettings(max_leaves=8, learning_rate=0.2, l2_regularization=5.0, n_estimators=20)
_SCORE_STEP = 0.01  # least gain of a set chosen by score, as a share of the possible gain
_FREQUENTED = 0.1  # least share of rows that go to a set at some tradeoff


def choose_by_score(
    archive: SetArchive,
    chosen: Iterable[frozenset[int]],
    most: int,
    is_better: Callable[[frozenset[int], frozenset[int]], bool],
) -> list[frozenset[int]]:
    """Choose at most `most` sets with a surely better score than all chosen ones that cost no more.

    The set of least loss at a price is often not that of the best score. `is_better` tells whether the first set's
    score surely is better than the second one's.
    """
    known, steps = set(chosen), []
    by_cost = sorted(
        archive.found.values(),
        key=lambda candidate: (candidate.cost, candidate.features not in known, -candidate.score),
    )
    best = archive.found[frozenset()]
    least = _SCORE_STEP * (max(candidate.score for candidate in by_cost) - best.score)
    for candidate in by_cost:
        if candidate.features not in known and candidate.score > best.score + least:
            steps.append((candidate.score - best.score, candidate.features, best.features))
        if candidate.score > best.score + (0.0 if candidate.features in known else least):
            best = candidate
    steps = sorted(steps, key=lambda step: -step[0])[:most]
    return [new for _, new, old in steps if is_better(new, old)]


def choose_alternatives(archive: SetArchive, most: int) -> list[frozenset[int]]:
    """Choose at most `most` sets, each better for some rows, and their shared features, which choose between them.

    Two sets form a pair if a cross-fitted regression of the difference of their losses on their shared features sends
    rows to one or the other with a lower loss than either set alone.
    """
    if not archive.prices.full > 0:
        return []
    deciding = list(dict.fromkeys(a.features & b.features for a, b in _pairs(archive)))[:_DECIDING]
    archive.try_each_with(deciding, _FURTHER)  # features that choose between two sets may choose between many
    pairs: list[frozenset[int]] = []
    for shared in deciding:
        wanted = [features for features in [shared, *_sets_in_use(archive, shared)] if features not in pairs]
        pairs += wanted[: max(most - len(pairs), 0)]
    return pairs


def _sets_in_use(archive: SetArchive, shared: frozenset[int]) -> list[frozenset[int]]:
    """List the sets that rows choose, given the features that all sets share, the cheapest first.

    Rows choose the least expected loss + tradeoff * price, at a few tradeoffs; it leaves out sets that few rows choose.
    """
    front = archive.front()
    spread, full = front[0].loss - front[-1].loss, archive.prices.full
    more = [
        candidate
        for candidate in archive.found.values()
        if shared < candidate.features and candidate.loss < front[0].loss
    ]
    sets = sorted(more, key=lambda candidate: (candidate.cost, candidate.loss))[:_MANY]
    losses = np.stack([candidate.losses for candidate in sets], axis=1)
    expected, weight = _cross_fit(archive, shared, losses), archive.rows.weight[archive.judged_rows]
    price = (np.array([candidate.cost for candidate in sets]) - archive.prices.of_set(shared)) / full
    share = np.zeros(len(sets))
    for tradeoff in np.geomspace(0.03, 3.0, 8) * spread:
        best = (expected + tradeoff * price).argmin(axis=1)
        share = np.maximum(share, np.bincount(best, weight, len(sets)) / weight.sum())
    order = np.argsort(price - 1e-9 * share, kind="stable")
    return [sets[place].features for place in order.tolist() if share[place] > _FREQUENTED]


def _pairs(archive: SetArchive) -> list[tuple[FeatureSet, FeatureSet]]:
    """List the pairs of sets with a gain, by gain per cost."""
    front = archive.front()
    spread = front[0].loss - front[-1].loss
    pairs = [
        (a, b)
        for a, b in combinations(_candidates(archive, front, spread), 2)
        if a.features & b.features and a.features - b.features and b.features - a.features
    ]
    gained = run_parallel(lambda pair: _pair_gain(archive, *pair), pairs, archive.n_threads)
    full = archive.prices.full
    worth = [
        (gain / (max(a.cost, b.cost) / full), a, b)
        for gain, (a, b) in zip(gained, pairs, strict=True)
        if gain > _LEAST * spread
    ]
    return [(a, b) for _, a, b in sorted(worth, key=lambda entry: -entry[0])]


def _candidates(archive: SetArchive, front: list[FeatureSet], spread: float) -> list[FeatureSet]:
    """List the sets with a loss close to that of the front at their cost, the best first."""
    costs, losses = np.array([candidate.cost for candidate in front]), [candidate.loss for candidate in front]
    near = []
    for candidate in archive.found.values():
        if 0 < candidate.cost <= _DEAREST * archive.prices.full and candidate.loss < front[0].loss - _LEAST * spread:
            more = candidate.loss - losses[int(np.searchsorted(costs, candidate.cost, side="right")) - 1]
            if more <= _NEAR * spread:
                near.append((more, candidate.cost, sorted(candidate.features), candidate))
    return [candidate for *_, candidate in sorted(near, key=lambda entry: entry[:3])[:_CANDIDATES]]


def _pair_gain(archive: SetArchive, a: FeatureSet, b: FeatureSet) -> float:
    """Return the gain of choosing between two sets over the better one; 0 if it may be chance."""
    difference = b.losses - a.losses
    expected = _cross_fit(archive, a.features & b.features, difference[:, np.newaxis])[:, 0]
    rows = archive.rows.take(archive.judged_rows)
    taken = np.where(expected < 0, b.losses, a.losses)
    saved = (b.losses if b.loss < a.loss else a.losses) - taken
    weight = rows.weight / rows.weight.sum()
    gained = float(weight @ saved)
    error = float(np.sqrt(weight @ (saved - gained) ** 2 / rows.repeats.sum()))
    return gained if gained > _ERRORS * error else 0.0


def _cross_fit(archive: SetArchive, features: frozenset[int], targets: F8) -> F8:
    """Regress targets, float64 (judged rows, T), on features, cross-fitted on halves; return predictions."""
    chosen = archive.judged_rows
    data = archive.data.take_columns(np.array(sorted(features), np.int64)).take_rows(chosen)
    rows = archive.rows.take(chosen)
    settings = evolve(_FEW_TREES, min_samples_leaf=max(5, int(rows.repeats.sum()) // 100))
    return ManyFolds.fit(data, rows, targets, archive.half[chosen], settings, whole=False).predictions
