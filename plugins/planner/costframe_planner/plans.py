"""Plans on training rows: at each stop, rows choose the least expected loss + tradeoff * price, out of fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.sets import SetPrices

__all__ = ["Routes", "follow"]


@frozen(eq=False)
class Routes:
    """Prices of the ways between stops.

    Attributes
    ----------
    prices : SetPrices
    sets : tuple of frozenset of int
        Features of each stop.
    """

    prices: SetPrices
    sets: tuple[frozenset[int], ...]
    _steps: dict[int, NDArray[np.float64]] = field(factory=dict, init=False, repr=False)

    def bought(self, visited: int) -> frozenset[int]:
        """Return the features bought by a row that visited these stops, one bit each."""
        return frozenset().union(*(each for k, each in enumerate(self.sets) if visited >> k & 1))

    def steps(self, visited: int) -> NDArray[np.float64]:
        """Return the further price of each stop for a row that visited these stops: float64 (m,)."""
        if visited not in self._steps:
            have = self.bought(visited)
            paid = self.prices.of_set(have)
            self._steps[visited] = np.array([self.prices.of_set(have | each) - paid for each in self.sets])
        return self._steps[visited]

    def worth(self, visited: int, tradeoff: float) -> NDArray[np.float64]:
        """Return the further price of each stop times the tradeoff, in units of loss: float64 (m,)."""
        with np.errstate(over="ignore"):  # rows never choose an infinite price
            return tradeoff * self.steps(visited)

    def cost(self, visited: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the price that each row has paid: float64 (n,)."""
        every, place = np.unique(visited, return_inverse=True)
        return np.array([self.prices.of_set(self.bought(int(each))) for each in every])[place]


def follow(
    routes: Routes, gains: Sequence[NDArray[np.float64]], tradeoff: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
        here = np.flatnonzero(at == k)
        for before in np.unique(visited[here]).tolist():
            rows = here[visited[here] == before]
            values = gains[k][rows] + routes.worth(before, tradeoff)[k + 1 :]
            best = values.argmin(axis=1)
            go = values[np.arange(len(rows)), best] < 0
            at[rows[go]] = k + 1 + best[go]
            visited[rows[go]] |= np.int64(1) << (k + 1 + best[go])
    return at, visited
