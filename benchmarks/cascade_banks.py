"""Banks that cascades are put over: trees boosted without prices, trained with them, or of another library."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import cascade_tables
import numpy as np
from attrs import frozen

import costframe as cf

if TYPE_CHECKING:
    from cascade_tables import Part, Table

TREES = 100  # of a model that is a bank
QUICK_TREES = 40


@frozen
class Source:
    """Where a bank comes from.

    Attributes
    ----------
    name : {"boosted", "cegb", "miser", "xgboost"}
    tradeoff : float
        It was trained at, in units of `Table.loss` per cost of all features.
    rows : {"bank", "all"}
        Trained on: half of the training rows, the cascade's being the others, or all of them, which the cascade then
        has too.
    """

    name: str = "boosted"
    tradeoff: float = 0.0
    rows: str = "bank"


BOOSTED = Source()


@functools.lru_cache(maxsize=12)
def model(source: Source, table: str, split: int, *, quick: bool = False) -> cf.StageTree:
    """Return the model whose trees are the bank; its answer adds all trees."""
    data = cascade_tables.load(table, split, quick=quick)
    rows = cascade_tables.training_rows(data, source.rows)
    if source.name == "boosted":
        return _boosted(data, rows, split, cascade_tables.TREES // (3 if quick else 1))
    trees = QUICK_TREES if quick else TREES
    if source.name == "xgboost":
        return _adopted(data, rows, trees)
    seen = data.parts["choice"]
    asked: dict[str, Any] = {
        "costs": data.costs,
        "tradeoff": source.tradeoff * data.log_loss / data.full_cost,
        "n_estimators": trees,
        "learning_rate": 0.1,
        "min_samples_leaf": _leaf(rows),
        "n_jobs": 1,
    }
    # Without it, leaves of rare rows have outputs a thousand times as large as others, which no ridge can weigh.
    asked |= {"max_leaves": 16, "l2_regularization": 1.0} if source.name == "cegb" else {"max_depth": 4}
    fitted = cf.estimator(source.name, "classification", **asked)
    weights = {"sample_weight": rows.weight, "sample_weight_val": seen.weight}
    fitted.fit(rows.X, rows.relevant, X_val=seen.X, y_val=seen.relevant, **weights)
    return fitted.predictor_


def _boosted(data: Table, rows: Part, seed: int, trees: int) -> cf.StageTree:
    """Squared loss, with few columns a tree: trees that read everything leave nothing to choose between."""
    labels = 2.0 * rows.relevant - 1.0
    bank = cf.train_bank(
        rows.X,
        labels,
        engine="cart",
        n_estimators=trees,
        min_samples_leaf=_leaf(rows),
        max_features=data.kind.max_features,
        sample_weight=rows.weight,
        feature_names=data.costs.names,
        random_state=seed,
        n_jobs=1,
    )
    constant = np.average(labels, weights=rows.weight)
    return cf.StageTree(bank, (cf.Answer(np.arange(len(bank)), np.ones(len(bank)), [constant], "identity"),))


def _adopted(data: Table, rows: Part, trees: int) -> cf.StageTree:
    import xgboost

    seen, settings = data.parts["choice"], {"max_depth": 4, "early_stopping_rounds": 30, "random_state": 0, "n_jobs": 1}
    fitted = xgboost.XGBClassifier(n_estimators=trees, learning_rate=0.1, **settings)
    watched = {"eval_set": [(seen.X, seen.relevant)], "sample_weight_eval_set": [seen.weight], "verbose": False}
    fitted.fit(rows.X, rows.relevant, sample_weight=rows.weight, **watched)
    adopted = cf.adopt(fitted, feature_names=data.costs.names)
    assert isinstance(adopted, cf.StageTree)  # noqa: S101 - trees that are added are one stage
    return adopted


def _leaf(rows: Part) -> int:
    return int(np.clip(len(rows) // 400, 3, 20))
