"""Settings of Adapt."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from costframe.gates import read_several, read_tradeoffs
from costframe.plugin import F8, ParameterError, TrainingData, check_choice, check_number, resolve, thread_count
from costframe.trees import TreeSettings

_PAPER_SHARES = (0.2, 0.4, 0.6, 0.8)  # default shares of a grid


@frozen(kw_only=True)
class AdaptTrees(TreeSettings):
    """Settings of the trees of the cheap model and of the gate, and their kind of prices."""

    by_row: bool = False  # whether rows pay prices one by one; else the model pays once


# Stands below its class.
PAID_BY_ROW = AdaptTrees(
    n_estimators=200,
    learning_rate=0.2,
    max_leaves=31,
    min_samples_leaf=20,
    min_hessian_leaf=1e-3,
    l2_regularization=1.0,
    by_row=True,
)


_USUAL = (PAID_BY_ROW, evolve(PAID_BY_ROW, by_row=False))


# Of Greedy Miser, without a gate.
_MISER = AdaptTrees(
    n_estimators=300, learning_rate=0.3, growth="breadth", newton=False, max_depth=3, min_samples_leaf=10
)


_PAPER = evolve(_MISER, n_estimators=100, learning_rate=1.0, min_samples_leaf=1)


@frozen
class AdaptSettings:
    """Checked parameters of `AdaptClassifier`."""

    tradeoff: float
    full_share: float | None  # P; None lets the price of the expensive model decide
    variant: str
    paper: bool  # whether to train exactly the paper's algorithm
    trees: tuple[AdaptTrees, ...]  # all kinds to try; empty for linear models
    n_stages: int
    n_threads: int
    verbose: int

    @property
    def binning(self) -> TreeSettings:
        """Settings of the bins, which all trees share."""
        return evolve(PAID_BY_ROW, n_threads=self.n_threads)


def read_settings(given: Any, data: TrainingData, *, grid: bool = False) -> AdaptSettings:
    """Check an estimator's parameters; a grid has its own shares.

    Raises
    ------
    ParameterError
        If a parameter is out of its range, or would have no effect.
    """
    variant = check_choice("variant", given.variant, (None, "gbrt", "lin")) or "gbrt"
    paper = check_choice("recipe", given.recipe, (None, "paper")) is not None
    full_share = resolve("full_share", given.full_share, None, high=1)
    if variant != "gbrt" and given.n_estimators is not None:
        raise ParameterError(f"n_estimators: has no effect on variant={variant!r}")
    if full_share == 0 and given.n_stages is not None:
        raise ParameterError("n_stages: has no effect with full_share=0, which leaves no gate")
    if paper and full_share is None and not grid:
        raise ParameterError("full_share: expected a number from 0 to 1, as recipe='paper' needs P")
    return AdaptSettings(
        tradeoff=data.tradeoff,
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
) -> tuple[F8 | None, tuple[float | None, ...]]:
    """Check the tradeoffs, descending, and the shares of a grid."""
    shares: tuple[Any, ...] = (given.full_share,)
    if full_shares is not None:
        shares = read_several("full_shares", full_shares)
    elif settings.paper and given.full_share is None:
        shares = _PAPER_SHARES
    limits = tuple(resolve("full_shares", share, None, high=1) for share in shares)
    if settings.paper and None in limits:
        raise ParameterError("full_shares: expected numbers from 0 to 1, as recipe='paper' needs them, got None")
    return read_tradeoffs(tradeoffs), limits


def _trees(given: Any, data: TrainingData, *, paper: bool) -> tuple[AdaptTrees, ...]:
    """Return the kinds of trees: the paper's, Greedy Miser's without a gate, or all kinds to try."""
    usual = (_PAPER,) if paper else (_MISER,) if given.full_share == 0 else _USUAL
    for leaf in {trees.min_samples_leaf for trees in usual}:
        if data.train.total_weight < 2 * leaf <= data.train.total_rows:
            raise ParameterError(
                f"sample_weight: two leaves of {leaf} rows need a total of {2 * leaf}, got "
                f"{data.train.total_weight:g}; a weight of one is one row"
            )
    return tuple(trees.replaced(n_estimators=given.n_estimators, n_jobs=given.n_jobs) for trees in usual)
