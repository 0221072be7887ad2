"""The choice of sets spread over the front of cost and loss."""

from __future__ import annotations

import numpy as np

from costframe.sets.archive import SetArchive

_LEAST_APART = 0.015  # distance of two sets of the front
_COST_WEIGHT, _COST_FLOOR = 0.3, 2e-3


def choose_spread(archive: SetArchive, count: int) -> list[frozenset[int]]:
    """Choose at most `count` sets: the empty set, all features, and the sets of the front farthest from one another.

    The distance of two sets is their difference in loss, as a share of the possible gain, and in the logarithm of cost.
    """
    front = archive.front()
    loss, cost = (np.array([getattr(candidate, name) for candidate in front]) for name in ("loss", "cost"))
    full = archive.prices.full
    place = np.stack(
        [
            (loss - loss.min()) / (loss[0] - loss.min() + 1e-300),
            _COST_WEIGHT * np.log(cost / full + _COST_FLOOR) / np.log(1 / _COST_FLOOR) if full > 0 else 0 * cost,
        ],
        axis=1,
    )
    everything = frozenset(range(len(archive.prices.cost)))
    chosen, left = [0], list(range(1, len(front)))
    while len(chosen) < count - 1 and left:
        distances = [min(np.abs(place[candidate] - place[other]).sum() for other in chosen) for candidate in left]
        if max(distances) < _LEAST_APART:
            break
        chosen.append(left.pop(int(np.argmax(distances))))
    return list(dict.fromkeys([frozenset(), *(front[number].features for number in sorted(chosen)), everything]))
