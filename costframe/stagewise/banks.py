"""The bank to choose from: trained inside, columns, given, or that of a model."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.errors import DataError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.outputs import BankOutputs
from costframe.core.learners.tree_table import TREE
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.stagewise.train_bank import train_bank
from costframe.trees.boosting.banks import train_priced_bank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.training.data import TrainingData

__all__ = ["dominated_duplicates", "ensemble_weights", "find_bank", "outputs_on", "usual_share"]

TRAINED = (None, "boosted")
_MOST = 1e75  # size of an output, as of a label


def find_bank(bank: Any, data: TrainingData, settings: Mapping[str, Any], tradeoff: float = 0.0) -> WeakLearnerBank:
    """Return the bank that a parameter `bank` stands for, reading the columns of the data.

    Parameters
    ----------
    bank : None, "boosted", "columns", WeakLearnerBank, StageTree or fitted estimator
    data : TrainingData
    settings : mapping
        How to train one; a setting that is not None is refused for another bank.
    tradeoff : float
        What trees are to pay by, for the engine "priced".

    Raises
    ------
    CostframeError
        If it stands for none, has learners of features that the data do not have, or settings would have no effect.
    """
    named = isinstance(bank, str)
    if bank is None or (named and bank in TRAINED):
        return _trained(data, settings, tradeoff)
    for name, value in settings.items():
        if value is not None:
            raise ParameterError(f"{name}: has no effect, it is for a bank trained inside, and bank is {_shown(bank)}")
    if named and bank == "columns":
        return _columns(data)
    found = _model(bank)
    found = found.bank if isinstance(found, StageTree) else found
    if not isinstance(found, WeakLearnerBank):
        raise ParameterError(
            f"bank: expected 'boosted', 'columns', a WeakLearnerBank, a StageTree or a fitted model, got {_shown(bank)}"
        )
    if not len(found):
        raise ParameterError("bank: expected at least one learner, it has none")
    return found.with_features(data.feature_names)


def _model(bank: Any) -> Any:
    return bank if isinstance(bank, WeakLearnerBank | StageTree) else getattr(bank, "predictor_", None)


def outputs_on(bank: WeakLearnerBank, X: NDArray[np.float64], n_jobs: int | None) -> BankOutputs:
    """Evaluate a bank on rows to fit weights to.

    Raises
    ------
    DataError
        If a learner gives infinity or NaN, or numbers too large to be squared and added up.
    """
    outputs = BankOutputs.of(bank, X, n_jobs)
    wrong = ~(np.abs(outputs.dense) <= _MOST).all(axis=0)
    if wrong.any():
        others = np.flatnonzero(np.repeat(bank.kind, bank.widths) != TREE)
        learner = int(np.repeat(np.arange(len(bank)), bank.widths)[others[wrong.argmax()]])
        features = bank.F.tocsc()[:, [learner]].indices
        raise DataError(
            f"X: expected finite outputs of learner {learner}, which reads "
            f"{', '.join(bank.feature_names[f] for f in features)}, got NaN, infinity, or more than {_MOST:g}; "
            "trees take such values"
        )
    return outputs


def ensemble_weights(given: Any, bank: WeakLearnerBank) -> NDArray[np.float64] | None:
    """Return how a model adds up the outputs of its bank, float64 (C,): of one answer of one output, or boosted trees.

    None if it is neither, or has no learners.

    Parameters
    ----------
    given : object
        What the parameter `bank` was.
    bank : WeakLearnerBank
        What `find_bank` made of it.
    """
    model = _model(given)
    if not len(bank):
        return None
    if isinstance(model, StageTree):
        answer = model.stages[0]
        if len(model.stages) > 1 or not isinstance(answer, Answer) or len(answer.intercept) > 1:
            return None
        found = np.zeros(int(bank.widths.sum()))
        owner = np.repeat(np.arange(len(bank)), bank.widths)
        found[np.isin(owner, answer.learners)] = answer.weights[:, 0]
        return found
    return np.ones(len(bank)) if (bank.kind == TREE).all() and (bank.widths == 1).all() else None


def usual_share(n_features: int) -> float:
    """Share of the columns that a tree is grown on: a tenth, though three where there are twice as many.

    Trees that read everything have nothing to choose between.
    """
    return max(-(-n_features // 10), min(3, n_features // 2), 1) / n_features


def _trained(data: TrainingData, settings: Mapping[str, Any], tradeoff: float) -> WeakLearnerBank:
    """Boost trees on columns in the order of their names, so that draws do not depend on the order they came in."""
    chosen: dict[str, Any] = {"engine": "priced"} | {
        name: value for name, value in settings.items() if value is not None
    }
    rows, dominated = data.train, dominated_duplicates(data.train.X, data.prices)
    order = sorted(range(len(data.feature_names)), key=data.feature_names.__getitem__)
    names = [data.feature_names[f] for f in order]
    X = rows.X[:, order]
    X[:, dominated[order]] = np.nan  # nothing splits on what is always missing
    if chosen["engine"] == "priced":
        del chosen["engine"]
        prices = data.costs.select(names)
        bank = train_priced_bank(evolve(rows, X=X), prices, data.n_classes, tradeoff, **chosen)
    else:
        signs = {2: 2.0 * rows.y - 1.0}
        chosen = {"max_features": usual_share(len(names))} | chosen
        bank = train_bank(
            X,
            signs.get(data.n_classes, rows.y),
            loss="softmax" if data.n_classes > 2 else "squared",
            sample_weight=rows.weight,
            feature_names=names,
            **chosen,
        )
    return bank.with_features(data.feature_names)


def _columns(data: TrainingData) -> WeakLearnerBank:
    """All columns, in the order of their names; a missing value stands for the mean of the others."""
    rows = data.train
    there = np.isfinite(rows.X)
    weight = rows.weight[:, np.newaxis] * there
    total = weight.sum(axis=0)
    sums = (weight * np.where(there, rows.X, 0.0)).sum(axis=0)
    fill = np.divide(sums, total, out=sums * 0, where=total > 0)
    dominated, names = dominated_duplicates(rows.X, data.prices), data.feature_names
    read = sorted(np.flatnonzero(~dominated).tolist(), key=names.__getitem__)
    return WeakLearnerBank.columns(names, read, fill=fill[read])


def dominated_duplicates(X: NDArray[np.float64], prices: PriceArrays) -> NDArray[np.bool_]:
    """Find columns with the values of another one that is never dearer, whatever else is acquired: bool (d,).

    Of columns that cost the same, the first stays. A bank trained without prices would use both.
    """
    alike: dict[bytes, list[int]] = {}
    for f, column in enumerate(X.T):
        plain = np.where(np.isnan(column), np.nan, column) + 0.0  # one NaN, one zero
        alike.setdefault(blake2b(plain.tobytes(), digest_size=16).digest(), []).append(f)
    found = np.zeros(X.shape[1], np.bool_)
    for group in alike.values():
        for f in group:
            found[f] = any(
                _dominates(prices, g, f) and (g < f or not _dominates(prices, f, g)) for g in group if g != f
            )
    return found


def _dominates(prices: PriceArrays, one: int, other: int) -> bool:
    """Check that no price of a feature is above another's, and that it needs nothing that the other does not."""
    amounts = (prices.cost, prices.once, prices.split)
    return all(price[one] <= price[other] for price in amounts) and bool(
        (prices.needs[one] <= prices.needs[other]).all()
    )


def _shown(bank: Any) -> str:
    return repr(bank) if isinstance(bank, str) else type(bank).__name__
