"""The bank that a parameter names: given, columns, or trained; and the weights of its ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import evolve

from costframe.adoption.names import match_columns
from costframe.core.checks import check_choice
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.sums import sum_over_rows
from costframe.stagewise.train_bank import train_bank
from costframe.training.data import TrainingData
from costframe.training.dominated import dominated_duplicates
from costframe.trees.banks import train_priced_bank

TRAINED = (None, "boosted")
ENGINES = ("priced", "cart")


def find_bank(bank: Any, data: TrainingData, settings: Mapping[str, Any], tradeoff: float = 0.0) -> WeakLearnerBank:
    """Return the bank that a parameter `bank` names, over the columns of the data.

    Parameters
    ----------
    bank : None, "boosted", "columns", WeakLearnerBank, StageTree or fitted estimator
    data : TrainingData
    settings : mapping
        Of training a bank; for a given bank all but `random_state` must be None.
    tradeoff : float
        Price of trees in units of loss, for the engine "priced".

    Raises
    ------
    CostframeError
        If it names no bank, its learners read features that the data do not have, or settings would have no effect.
    """
    named = isinstance(bank, str)
    if bank is None or (named and bank in TRAINED):
        return _trained(data, settings, tradeoff)
    for name, value in settings.items():
        if value is not None and name != "random_state":
            raise ParameterError(f"{name}: has no effect, it is for a bank trained inside, and bank is {_shown(bank)}")
    if named and bank == "columns":
        if data.categorical is not None:
            name = data.feature_names[int(data.categorical.argmax())]
            raise ParameterError(f"bank: 'columns' are numbers, and column {name!r} has categories; use 'boosted'")
        return _columns(data)
    model = _model(bank)
    model = model.bank if isinstance(model, StageTree) else model
    if not isinstance(model, WeakLearnerBank):
        raise ParameterError(
            "bank: expected 'boosted', 'columns', a WeakLearnerBank, a StageTree as of cf.adopt, or a fitted estimator "
            f"of costframe, got {_shown(bank)}"
        )
    if not len(model):
        raise ParameterError("bank: expected at least one learner, it has none")
    for name, labels in model.categories.items():
        if data.categories.get(name, labels) != labels:
            raise DataError(f"bank: has other labels of {name!r} than X; give X with those of the bank")
    return match_columns(model, data.feature_names)


def _model(bank: Any) -> Any:
    return bank if isinstance(bank, WeakLearnerBank | StageTree) else getattr(bank, "predictor_", None)


def default_max_features(n_features: int) -> float:
    """Return the default share of columns for each tree: a tenth, but at least three of six or more.

    If trees read all columns, there are no cheap learners to choose.
    """
    return max(-(-n_features // 10), min(3, n_features // 2), 1) / n_features


def _trained(data: TrainingData, settings: Mapping[str, Any], tradeoff: float) -> WeakLearnerBank:
    """Boost trees on columns sorted by name, so that random draws do not depend on the order of columns."""
    chosen = {name: value for name, value in settings.items() if value is not None}
    engine = check_choice("engine", chosen.pop("engine", "priced"), ENGINES)
    rows, dominated = data.train, dominated_duplicates(data.train.X, data.prices)
    order = sorted(range(len(data.feature_names)), key=data.feature_names.__getitem__)
    names = [data.feature_names[f] for f in order]
    X = rows.X[:, order]
    X[:, dominated[order]] = np.nan  # no tree splits on a column without values
    categorical = None if data.categorical is None else data.categorical[order]
    if engine == "priced":
        prices = data.costs.select(names)
        bank = train_priced_bank(evolve(rows, X=X), prices, data.n_classes, tradeoff, categorical=categorical, **chosen)
    else:
        signs = {2: 2.0 * rows.y - 1.0}
        chosen = {"max_features": default_max_features(len(names))} | chosen
        bank = train_bank(
            X,
            signs.get(data.n_classes, rows.y),
            loss="softmax" if data.n_classes > 2 else "squared",
            sample_weight=rows.weight,
            feature_names=names,
            categorical_features=categorical,
            **chosen,
        )
    return bank.with_features(data.feature_names)


def _columns(data: TrainingData) -> WeakLearnerBank:
    """Return all columns as a bank, sorted by name; the mean replaces missing values."""
    rows = data.train
    known = np.isfinite(rows.X)
    total = sum_over_rows(known.astype(np.float64), rows.weight)
    sums = sum_over_rows(np.where(known, rows.X, 0.0), rows.weight)
    fill = np.divide(sums, total, out=sums * 0, where=total > 0)
    dominated, names = dominated_duplicates(rows.X, data.prices), data.feature_names
    read = sorted(np.flatnonzero(~dominated).tolist(), key=names.__getitem__)
    return WeakLearnerBank.columns(names, read, fill=fill[read])


def _shown(bank: Any) -> str:
    return shown(bank) if isinstance(bank, str) else type(bank).__name__
