"""Outsiders of a comparison: what a policy that is no algorithm of costframe has to do, sees, and returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.datasets import Dataset, PartRows


@frozen(eq=False)
class SeenTable:
    """What an outsider sees of a table: rows to train on and to choose by, and prices; no test rows.

    Attributes
    ----------
    name : str
        Of the table.
    train, valid : PartRows
        Rows with `X`, `y`, and `qid`, `groups` and `made` or None; see `costframe.datasets.PartRows`. What a policy
        chooses, it chooses by `valid`, or by folds of both.
    feature_names : tuple of str (d,)
        Of the columns of X.
    costs : CostModel
        Prices of exactly these columns, and of resources.
    task : {"classification", "regression", "ranking"}
    classes : tuple
        Labels in ascending order; empty for other tasks.
    categorical : mapping of str to tuple of str or None
        Columns that are categories, each with the labels of its numbers in X, if these have some.
    score : str
        Name of the score by which the comparison chooses and tests, as in `Frontier.score_name`.
    seed : int
        Of the split, for whatever a policy draws: the same in every run.
    """

    name: str
    train: PartRows
    valid: PartRows
    feature_names: tuple[str, ...]
    costs: CostModel
    task: str
    classes: tuple[Any, ...]
    categorical: Mapping[str, tuple[str, ...] | None]
    score: str
    seed: int

    @classmethod
    def of(cls, data: Dataset, score: str, seed: int) -> Self:
        """Return what is seen of a data set."""
        return cls(
            data.name,
            data.part("train"),
            data.part("valid"),
            data.feature_names,
            data.costs,
            data.task,
            data.classes,
            data.categorical,
            score,
            seed,
        )

    def codes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return labels as numbers: int64 positions in `classes`, or float64 values of other tasks: (n,)."""
        if self.task != "classification":
            return np.asarray(y, np.float64)
        return np.searchsorted(np.asarray(self.classes), y).astype(np.int64)


@frozen(eq=False)
class EstimatedModel:
    """A fitted model with an outsider's own estimates for fresh rows, in place of those from `valid`.

    They are for models that learned from `valid`, or whose folds tell more. A comparison chooses by them, and by no
    other figures; how far they are off shows on test rows.

    Parameters
    ----------
    model : Predictor
    score, score_error : float
        The score, higher is better, with its standard error. Of models with prices of errors the score is minus the
        mean cost of errors per row.
    cost, cost_error : float
        The mean cost per row, resources included, with its standard error.
    """

    model: Predictor
    score: float
    score_error: float
    cost: float
    cost_error: float = 0.0


@runtime_checkable
class Outsider(Protocol):
    """Anybody's policy in a comparison: an object with a name, and `fit`, which returns fitted models.

    A policy that asks for features row by row returns a `SteppedPredictor`, which steps through a generator function;
    whatever else prices itself exactly is a `Predictor`, too. The comparison charges each model by the table's prices
    for what it asks, resources once a row, chooses the model for a budget by estimates, and scores it on test rows.

    Where more than one process fits, pickle, or cloudpickle, must be able to copy the object; its models stay where
    they were fitted.

    Attributes
    ----------
    name : str
        Of the side in figures and lines of results; distinct from other sides' names.

    Examples
    --------
    >>> class FirstFeatures:
    ...     name = "first features"
    ...
    ...     def fit(self, seen):
    ...         share = seen.codes(seen.train.y).mean()
    ...
    ...         def steps():
    ...             values = yield seen.feature_names[:1]
    ...             return share if values[seen.feature_names[0]] > 0 else 1 - share
    ...
    ...         return [cf.SteppedPredictor(seen.feature_names, steps)]
    """

    name: str

    def fit(self, seen: SeenTable, /) -> Iterable[Predictor | EstimatedModel]:
        """Return fitted models, from cheap to dear or in any order; at least one.

        Each predicts from the columns `seen.feature_names`: of two classes the probability of the second, float64 (n,);
        of more the probabilities of all, float64 (n, K), in the order of `seen.classes`; of regressions and rankings a
        number, float64 (n,). Comparisons measure score and cost of a `Predictor` on `seen.valid`, and take those of an
        `EstimatedModel`. A constant, which asks for nothing, is a model of each side anyway.

        It may raise any exception: the side has no figures on this split, the comparison says so, and others go on. An
        attribute `settings`, a mapping of JSON values, is optional; lines of results have it, and tell sides of one
        name apart by it.
        """
        ...
