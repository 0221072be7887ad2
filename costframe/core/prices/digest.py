"""What tells prices from others, in states that are put away and in logs."""

from __future__ import annotations

from functools import lru_cache

from costframe.core.digests import digest_of
from costframe.core.prices.costs import CostModel


@lru_cache(maxsize=64)  # for every inquiry that is put away
def prices_digest(costs: CostModel) -> str:
    """Return a digest of prices, in hexadecimal letters."""
    return digest_of(costs)
