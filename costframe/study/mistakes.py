"""Wrong answers that a stated cost of errors rests on: how many of each kind, and their words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.errors import printable
from costframe.training.error_costs import ErrorCosts
from costframe.training.library_scores import LibraryScore

_KINDS = 3  # of wrong answers that a text names


def count_mistakes(score: str | LibraryScore, y: NDArray[Any], predictions: F8) -> F8 | None:
    """Return how many rows of each class have each wrong answer, as `ErrorCosts` does; None for other scores."""
    costs = score.scorer if isinstance(score, LibraryScore) else None
    return costs.count_mistakes(y, predictions) if isinstance(costs, ErrorCosts) else None


def mistakes_in_words(counts: F8 | None, labels: Any) -> str:
    """Return a text such as "17 of class ill answered as well, 40 of class well answered as ill"; "" without counts.

    It names at most three kinds, those with the most rows, the fewest first.
    """
    if counts is None:
        return ""
    kinds = [(counts[place], place) for place in zip(*np.nonzero(np.round(counts)), strict=True)]
    kinds.sort(reverse=True)
    named = [
        f"{round(count):,} of class {printable(str(labels[truth]))} answered as {printable(str(labels[answer]))}"
        for count, (truth, answer) in sorted(kinds[:_KINDS])
    ]
    if rest := sum(count for count, _ in kinds[_KINDS:]):
        named.append(f"{round(rest):,} others")
    return ", ".join(named) or "no wrong answer"
