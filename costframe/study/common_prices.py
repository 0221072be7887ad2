"""The prices that all candidates of a study share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from costframe.core.errors import CostModelError, DataError, ParameterError
from costframe.core.prices.costs import CostModel
from costframe.core.tables.frames import column_names
from costframe.study.candidates import GivenCandidate, Prices


def common_prices(costs: object, candidates: Sequence[GivenCandidate], X: Any) -> Prices:
    """Return the prices that all candidates share: `costs` if given, else their own; refuse different ones.

    Fitted models take given `costs` instead of their own, estimators are not trained for others than their own. Columns
    without names have those of the prices.
    """
    priced = [
        candidate
        for candidate in candidates
        if candidate.costs is not None and not (costs is not None and candidate.is_fitted)
    ]
    named, width = column_names(X), _width(X)
    first = next((candidate.model for candidate in candidates if candidate.is_fitted), None)
    given = costs if costs is not None else priced[0].costs if priced else None
    names = named or tuple(f"x{f}" for f in range(width))
    if given is None and named is None and first is not None:
        names = tuple(getattr(first, "predictor_", first).feature_names)
    model = CostModel.of(given, names)
    for candidate in priced:
        if CostModel.of(candidate.costs, names) != model:
            whose = "the given costs" if costs is not None else f"those of {priced[0].label!r}"
            raise ParameterError(
                f"costs: the prices of {candidate.label!r} differ from {whose}; a frontier has one table"
            )
    if named is None and len(model.names) != width:
        raise CostModelError(f"costs: price {len(model.names)} features, X has {width} columns without names")
    return Prices(model, named or model.names, given is not None)


def _width(X: Any) -> int:
    """Return the number of columns of dense rows; refuse others, in words that scikit-learn's checks know."""
    if hasattr(X, "toarray"):
        raise DataError(f"X: sparse input is not supported, got {type(X).__name__}; give X.toarray()")
    shape = getattr(X, "shape", None) or np.asarray(X).shape
    if len(shape) != 2:
        raise DataError(f"X: expected rows x features, got an array of shape {tuple(shape)}")
    if not shape[1]:
        raise DataError(f"X: found 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    return int(shape[1])
