"""What an estimator's parameters ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.checks import check_flag, check_number, resolve
from costframe.core.errors import ParameterError
from costframe.core.threads import thread_count
from costframe_adapt.settings import ALTERNATIONS, KINDS, USUAL_KINDS, VARIANTS, AdaptSettings, TreeSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.training.data import TrainingData

__all__ = ["adapt_settings", "asked_grid"]

CHARGES, THRESHOLDS = ("routed", "all"), ("placed", "zero")
_OF_TREES = (
    "trees", "n_estimators", "learning_rate", "max_depth", "max_leaves", "min_samples_leaf", "l2_regularization",
    "max_bins", "charge", "alternation",
)  # fmt: skip
_OF_GATES = ("n_stages", "max_rounds", "alternation", "charge", "threshold")
_ROUNDS_ALONE, _ROUNDS, _ROUNDS_SECOND_ORDER = 300, 100, 200


def adapt_settings(asked: Any, data: TrainingData) -> AdaptSettings:
    """Check an estimator's parameters.

    Raises
    ------
    ParameterError
        If one is out of its range, or would have no effect.
    """
    variant = _one_of("variant", asked.variant, VARIANTS)
    full_share = resolve("full_share", asked.full_share, None, high=1)
    if variant == "gbrt":
        _refuse(asked, ("standardize",), "on boosted trees")
    else:
        _refuse(asked, _OF_TREES, f"on variant={variant!r}")
    if variant == "l1":
        _refuse(asked, ("max_rounds",), "on variant='l1', which fits nothing in turns")
    if full_share == 0:
        _refuse(asked, _OF_GATES, "with full_share=0, which leaves no gate")
    return AdaptSettings(
        tradeoff=float(asked.tradeoff),
        full_share=None if full_share is None else float(full_share),
        variant=variant,
        trees=_trees(asked, data, alone=full_share == 0) if variant == "gbrt" else (),
        n_stages=resolve("n_stages", asked.n_stages, 1, low=1, whole=True),
        alternations=_alternations(asked),
        max_rounds=resolve("max_rounds", asked.max_rounds, 10 if variant == "gbrt" else 50, low=1, whole=True),
        charge_all=_one_of("charge", asked.charge, CHARGES) == "all",
        zero_threshold=_one_of("threshold", asked.threshold, THRESHOLDS) == "zero",
        standardize=asked.standardize is not None and check_flag("standardize", asked.standardize),
        n_threads=thread_count(asked.n_jobs),
        verbose=check_number("verbose", asked.verbose, whole=True),
    )


def asked_grid(
    asked: Any, tradeoffs: Any, full_shares: Any
) -> tuple[NDArray[np.float64] | None, tuple[float | None, ...]]:
    """Check what a grid is to be made of: its tradeoffs, descending, and shares."""
    shares = (asked.full_share,) if full_shares is None else _several("full_shares", full_shares)
    found = tuple(resolve("full_shares", share, None, high=1) for share in shares)
    if tradeoffs is None:
        return None, found
    levels = [float(check_number("tradeoffs", tradeoff)) for tradeoff in _several("tradeoffs", tradeoffs)]
    return np.array(sorted(set(levels), reverse=True)), found


def _several(name: str, values: Any) -> tuple[Any, ...]:
    """Return values of a grid; refuse one that stands alone, and none."""
    try:
        found = tuple(values)
    except TypeError:
        raise ParameterError(f"{name}: expected a list of numbers, got {values!r}") from None
    if not found:
        raise ParameterError(f"{name}: expected at least one, got none")
    return found


def _one_of(name: str, value: Any, known: Sequence[str]) -> str:
    """Return the value, or the first where there is none."""
    if value is None:
        return known[0]
    if value not in known:
        raise ParameterError(f"{name}: expected one of {', '.join(map(repr, known))}, got {value!r}")
    return str(value)


def _refuse(asked: Any, names: Sequence[str], reason: str) -> None:
    for name in names:
        if getattr(asked, name) is not None:
            raise ParameterError(f"{name}: has no effect {reason}")


def _alternations(asked: Any) -> tuple[str, ...]:
    return ALTERNATIONS if asked.alternation is None else (_one_of("alternation", asked.alternation, ALTERNATIONS),)


def _trees(asked: Any, data: TrainingData, *, alone: bool) -> tuple[TreeSettings, ...]:
    kinds = ("miser",) if alone else USUAL_KINDS
    if asked.trees is not None:
        kinds = (_one_of("trees", asked.trees, KINDS),)
    return tuple(_tree_settings(asked, data, kind, alone=alone) for kind in kinds)


def _tree_settings(asked: Any, data: TrainingData, kind: str, *, alone: bool) -> TreeSettings:
    first = kind == "miser"
    rounds = (_ROUNDS_ALONE if alone else _ROUNDS) if first else _ROUNDS_SECOND_ORDER
    leaf = resolve("min_samples_leaf", asked.min_samples_leaf, 10 if first else 20, low=1, whole=True)
    if data.train.total_weight < 2 * leaf <= len(data.train):
        raise ParameterError(
            f"min_samples_leaf: two leaves of {leaf} need a total sample weight of {2 * leaf}, got "
            f"{data.train.total_weight:g}; a weight of one is one row"
        )
    return TreeSettings(
        kind=kind,
        n_estimators=resolve("n_estimators", asked.n_estimators, rounds, low=1, whole=True),
        learning_rate=resolve("learning_rate", asked.learning_rate, 0.3 if first else 0.2, strict=True, high=1),
        max_depth=resolve("max_depth", asked.max_depth, 3 if first else None, low=1, whole=True),
        max_leaves=resolve("max_leaves", asked.max_leaves, None if first else 31, low=2, whole=True),
        min_samples_leaf=leaf,
        l2_regularization=resolve("l2_regularization", asked.l2_regularization, 0.0 if first else 1.0),
        max_bins=resolve("max_bins", asked.max_bins, 255, low=2, high=255, whole=True),
    )
