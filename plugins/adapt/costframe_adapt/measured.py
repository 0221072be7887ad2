"""Where the gate of one candidate could divide, and what each place is worth on the rows held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from costframe_adapt.candidate import said
from costframe_adapt.sides import CHEAP, FULL

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from costframe.training.data import Rows
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.expensive import Full
    from costframe_adapt.sides import Placed

__all__ = ["Said", "scored", "ways"]

_AROUND = (0.25, 1.0, 4.0)  # times the tradeoff that trees were grown at
_SHARES = (0.03, 0.1, 0.25, 0.5, 0.75)


@frozen(eq=False)
class Said:
    """Rows held out, and what a model says of them."""

    rows: Rows
    predictions: NDArray[np.float64]


def ways(candidate: Candidate, tradeoff: float, full_share: float | None) -> Iterator[Placed]:
    """Yield the candidate's own threshold and others, as far as the share allows, and the cheap model alone."""
    sides = candidate.sides
    found: list[Placed | None] = [candidate.placed, sides.one(CHEAP)]
    if candidate.front.gated:
        found += [sides.divided(tradeoff * times, full_share) for times in _AROUND]
        found += [sides.sharing(share, full_share) for share in _SHARES if full_share is None or share <= full_share]
    seen = set()
    for placed in found:
        if placed is not None and placed.kind != FULL and (placed.kind, placed.threshold) not in seen:
            seen.add((placed.kind, placed.threshold))
            yield placed


def scored(candidate: Candidate, placed: Placed, full: Full, rows: Rows) -> Said:
    """Return what a model that divides there says."""
    return Said(rows, said(candidate.seen.cheap, full.seen.proba, candidate.sides.goes(placed)))
