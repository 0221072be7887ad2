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

    __slots__ = ("_kept", "_usual")

    def __init__(self) -> None:
        self._usual: Terms | None = None  # of nothing asked, as most often
        self._kept: dict[tuple[Any, ...], Terms] = {}

    def terms(self, make: Callable[..., Terms], *asked: Any) -> Terms:
        """Return terms for prices, acquisition, what is known, a cap, what is unavailable, a tradeoff, and threads."""
        costs, acquisition, known, cap, barred, tradeoff, threads = asked
        # equal caps of other types may be refused, and few rows have known values
        if type(known) is not tuple or type(barred) is not tuple or known or barred:
            return _make(make, asked)
        if None is costs is cap is tradeoff is threads and acquisition == "path":
            if self._usual is None:
                self._usual = _make(make, asked)
            return self._usual
        is_plain = type(cap) in _NUMBERS and type(tradeoff) in _NUMBERS and type(threads) in _COUNTS
        if not is_plain or type(costs) not in _COSTS or type(acquisition) is not str:
            return _make(make, asked)
        if (terms := self._kept.get(asked)) is None:
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            terms = self._kept[asked] = _make(make, asked)
        return terms


def _make(make: Callable[..., Terms], asked: tuple[Any, ...]) -> Terms:
    return make(asked[0], **dict(zip(_ASKED, asked[1:], strict=True)))
