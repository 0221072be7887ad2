"""Predictions of adopted models beside their own libraries, and beside compilers of trees where these are installed.

    python benchmarks/adopted.py [lightgbm xgboost catboost]

100,000 x 50 rows, 100 trees of 31 leaves (CatBoost: of depth 5), two threads; and one row at a time. Every model is
trained here, adopted, and compared with its library's predictions before it is timed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import costframe as cf
from harness.compilers import compiled
from harness.timing import THREADS, draw_table, ratio, train_lightgbm

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, LEAVES = 100, 31
CALLS = 500  # of one row


def main() -> None:
    X, y = draw_table()
    for name in sys.argv[1:] or TRAINERS:
        model, predict, peers = TRAINERS[name](X, y)
        predictor = cf.adopt(model)
        np.testing.assert_allclose(predictor.predict(X), predict(X, THREADS), rtol=1e-5, atol=1e-5)
        goals = ("-", "-") if name == "catboost" else ("<= 0.33", "<= 0.5")
        compare(name, predictor, X, predict, goals=goals)
        for peer, predict_compiled in peers(model):
            np.testing.assert_allclose(predictor.predict(X), predict_compiled(X, THREADS), rtol=1e-5, atol=1e-5)
            compare(peer, predictor, X, predict_compiled, goals=("-", "-"))


def compare(
    name: str,
    predictor: cf.Predictor,
    X: np.ndarray,
    peer: Callable[[np.ndarray, int], Any],
    *,
    goals: tuple[str, str],
) -> None:
    """Print the time of all rows, and of one row at a time, over the peer's."""
    row = X[:1]
    ratio(
        f"{len(X):,} rows / {name}",
        lambda: predictor.predict(X, n_jobs=THREADS),  # type: ignore[call-arg]
        lambda: peer(X, THREADS),
        goal=goals[0],
    )
    ratio(
        f"one row, {CALLS} calls / {name}",
        lambda: [predictor.predict(row) for _ in range(CALLS)],
        lambda: [peer(row, 1) for _ in range(CALLS)],
        goal=goals[1],
    )


def lightgbm(X: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    """Train LightGBM; its peers compile its text file."""
    booster = train_lightgbm(X, y, ROUNDS, LEAVES)
    return booster, lambda rows, threads: booster.predict(rows, num_threads=threads), compiled


def xgboost(X: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    """Train XGBoost; rows go in place, without a DMatrix, which is its faster way."""
    import xgboost as xgb

    settings = {"max_leaves": LEAVES, "grow_policy": "lossguide", "max_depth": 0, "nthread": THREADS}
    booster = xgb.train(settings, xgb.DMatrix(X, y), ROUNDS)

    def predict(rows: np.ndarray, threads: int) -> Any:
        booster.set_param({"nthread": threads})
        return booster.inplace_predict(rows)

    return booster, predict, lambda *_: ()


def catboost(X: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    """Train CatBoost's symmetric trees of 32 leaves."""
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(iterations=ROUNDS, depth=5, thread_count=THREADS, verbose=0, allow_writing_files=False)
    model.fit(X, y)
    return model, lambda rows, threads: model.predict(rows, thread_count=threads), lambda *_: ()


TRAINERS: dict[str, Callable[[np.ndarray, np.ndarray], tuple[Any, ...]]] = {
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
}

if __name__ == "__main__":
    main()
