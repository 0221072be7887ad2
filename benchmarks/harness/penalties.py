"""The penalties on features of LightGBM and CatBoost, as outsiders of comparisons: adopted, and charged as all are.

Neither library knows a resource: each feature's price has those of its resources added in. Rows that stop the training
are `valid`, by which the comparison chooses among the models, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

import costframe as cf
from harness.tables import single_prices

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from costframe.comparison import SeenTable

ROUNDS, PATIENCE, RATE = 300, 30, 0.1
STRENGTHS = np.geomspace(1e-4, 3, 10)  # loss for the price of all features
LEAVES = 8, 31
SMALL = 2000  # rows; below it leaves may be smaller
SHAPES: tuple[dict[str, Any], ...] = (
    {"grow_policy": "SymmetricTree", "depth": 6},
    {"grow_policy": "Lossguide", "max_leaves": 31, "depth": 10},
)


@frozen
class LightGBMPenalties:
    """LightGBM's cost-efficient boosting: plain, and with lazy and coupled penalties, at two sizes of trees."""

    threads: int = 1
    name: str = "LightGBM"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it from others of its name."""
        return {"strengths": STRENGTHS.tolist(), "leaves": [*LEAVES], "rounds": ROUNDS}

    def fit(self, seen: SeenTable) -> Iterator[cf.Predictor]:
        """Fit 42 models."""
        every = np.arange(len(seen.feature_names))
        for leaves in LEAVES:
            for penalties in ({}, *self._penalties(seen)):
                yield cf.adopt(fit_lightgbm(seen, every, leaves, penalties, self.threads), seen.feature_names)

    def _penalties(self, seen: SeenTable) -> Iterator[dict[str, Any]]:
        alone, rows = single_prices(seen.costs), len(seen.train)
        for strength in STRENGTHS / seen.costs.full_cost(seen.feature_names):
            for kind, unit in (("lazy", 1), ("coupled", rows)):  # once a row, or once for all rows
                yield {"cegb_tradeoff": 1.0, f"cegb_penalty_feature_{kind}": (2 * strength * unit * alone).tolist()}


@frozen
class CatBoostPenalties:
    """CatBoost's penalties for each object and at the first use, for symmetric trees and trees grown leaf by leaf."""

    threads: int = 1
    name: str = "CatBoost"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it from others of its name."""
        return {"strengths": STRENGTHS.tolist(), "shapes": [*SHAPES], "rounds": ROUNDS}

    def fit(self, seen: SeenTable) -> Iterator[cf.Predictor]:
        """Fit 42 models; numbers of categories count as numbers."""
        alone, rows = single_prices(seen.costs), len(seen.train)
        for shape in SHAPES:
            yield self._fit_one(seen, shape)
            for strength in STRENGTHS / seen.costs.full_cost(seen.feature_names):
                for kind, unit in (("per_object_feature_penalties", 1), ("first_feature_use_penalties", rows)):
                    yield self._fit_one(seen, shape | {kind: (2 * strength * unit * alone).tolist()})

    def _fit_one(self, seen: SeenTable, settings: dict[str, Any]) -> cf.Predictor:
        import catboost

        loss = {"regression": "RMSE", "ranking": "YetiRank"}.get(
            seen.task, "MultiClass" if len(seen.classes) > 2 else "Logloss"
        )
        if settings["grow_policy"] == "Lossguide":
            settings = settings | {"min_data_in_leaf": 20 if len(seen.train) > SMALL else 5}
        model = catboost.CatBoost(
            {
                "loss_function": loss,
                "iterations": ROUNDS,
                "learning_rate": RATE,
                "thread_count": self.threads,
                "random_seed": seen.seed % 2**31,
                "verbose": False,
                "allow_writing_files": False,
                "use_best_model": True,
                **settings,
            }
        )
        rows = [catboost.Pool(part.X, seen.codes(part.y), group_id=part.qid) for part in (seen.train, seen.valid)]
        model.fit(rows[0], eval_set=rows[1], early_stopping_rounds=PATIENCE)
        return cf.adopt(model, seen.feature_names)


def fit_lightgbm(seen: SeenTable, columns: np.ndarray, leaves: int, penalties: dict[str, Any], threads: int) -> Any:
    """Return LightGBM's booster on some columns, int64 (any,), which rows of `valid` stop."""
    import lightgbm

    classes = len(seen.classes)
    settings = {
        "objective": {"regression": "regression", "ranking": "lambdarank"}.get(
            seen.task, "multiclass" if classes > 2 else "binary"
        ),
        "num_leaves": leaves,
        "learning_rate": RATE,
        "min_data_in_leaf": 20 if len(seen.train) > SMALL else 5,
        "num_threads": threads,
        "verbosity": -1,
        "seed": seen.seed % 2**31,
        **({"num_class": classes} if classes > 2 else {}),
        **penalties,
    }
    names = [seen.feature_names[column] for column in columns]
    rows = [
        lightgbm.Dataset(
            part.X[:, columns],
            seen.codes(part.y),
            group=None if part.qid is None else np.unique(part.qid, return_counts=True)[1],
            categorical_feature=[place for place, name in enumerate(names) if name in seen.categorical],
            params={"verbosity": -1},
        )
        for part in (seen.train, seen.valid)
    ]
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    return lightgbm.train(settings, rows[0], ROUNDS, valid_sets=[rows[1]], callbacks=[stop])
