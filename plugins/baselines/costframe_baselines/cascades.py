"""Soft-Cascade and AND-OR: cascades whose stages may read dearer and dearer features and move together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from attrs import define, field

from costframe import StageTree
from costframe.plugin import F8, ParameterError, Sampling, TrainingData, check_number, resolve, shown
from costframe.stagewise import GradedRanker, OverBank, TwoClassesOnly, blas_for
from costframe_baselines.price_cascade import PriceCascade, train_by_price


@define(slots=False, eq=False, repr=False)
class _PriceCascade(OverBank):
    """Trains a cascade whose stages differ in the prices of the features that they may read."""

    n_stages: int | None = field(default=None, kw_only=True)
    bounds: Any = field(default=None, kw_only=True)

    _soft: ClassVar[bool] = True

    def _train(self, data: TrainingData) -> StageTree:
        if self.bounds is not None and self.n_stages is not None:
            raise ParameterError("n_stages: has no effect with bounds, which give a stage each")
        settings = PriceCascade(
            expected_cost=self._soft,
            ridge=resolve("ridge", self.ridge, 0.01, strict=True),
            n_stages=resolve("n_stages", self.n_stages, 5, low=1, whole=True, high=1000),
            bounds=None if self.bounds is None else _check_bounds(self.bounds),
        )
        data, held_out = Sampling(data).split_off()
        task = self._task(data)
        with blas_for(len(data.train), int(task.bank.widths.sum())):
            return train_by_price(task, held_out, settings)


class _Ranker(GradedRanker, _PriceCascade):
    """Trains for relevant and irrelevant rows."""

    def _usually_relevant(self, data: TrainingData) -> float | None:
        return _upper_grade(data.train.y)


@define(slots=False, eq=False, repr=False)
class SoftCascadeClassifier(TwoClassesOnly, _PriceCascade):
    """Soft-Cascade for two classes: all stages must accept a positive row, and rows go on with a probability.

    Stage k may use the learners whose features each cost at most the k-th bound, with the resources that they need. All
    stages minimize the log loss plus lambda times the expected cost together. Then held-out rows (validation data, or
    else a fifth of the rows) place a threshold at each stage, or choose a constant answer. A stage also answers the
    rows that it rejects.

    Parameters
    ----------
    costs, tradeoff, bank, categorical_features, class_weight, random_state, n_jobs, verbose, acquisition
        As for `ReweightedClassifier`, as are settings of the bank.
    n_stages : int, optional
        Most stages, 5 by default; their bounds are distinct prices of the learners' features, evenly by rank.
    bounds : sequence of float, optional
        Ascending: the highest price of a feature in each stage, with the resources that it needs.
    ridge : float, optional
        Penalty of squared weights, 0.01 by default, in units of the outputs' median variance.

    Attributes
    ----------
    predictor_ : StageTree
        A chain of routes, each with an answer for its rejected rows.
    classes_ : ndarray (2,)
    """

    class_weight: Any = field(default=None, kw_only=True)


@define(slots=False, eq=False, repr=False)
class SoftCascadeRanker(_Ranker):
    """Soft-Cascade for rankings, with relevant rows as positive; rejected rows rank below all rows of later stages.

    Parameters
    ----------
    costs, tradeoff, n_stages, bounds, ridge, bank, acquisition, random_state, n_jobs, verbose, and settings of the bank
        As for `SoftCascadeClassifier`.
    relevant : float, optional
        Least relevant grade; by default the least above half of the highest: 3 of grades 0 to 4.
    """


@define(slots=False, eq=False, repr=False)
class AndOrClassifier(TwoClassesOnly, _PriceCascade):
    """AND-OR for two classes: a positive row loses as at its worst stage, a negative row by the noisy-or of rejections.

    The stages minimize this loss together, without costs; lambda acts where held-out rows place thresholds.

    Parameters
    ----------
    costs, tradeoff, n_stages, bounds, ridge, bank, acquisition, class_weight, random_state, n_jobs, verbose
        As for `SoftCascadeClassifier`, with the settings of the bank.
    """

    class_weight: Any = field(default=None, kw_only=True)

    _soft = False


@define(slots=False, eq=False, repr=False)
class AndOrRanker(_Ranker):
    """AND-OR for rankings, with relevant rows as positive; rejected rows rank below all rows of later stages.

    Parameters are those of `SoftCascadeRanker`.
    """

    _soft = False


def _check_bounds(bounds: Any) -> tuple[float, ...]:
    """Return ascending bounds; refuse others."""
    try:
        numbers = tuple(check_number("bounds", bound) for bound in bounds)
    except TypeError:
        raise ParameterError(f"bounds: expected ascending prices, got {shown(bounds)}") from None
    if not numbers or any(low >= high for low, high in pairwise(numbers)):
        raise ParameterError(f"bounds: expected ascending prices, got {shown(bounds)}")
    return numbers


def _upper_grade(grades: F8) -> float | None:
    """Return the least grade above half of the highest; None if all grades are above it, or none is."""
    above = grades > grades.max() / 2.0
    return float(grades[above].min()) if above.any() and not above.all() else None
