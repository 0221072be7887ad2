"""Numbers of the algorithm, and what they are where the user leaves them."""

from __future__ import annotations

from attrs import frozen

__all__ = ["ALTERNATIONS", "KINDS", "USUAL_KINDS", "VARIANTS", "AdaptSettings", "TreeSettings"]

ALTERNATIONS = ("gates", "joint")
VARIANTS = ("gbrt", "lin", "lstsq", "l1")
USUAL_KINDS = ("cegb", "coupled")
KINDS = ("cegb", "coupled", "miser")


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
    max_bins: int


@frozen
class AdaptSettings:
    """What a fit is asked for; see `AdaptClassifier`.

    Attributes
    ----------
    tradeoff : float
    full_share : float or None
    variant : {"gbrt", "lin", "lstsq", "l1"}
    trees : tuple of TreeSettings
        All are tried.
    n_stages : int
    alternations : tuple of {"gates", "joint"}
        How shares and boosted models are fitted in turns; all are tried.
    max_rounds : int
    charge_all : bool
        Every row pays for all features, as in the paper.
    zero_threshold : bool
        The gate divides at zero, as in the paper.
    standardize : bool
    n_threads : int
    verbose : int
    """

    tradeoff: float
    full_share: float | None
    variant: str
    trees: tuple[TreeSettings, ...]
    n_stages: int
    alternations: tuple[str, ...]
    max_rounds: int
    charge_all: bool
    zero_threshold: bool
    standardize: bool
    n_threads: int
    verbose: int
