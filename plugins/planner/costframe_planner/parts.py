"""Sets for parts of the rows: selectors are features whose values tell which other features help a row.

An action acquires a feature, or all features behind a resource. Sets on the front of mean losses miss an action that
helps few rows, however much it helps these.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from costframe.plugin import B1, F8, I8
from costframe.sets import SetArchive

Divided = tuple[frozenset[int], list[B1]]  # a selector, and parts
Splits = list[tuple[int, int, int]]  # leaf, column, and largest bin of the rows that stay; others are a new leaf

_ACTIONS, _COLUMNS = 64, 16  # most actions, and most columns of a selector
_LEAVES, _SHARE, _FEWEST = 8, 25, 20  # a leaf has at least n / _SHARE and at least _FEWEST rows
_SURE = 4.0  # standard errors of what a selector gains, before the correction for the number of candidates
_LEAST, _BESIDE = 0.03, 0.1  # least gains of a selector, as shares of the possible gain: alone, and beside itself
_ALIKE = 0.7  # share of a leaf's best gain
_CONFIRMED = 2  # candidates tried together with each action
_PROBE = 4, 5  # leaves and rounds of fits on single actions: larger ones learn noise
_FEWEST_ROWS, _FEW_ROWS = 200, 2_000
_FOR_FEW, _FOR_MANY = (4, 20), (8, 14)  # the same of fits for parts
_STEPS, _RANKED, _TRIED = 10, 12, 6  # actions of a part, candidates of all steps, and those tried at each
_FLOOR = 0.02  # share of the full cost added to prices that divide gains
_NOTHING = 1e-3  # least gain of a step, as a share of the loss without it


def choose_parts(archive: SetArchive, most: int) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """Choose selectors, and at most `most` sets: these, and sets for the parts of the rows with like values of them.

    A part may have a selector of its own. There are none if none is sure. It leaves the archive as it is.
    """
    possible = archive.constant - min(candidate.loss for candidate in archive.found.values())
    if not (archive.prices.full > 0 and possible > 0 and archive.rows.total_repeats >= _FEWEST_ROWS):
        return [], []
    actions = _actions(archive)
    selector = _find_selector(_begin(archive, *_PROBE), archive.free, actions, possible)
    if selector is None:
        return [], []
    leaves = _nest(archive, *selector, actions, possible)
    selectors = list(dict.fromkeys([selector[0], *(selector_of_leaf for selector_of_leaf, _ in leaves)]))
    if len(selectors) > 1:  # the largest parts
        leaves = sorted(leaves, key=lambda leaf: -archive.rows.weight[leaf[1]].sum())
        leaves = leaves[: max(1, (most - len(selectors)) // 2)]
    trial = _begin(archive, *(_FOR_FEW if archive.rows.total_repeats <= _FEW_ROWS else _FOR_MANY))
    trial.try_sets(selector | action for selector in selectors for action in [frozenset[int](), *actions])
    count, chosen = max(2, (most - len(selectors)) // len(leaves)), [*selectors]
    for selector_of_leaf, part in leaves:
        chain = _chain(trial, selector_of_leaf, actions, part)
        chosen += [
            chain[place] for place in np.linspace(min(1, len(chain) - 1), len(chain) - 1, count).round().astype(int)
        ]
    return selectors, list(dict.fromkeys(chosen))


def _nest(
    archive: SetArchive, selector: frozenset[int], parts: list[B1], actions: Sequence[frozenset[int]], possible: float
) -> list[tuple[frozenset[int], B1]]:
    """List parts with their selectors: those that share a further one are joined, and divided by both."""

    def divide(part: B1) -> Divided | None:
        inner = _begin(archive, *_PROBE, part)
        if inner.rows.total_repeats < _FEWEST_ROWS or len(inner.judged) < 2:
            return None
        return _find_selector(inner, selector, actions, possible, len(parts))

    leaves = []
    joined: dict[frozenset[int], list[tuple[B1, Divided]]] = {}
    for part in parts:
        if division := divide(part):
            joined.setdefault(division[0], []).append((part, division))
        else:
            leaves.append((selector, part))
    for alike in joined.values():
        whole, divided = alike[0]
        if len(alike) > 1:
            whole = np.logical_or.reduce([part for part, _ in alike])
            divided = divide(whole) or (selector, [whole[whole]])
        chosen_set, inside = divided
        for part_of_rows in inside:
            leaves.append((chosen_set, np.zeros_like(whole)))
            leaves[-1][1][whole] = part_of_rows
    return leaves


def _begin(archive: SetArchive, leaves: int, n_rounds: int, part: B1 | None = None) -> SetArchive:
    """Return an archive without sets, with other quick fits, judged on all rows, or of a part of them."""
    made = copy(archive)
    if part is not None:
        made.data, made.rows = archive.data.take_rows(np.flatnonzero(part)), archive.rows.take(part)
        made.fold, made.half = archive.fold[part], archive.half[part]
    made.found, made.error_costs, made.score, made.judged = {}, None, None, tuple(np.unique(made.fold).tolist())
    made.settings = evolve(archive.settings, max_leaves=leaves, n_estimators=n_rounds, n_iter_no_change=None)
    made.__dict__.pop("judged_rows", None)  # they are cached
    return made


def _actions(archive: SetArchive) -> list[frozenset[int]]:
    """List the actions of most gain per cost in the fit on all features, without what is free."""
    bundles, prices, single = archive.prices.bundles(), archive.prices, np.diagonal(archive.gain)
    alone = set(range(len(single))).difference(*bundles)
    actions = [new for bundle in [*bundles, *(frozenset([f]) for f in sorted(alone))] if (new := bundle - archive.free)]

    def worth(action: frozenset[int]) -> float:
        return float(sum(single[f] for f in action)) / (prices.of_set(action) / prices.full + _FLOOR)

    return sorted(actions, key=lambda action: (-worth(action), sorted(action)))[:_ACTIONS]


def _find_selector(
    archive: SetArchive, known: frozenset[int], actions: Sequence[frozenset[int]], possible: float, n_parts: int = 1
) -> Divided | None:
    """Return the surest selector, with the known features, and its parts of the judged rows, each bool (rows,)."""
    further = [known | action for action in actions if not action <= known]
    candidates = [known, *further] if known and known == archive.free else further
    gains = _gains(archive, known, actions) / possible
    tried = n_parts * len(candidates)
    gained = {candidate: _gain(archive, candidate, gains, tried)[0] for candidate in candidates}
    for selector in sorted(candidates, key=lambda candidate: -gained[candidate])[:_CONFIRMED]:
        if gained[selector] > 0:  # alone, it may tell what a model of it knows: these gains shrink
            beside = _gains(archive, selector, actions) / possible
            gain, parts = _gain(archive, selector, beside, tried)
            if gain > _BESIDE:
                return selector, parts
    return None


def _gains(archive: SetArchive, known: frozenset[int], actions: Sequence[frozenset[int]]) -> F8:
    """Return how much less each judged row loses with each action besides the known features: float64 (n, actions)."""
    archive.try_sets([known, *(known | action for action in actions)])
    losses = archive.found[known].losses
    return np.stack([losses - archive.found[known | action].losses for action in actions], axis=1)


def _gain(archive: SetArchive, selector: frozenset[int], gains: F8, n_candidates: int) -> tuple[float, list[B1]]:
    """Return what rows gain by the best action of their part instead of the best for all, and the parts.

    The gain is cross-fitted on halves, and 0 if it may be chance.
    """
    used = sorted(sorted(selector, key=lambda f: -archive.gain[f, f])[:_COLUMNS])
    judged = archive.judged_rows
    bins, half_of = archive.data.bins[judged][:, used], archive.half[judged]
    rows = archive.rows.take(judged)
    weight, total = rows.weight / rows.weight.sum(), float(rows.repeats.sum())
    fewest = max(_FEWEST, len(judged) // _SHARE)
    won = np.zeros(len(judged))
    for number in np.unique(half_of).tolist():
        inside, outside = half_of != number, half_of == number
        if not inside.any():
            return 0.0, []
        splits = _split(bins[inside], gains[inside], weight[inside], fewest)
        mine, leaf = _leaves(splits, bins[inside]), _leaves(splits, bins[outside])
        means = [
            _mean(gains[inside][mine == number], weight[inside][mine == number]) for number in range(len(splits) + 1)
        ]
        best = np.array([mean.argmax() for mean in means])[leaf]
        overall = _mean(gains[inside], weight[inside]).argmax()
        won[outside] = gains[outside, best] - gains[outside, overall]
    gain = float(weight @ won)
    error = float(np.sqrt(weight @ (won - gain) ** 2 / total))
    sure = np.sqrt(_SURE**2 + 2 * np.log(n_candidates))  # for the best of n_candidates
    if not gain > max(sure * error, _LEAST):
        return 0.0, []
    leaf = _leaves(splits := _split(bins, gains, weight, fewest), bins)
    return gain, _merge([leaf == number for number in range(len(splits) + 1)], gains, weight)


def _merge(leaves: list[B1], gains: F8, weight: F8) -> list[B1]:
    """Join each leaf with the first part whose best action gains about as much as its own."""
    parts: dict[int, B1] = {}
    for leaf in sorted(leaves, key=lambda leaf: -weight[leaf].sum()):
        mean = _mean(gains[leaf], weight[leaf])
        action = next((number for number in parts if mean[number] > _ALIKE * mean.max()), int(mean.argmax()))
        parts[action] = parts.get(action, leaf) | leaf
    return list(parts.values())


def _mean(gains: F8, weight: F8) -> F8:
    mean: F8 = weight @ gains / weight.sum()
    return mean


def _split(bins: NDArray[np.uint8], targets: F8, weight: F8, least: int) -> Splits:
    """Grow a regression tree of all targets at once, best split first."""
    moved = (targets - _mean(targets, weight)) * weight[:, np.newaxis]
    leaf, splits = np.zeros(len(bins), np.int64), []
    best = [_best_split(bins, moved, weight, least)]
    while len(best) < _LEAVES:
        at = max(range(len(best)), key=lambda number: best[number][0])
        gain, column, last = best[at]
        if not gain > 0:
            break
        leaf[(leaf == at) & (bins[:, column] > last)] = len(best)
        splits.append((at, column, last))
        best.append(best[at])
        for number in (at, len(best) - 1):
            inside = leaf == number
            best[number] = _best_split(bins[inside], moved[inside], weight[inside], least)
    return splits


def _best_split(bins: NDArray[np.uint8], moved: F8, weight: F8, least: int) -> tuple[float, int, int]:
    """Return the decrease of the squared error, the column and the last bin of the best split; 0 first if none."""
    best = (0.0, 0, 0)
    for column, codes in enumerate(bins.T):
        order = np.argsort(codes, kind="stable")
        ends = np.flatnonzero(np.diff(codes[order]))
        ends = ends[(ends + 1 >= least) & (len(codes) - ends - 1 >= least)]
        if len(ends):
            sums, weights = np.cumsum(moved[order], axis=0), np.cumsum(weight[order])
            left, right = sums[ends], sums[-1] - sums[ends]
            gain = (left**2).sum(axis=1) / weights[ends] + (right**2).sum(axis=1) / (weights[-1] - weights[ends])
            gain -= (sums[-1] ** 2).sum() / weights[-1]
            place = int(gain.argmax())
            best = max(best, (float(gain[place]), column, int(codes[order[ends[place]]])))
    return best


def _leaves(splits: Splits, bins: NDArray[np.uint8]) -> I8:
    """Return the leaf of each row: int64 (n,)."""
    leaf = np.zeros(len(bins), np.int64)
    for number, (at, column, last) in enumerate(splits, 1):
        leaf[(leaf == at) & (bins[:, column] > last)] = number
    return leaf


def _chain(
    archive: SetArchive, selector: frozenset[int], actions: Sequence[frozenset[int]], part: B1
) -> list[frozenset[int]]:
    """Add to the selector, step by step, the action with the largest decrease of a part's loss per price."""
    weight, sets = archive.rows.weight[archive.judged_rows][part], archive.found

    def loss(features: frozenset[int]) -> float:
        return float(np.average(sets[features].losses[part], weights=weight))

    def worth(features: frozenset[int]) -> float:
        further = (sets[features].cost - sets[chain[-1]].cost) / archive.prices.full
        return (loss(chain[-1]) - loss(features)) / (further + _FLOOR)

    chain = [selector]
    ranked = sorted(actions, key=lambda action: -worth(selector | action))[:_RANKED]
    while len(chain) <= _STEPS:
        left = [action for action in ranked if not action <= chain[-1]]
        more = {chain[-1] | action: action for action in left[:_TRIED]}  # a step seldom makes an action more useful
        archive.try_sets(more)
        best = max(more, key=worth, default=selector)
        if not loss(best) < loss(chain[-1]) * (1 - _NOTHING):
            break
        ranked = [*(more[features] for features in sorted(more, key=worth, reverse=True)), *left[_TRIED:]]
        chain.append(best)
    return chain
