"""Estimates of the models of a search: its own, joined with those of the same search on rows that it did not choose by.

Own scores are too high, as the rows that they are of chose the models. Those of the repetition are too low, as its
models had two thirds of the rows. What joins both is of a model with all rows, and lacks none. The weights are those of
Efron's .632 estimator (Journal of the American Statistical Association 78, 1983), whose models see about as many rows:
by bills the own score counts .368, as a search for the least bill chooses by few dear errors; by scores it counts .632.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve

from costframe.study.estimates import Estimate

_LESS, _MORE = 0.368, 0.632  # exp(-1), 1 - exp(-1)


def join_bills(own: Sequence[Estimate | None], repeated: Sequence[Estimate | None]) -> list[Estimate | None]:
    """Return the estimates of models of a search for the least bill, each joined from its own and its repeated one.

    Some sets are chosen by few dear errors and others are not, so each model has its own difference of both. The error
    is that of the repeated estimate, and that of which of the two is right.
    """

    def join(first: Estimate | None, again: Estimate | None) -> Estimate | None:
        if first is None or again is None:
            return again
        apart = first.score - again.score
        error = math.hypot(again.error, math.sqrt(_LESS * _MORE) * apart)
        return evolve(again, score=again.score + _LESS * apart, error=error, rows_lacked=0.0)

    return [join(*pair) for pair in zip(own, repeated, strict=True)]


def join_scores(
    own: Sequence[Estimate | None], repeated: Sequence[Estimate | None], reads: Sequence[bool]
) -> list[Estimate | None]:
    """Return the estimates of models of a search for scores: their own ones, less one optimism for all.

    The optimism is a part of the mean difference of own and repeated scores of the models that read features, or 0 if
    the repeated ones are better. So these compare as on their own rows, in pairs; the differences of single models vary
    too much, from few folds, to tell them apart. The error has also half of the difference, in the quadratic mean,
    which all these models share.
    """
    pairs = zip(own, repeated, reads, strict=True)
    apart = np.array([first.score - again.score for first, again, reading in pairs if reading and first and again])
    some = len(apart) or 1
    optimism, shared = _LESS * max(float(apart.sum()) / some, 0.0), math.sqrt(float(apart @ apart) / some) / 2

    def join(first: Estimate | None, again: Estimate | None, reading: bool) -> Estimate | None:
        if first is None or again is None:
            return again
        if not reading:
            return first
        error = math.hypot(first.error, shared)
        return evolve(first, score=first.score - optimism, error=error, shared=shared, rows_lacked=0.0)

    return [join(*pair) for pair in zip(own, repeated, reads, strict=True)]
