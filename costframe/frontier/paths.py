"""Algorithms that give a whole path of models in one fit: what they offer, and how a frontier is chosen from it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from costframe.frontier.choose import choose
from costframe.frontier.trial import Fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.predictor import Predictor
    from costframe.frontier.trial import Progress, Trial

__all__ = ["FitsPath", "ModelPath", "PathPoint", "fit_along", "fits_path"]


class PathPoint(Protocol):
    """A model on a path."""

    @property
    def n_rounds(self) -> int:
        """Rounds; none for a constant."""

    @property
    def tradeoff(self) -> float:
        """At which it was trained, at last."""

    @property
    def cost(self) -> float:
        """Exact mean cost per validation row."""

    @property
    def score(self) -> float:
        """On validation rows; more is better."""


class ModelPath(Protocol):
    """Many models of one fit."""

    def frontier(self) -> Sequence[Any]:
        """Return the points such that no other has a higher score at no more cost, by ascending cost."""

    def plain(self) -> Any:
        """Return the best point that knows no prices."""

    def predictor(self, point: Any, /) -> Predictor:
        """Return the model of a point."""


@runtime_checkable
class FitsPath(Protocol):
    """What an estimator may offer beside `fit`; `CostAwareEstimator` has `with_predictor`."""

    def fit_path(self, X: Any, y: Any, /, *, X_val: Any, y_val: Any, **optional: Any) -> ModelPath:
        """Train a path of models; `optional` as for `fit`, and `scoring` (a score's name) and `progress` (a callable).

        `progress` is told the share that is done, from 0 to 1.
        """

    def with_predictor(self, predictor: Any, /, *, tradeoff: float, **fitted: Any) -> Any:
        """Return the fitted estimator of another predictor."""


def fits_path(trial: Trial) -> bool:
    """Tell whether a trial's estimator gives a path; one whose `fit_path` is None does not."""
    with trial.guard():
        model = trial.make(0.0)
        return isinstance(model, FitsPath) and callable(model.fit_path)


def fit_along(trial: Trial, points: int, budget: float | None, told: Progress) -> list[Fitted]:
    """Fit a path once and measure the points chosen from it; see `choose`.

    Progress counts a path as `points` fits.
    """
    began, name = time.perf_counter(), f"{trial.algorithm} along its path"
    model = trial.make(0.0)

    def tell(share: float) -> None:
        told(min(int(share * points), points - 1), points, name)

    tell(0.0)
    with trial.guard():
        path = model.fit_path(
            trial.train.X,
            trial.train.y,
            X_val=trial.valid.X,
            y_val=trial.valid.y,
            scoring=trial.score,
            progress=tell,
            **trial.optional,
        )
        seconds = time.perf_counter() - began
        found = _measured(trial, model, path, points, budget, seconds)
    best = max(fitted.point.valid_score for fitted in found)
    told(points, points, f"{name}: {len(found)} points, {trial.score} up to {best:.4f} on valid ({seconds:.1f} s)")
    return found


def _measured(
    trial: Trial, model: Any, path: ModelPath, points: int, budget: float | None, seconds: float
) -> list[Fitted]:
    front, plain = path.frontier(), path.plain()
    full = model.costs_.full_cost(model.predictor_.feature_names)
    chosen = choose(front, plain, points, full_cost=full, budget=budget)
    largest = max(point.tradeoff for point in [*front, plain])
    found = []
    for point in chosen:
        # No round says at which tradeoff nothing is bought.
        tradeoff = point.tradeoff if point.n_rounds or point == plain else largest
        copy = model.with_predictor(path.predictor(point), tradeoff=tradeoff, n_iter_=point.n_rounds)
        found.append(Fitted(trial.measure(copy, tradeoff, seconds / len(chosen)), copy))
    return found
