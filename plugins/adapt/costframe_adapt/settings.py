"""What an estimator's parameters ask for, and what the algorithm's numbers are where they leave it open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.checks import check_number, resolve
from costframe.core.errors import ParameterError
from costframe.core.threads import thread_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.training.data import TrainingData

__all__ = ["AdaptSettings", "TreeSettings", "read_grid", "read_settings"]

VARIANTS = ("gbrt", "lin", "l1")
RECIPES = ("paper",)
_PAPER_SHARES = (0.2, 0.4, 0.6, 0.8)  # of a grid where none is given


@frozen
class TreeSettings:
    """How the trees of the cheap model and of the gate are grown.

    Attributes
    ----------
    kind : {"cegb", "coupled", "miser"}
        Second-order trees, best-first, at prices paid row by row, or once by the model; or first-order ones,
        breadth-first, at prices paid once by the model.
    """

    kind: str
    n_estimators: int
    learning_rate: float
    max_depth: int | None
    max_leaves: int | None
    min_samples_leaf: int
    l2_regularization: float


_USUAL = (
    TreeSettings("cegb", 200, 0.2, None, 31, 20, 1.0),
    TreeSettings("coupled", 200, 0.2, None, 31, 20, 1.0),
)
_MISER = (TreeSettings("miser", 300, 0.3, 3, None, 10, 0.0),)  # Greedy Miser's own, where there is no gate
_PAPER = (TreeSettings("miser", 100, 1.0, 3, None, 1, 0.0),)


@frozen
class AdaptSettings:
    """What a fit is asked for; see `AdaptClassifier`.

    Attributes
    ----------
    tradeoff : float
    full_share : float or None
        P; None lets the price of the expensive model decide.
    variant : {"gbrt", "lin", "l1"}
    paper : bool
        Whether to train what the paper prints and nothing more.
    trees : tuple of TreeSettings
        All are tried; none for linear models.
    n_stages : int
    n_threads : int
    verbose : int
    """

    tradeoff: float
    full_share: float | None
    variant: str
    paper: bool
    trees: tuple[TreeSettings, ...]
    n_stages: int
    n_threads: int
    verbose: int


def read_settings(given: Any, data: TrainingData, *, grid: bool = False) -> AdaptSettings:
    """Check an estimator's parameters; `grid` says that shares come from elsewhere.

    Raises
    ------
    ParameterError
        If one is out of its range, or would have no effect.
    """
    variant = "gbrt" if given.variant is None else _one_of("variant", given.variant, VARIANTS)
    paper = given.recipe is not None and _one_of("recipe", given.recipe, RECIPES) == "paper"
    full_share = resolve("full_share", given.full_share, None, high=1)
    if variant != "gbrt" and given.n_estimators is not None:
        raise ParameterError(f"n_estimators: has no effect on variant={variant!r}")
    if full_share == 0 and given.n_stages is not None:
        raise ParameterError("n_stages: has no effect with full_share=0, which leaves no gate")
    if paper and variant == "l1" and full_share:
        raise ParameterError("full_share: has no effect on variant='l1' with recipe='paper', which limits no share")
    if paper and variant != "l1" and full_share is None and not grid:
        raise ParameterError("full_share: expected a number from 0 to 1, as recipe='paper' needs P")
    return AdaptSettings(
        tradeoff=float(given.tradeoff),
        full_share=None if full_share is None else float(full_share),
        variant=variant,
        paper=paper,
        trees=_trees(given, data, paper=paper) if variant == "gbrt" else (),
        n_stages=resolve("n_stages", given.n_stages, 1, low=1, whole=True),
        n_threads=thread_count(given.n_jobs),
        verbose=check_number("verbose", given.verbose, whole=True),
    )


def read_grid(
    given: Any, settings: AdaptSettings, tradeoffs: Any, full_shares: Any
) -> tuple[NDArray[np.float64] | None, tuple[float | None, ...]]:
    """Check what a grid is to be made of: its tradeoffs, descending, and shares."""
    shares: tuple[Any, ...] = (given.full_share,)
    if full_shares is not None:
        shares = _several("full_shares", full_shares)
    elif settings.paper and settings.variant != "l1" and given.full_share is None:
        shares = _PAPER_SHARES
    found = tuple(resolve("full_shares", share, None, high=1) for share in shares)
    if settings.paper and None in found and settings.variant != "l1":
        raise ParameterError("full_shares: expected numbers from 0 to 1, as recipe='paper' needs them, got None")
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
    if value not in known:
        raise ParameterError(f"{name}: expected one of {', '.join(map(repr, known))}, got {value!r}")
    return str(value)


def _trees(given: Any, data: TrainingData, *, paper: bool) -> tuple[TreeSettings, ...]:
    """Return how trees are grown: as printed, as Greedy Miser's where there is no gate, or as is tried."""
    found = []
    for trees in _PAPER if paper else _MISER if given.full_share == 0 else _USUAL:
        rounds = resolve("n_estimators", given.n_estimators, trees.n_estimators, low=1, whole=True)
        leaf = trees.min_samples_leaf
        if data.train.total_weight < 2 * leaf <= len(data.train):
            raise ParameterError(
                f"sample_weight: two leaves of {leaf} rows need a total of {2 * leaf}, got "
                f"{data.train.total_weight:g}; a weight of one is one row"
            )
        found.append(evolve(trees, n_estimators=rounds))
    return tuple(found)
