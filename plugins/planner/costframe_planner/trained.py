"""All trained models and regressions of a planner, and plans by backward induction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import evolve, field, frozen

from costframe.plugin import F8, I8
from costframe.trees import BinnedData, ManyFolds
from costframe_planner.gains import regress
from costframe_planner.problem import Problem
from costframe_planner.routes import Routes, follow
from costframe_planner.set_models import SetModel
from costframe_planner.spare import SpareOfFit


@frozen(eq=False)
class Trained:
    """All trained models; only the choice of sets depends on prices."""

    models: list[SetModel]  # models of the stops, by ascending cost
    seen: list[BinnedData]  # data known at each stop
    gains: list[ManyFolds]  # regressions of each stop except the last
    routes: Routes
    spare: SpareOfFit
    parted: bool = False  # whether some sets are for parts of the rows
    singles: list[SetModel] = field(factory=list)  # further models that answer all rows, and are no stops
    _induced: dict[float, list[ManyFolds]] = field(factory=dict, init=False, repr=False)
    _ways: dict[tuple[float, float], tuple[I8, I8]] = field(factory=dict, init=False, repr=False)

    @property
    def all_models(self) -> list[SetModel]:
        """The models of the stops, and the further ones."""
        return [*self.models, *self.singles]

    def of_rows(self, chosen: I8) -> Trained:
        """Return them with what an induction needs to know of some of the rows."""
        models = [evolve(model, losses=model.losses[chosen], realised=model.realised[chosen]) for model in self.models]
        return evolve(self, models=models, seen=[data.take_rows(chosen) for data in self.seen])

    def induced(self, tradeoff: float) -> list[ManyFolds]:
        """Return the regressions of the backward induction at a tradeoff whose ways were kept, without predictions."""
        return self._induced[tradeoff]

    def keep_ways(self, tradeoff: float, asked: float, made: list[ManyFolds]) -> None:
        """Keep an induction at one tradeoff, and the ways of rows that follow it out of fold at another.

        Predictions go: those of a few inductions would be the most of a fit's memory.
        """
        ways = follow(self.routes, [folds.predictions for folds in made], asked)
        self._ways[tradeoff, asked] = ways
        self._induced[tradeoff] = [folds.without_predictions() for folds in made]

    def ways(self, tradeoff: float, asked: float) -> tuple[I8, I8]:
        """Return these ways; see `follow`."""
        return self._ways[tradeoff, asked]


def induce(problem: Problem, trained: Trained, tradeoff: float) -> list[ManyFolds]:
    """Return the regressions of `induce_backwards` by ascending stop."""
    return [*induce_backwards(problem, trained, tradeoff)][::-1]


def induce_backwards(problem: Problem, trained: Trained, tradeoff: float) -> Iterator[ManyFolds]:
    """Plan by backward induction at one tradeoff: regress, from the last stop to the first, the values of later stops.

    V_k(i) is the loss and price of row i from stop k on, under out-of-fold regressions: l_k(i) if it stays, else
    tradeoff * price(k -> j) + V_j(i) for the j with the least Q_kj(i) + tradeoff * price(k -> j) < 0, where Q_kj
    regresses V_j - l_k. With costs of errors it is shrunk by the same values of realised costs; see `regress`.
    """
    models, routes = trained.models, trained.routes
    values, realised = [model.losses for model in models], [model.realised for model in models]
    for k in range(len(models) - 2, -1, -1):
        targets, truths = (
            np.stack([own[j] - own[k] for j in range(k + 1, len(models))], axis=1) for own in (values, realised)
        )
        folds = regress(problem, trained.seen[k], targets, truths, n_threads=problem.n_threads)
        price = routes.worth(np.array([1 << k]), tradeoff)[0, k + 1 :]
        asked = folds.predictions + price
        if trained.parted and k == 0 and (asked >= 0).all():
            folds = _set_out(folds, asked)
            asked = folds.predictions + price
        best, rows = asked.argmin(axis=1), np.arange(len(asked))
        goes = asked[rows, best] < 0
        for own, further in ((values, targets), (realised, truths)):
            own[k] = np.where(goes, own[k] + further[rows, best] + price[best], own[k])
        yield folds


def _set_out(regression: ManyFolds, asked: F8) -> ManyFolds:
    """Return the regression, lower by a constant, so that all rows buy something.

    The first features of a part gain more per price than the selector with one of them, so no plan of least loss and
    price alone buys few: these plans serve small budgets.
    """
    shift = 4 * np.max(asked, where=np.isfinite(asked), initial=1e-300)
    return evolve(regression, predictions=regression.predictions - shift, intercept=regression.intercept - shift)
