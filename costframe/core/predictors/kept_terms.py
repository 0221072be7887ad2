"""Terms of a predictor that many rows and tables have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from costframe.core.prices.costs import CostModel
from costframe.core.terms.terms import ASKED, Known, Terms

MOST_KEPT = 16
_ASKED = (*ASKED, "tradeoff", "n_jobs")
_NUMBERS, _COUNTS, _COSTS = {float, type(None)}, {int, type(None)}, {CostModel, type(None)}


class KeptTerms:
    """Terms by what was asked, where that is plain: made once, while a predictor is asked alike."""

    __slots__ = ("_kept", "_usual")

    def __init__(self) -> None:
        self._usual: Terms | None = None  # of nothing asked, as most often
        self._kept: dict[tuple[Any, ...], Terms] = {}

    def terms(
        self,
        make: Callable[..., Terms],
        costs: object,
        acquisition: str,
        known: Known,
        cap: float | None,
        barred: Iterable[str],
        tradeoff: float | None,
        threads: int | None,
    ) -> Terms:
        """Return terms for what is asked, from `make` where none are kept."""
        # equal caps of other types may be refused, and few rows have known values
        is_plain = type(known) is type(barred) is tuple and not known and not barred and type(acquisition) is str
        is_usual = is_plain and None is costs is cap is tradeoff is threads and acquisition == "path"
        if is_usual and self._usual is not None:
            return self._usual
        asked = costs, acquisition, known, cap, barred, tradeoff, threads
        is_plain = is_plain and type(cap) in _NUMBERS and type(tradeoff) in _NUMBERS and type(threads) in _COUNTS
        is_plain = is_plain and type(costs) in _COSTS
        if is_plain and (terms := self._kept.get(asked)) is not None:
            return terms
        terms = make(costs, **dict(zip(_ASKED, asked[1:], strict=True)))
        if is_usual:
            self._usual = terms
        elif is_plain:
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            self._kept[asked] = terms
        return terms
