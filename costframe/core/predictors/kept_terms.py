"""Terms of a predictor that many rows and tables have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from costframe.core.prices.costs import CostModel
from costframe.core.terms.terms import ASKED, Terms

MOST_KEPT = 16
_ASKED = (*ASKED, "tradeoff", "n_jobs")
_NUMBERS, _COUNTS, _COSTS = {float, type(None)}, {int, type(None)}, {CostModel, type(None)}


class KeptTerms:
    """Terms by what was asked, where that is plain: made once, while a predictor is asked alike."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Terms] = {}

    def terms(self, make: Callable[..., Terms], *asked: Any) -> Terms:
        """Return terms for prices, acquisition, what is known, a cap, what is unavailable, a tradeoff, and threads."""
        costs, acquisition, known, cap, barred, tradeoff, threads = asked
        # equal caps of other types may be refused, and few rows have known values
        is_plain = type(known) is type(barred) is tuple and not known and not barred
        is_plain = is_plain and type(cap) in _NUMBERS and type(tradeoff) in _NUMBERS and type(threads) in _COUNTS
        is_plain = is_plain and type(costs) in _COSTS and type(acquisition) is str
        if (terms := self._kept.get(asked) if is_plain else None) is None:
            terms = make(costs, **dict(zip(_ASKED, asked[1:], strict=True)))
            if is_plain:
                if len(self._kept) == MOST_KEPT:
                    self._kept.clear()
                self._kept[asked] = terms
        return terms
