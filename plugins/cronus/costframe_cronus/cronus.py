"""From a bank and rows to a cascade as a stage tree: initialized, optimized, and the best of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.stagewise.banks import outputs_on
from costframe.stagewise.pricing import Pricing
from costframe.stagewise.seen import SeenRows
from costframe.training.held_out import halves
from costframe_cronus.cascade import initialize
from costframe_cronus.choose import MOST_LEARNERS, MOST_ROWS, choose
from costframe_cronus.judge import Judge
from costframe_cronus.optimize import at_supports, cyclic
from costframe_cronus.own_order import in_own_order
from costframe_cronus.tree import as_stage_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData
    from costframe_cronus.cascade import CascadeSettings
    from costframe_cronus.chain import Chain
    from costframe_cronus.optimize import Step

__all__ = ["OPTIMIZATIONS", "Trained", "train_cronus"]

OPTIMIZATIONS = ("full", "cyclic", "none")


@frozen(eq=False)
class Trained:
    """A cascade as a stage tree, and the accepted steps that led there."""

    tree: StageTree
    steps: tuple[Step, ...]


def train_cronus(
    data: TrainingData,
    seen: Rows,
    bank: WeakLearnerBank,
    own: NDArray[np.float64] | None,
    settings: CascadeSettings,
    free: Collection[str],
    optimization: str,
    n_jobs: int | None,
) -> Trained:
    """Train a cascade. What labels mean to it, and what kind of answers it gives, is decided here and nowhere else.

    Labels are two classes, or targets from -1 to 1. Answers of classes are calibrated; those of targets rank, and rows
    that are rejected stand below all others, those rejected first lowest.

    Parameters
    ----------
    data : TrainingData
    seen : Rows
        To calibrate and choose by.
    bank : WeakLearnerBank
    own : float64 (C,), optional
        Weights of a model whose bank this is.
    settings : CascadeSettings
    free : collection of str
        Which of them are to be chosen.
    optimization : {"full", "cyclic", "none"}
    n_jobs : int or None
    """
    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    sample = _judge(data, data.train.subsample(MOST_ROWS), few, settings, n_jobs)
    settings = choose(
        settings, free, sample, _judge(data, seen.subsample(MOST_ROWS), few, settings, n_jobs, halve=True)
    )
    train = _judge(data, data.train, bank, settings, n_jobs)
    judge = _judge(data, seen, bank, settings, n_jobs, halve=True)
    steps: list[Step] = []
    start = initialize(train.rows, train.pricing.at, settings)
    chain = start.chain
    if optimization == "cyclic":
        chain = cyclic(chain, train, settings, start.scale, steps)
    elif optimization == "full":
        chain = _best(chain, own, train, judge, settings, steps)
    return Trained(as_stage_tree(bank, chain, judge.links(chain), settings.steepness), tuple(steps))


def _best(
    start: Chain,
    own: NDArray[np.float64] | None,
    train: Judge,
    judge: Judge,
    settings: CascadeSettings,
    steps: list[Step],
) -> Chain:
    """Return what is best across the halves of the rows to choose by, and on all of them no worse than the start."""
    limit = judge.measure(start).total
    best, least = start, judge.across(start, place=False)
    for candidate, place in _candidates(start, own, train, judge, settings, steps):
        found = judge.place_thresholds(candidate) if place else candidate
        total = judge.across(candidate, place=place)
        if total < least and judge.measure(found).total <= limit:
            best, least = found, total
    return best


def _candidates(
    start: Chain,
    own: NDArray[np.float64] | None,
    train: Judge,
    judge: Judge,
    settings: CascadeSettings,
    steps: list[Step],
) -> Iterator[tuple[Chain, bool]]:
    """Yield what to choose from, and whether its thresholds are to be placed."""
    single = evolve(settings, n_stages=1, verbose=0)
    yield initialize(train.rows, train.pricing.at, single).chain, False
    starts = [start]
    if own is not None:
        prices = train.pricing.at(train.rows.share)
        starts.append(in_own_order(train.rows, own, prices, settings.n_stages))
        yield starts[-1].without_idle_stages(), False
    for one in starts:
        yield one, True
        placed = judge.place_thresholds(one)
        for begin in (one, placed) if np.isfinite(one.threshold).all() else (placed,):
            yield at_supports(begin, train, judge, settings.ridge, steps), True


def _judge(
    data: TrainingData,
    rows: Rows,
    bank: WeakLearnerBank,
    settings: CascadeSettings,
    n_jobs: int | None,
    *,
    halve: bool = False,
) -> Judge:
    outputs = outputs_on(bank, rows.X, n_jobs)
    target = np.asarray(2.0 * rows.y - 1.0 if data.n_classes else rows.y)
    more = _emphasis(target, settings.positive_weight) * rows.weight
    seen = SeenRows(outputs, target, rows.weight, more / more.sum())
    pricing = Pricing.of(bank, data.prices, rows, outputs, settings.acquisition)
    codes = rows.y if data.n_classes else None
    half = halves(rows, data) if halve else None
    return Judge(seen, pricing, codes, half, settings.tradeoff, settings.steepness)


def _emphasis(target: NDArray[np.float64], positive_weight: float) -> NDArray[np.float64]:
    """Return what the loss of each row is multiplied by: 1 at target -1, w+ at 1, and in between."""
    share = (target + 1.0) / 2.0
    return np.asarray(positive_weight * share + (1.0 - share))
