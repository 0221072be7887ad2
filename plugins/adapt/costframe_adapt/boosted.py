"""ADAPT-GBRT: the shares q, the cheap model and the gate are fitted in turns, both boosted at one table of prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.progress import track
from costframe.trees.boosting import boost
from costframe.trees.losses import loss_for
from costframe.trees.monitor import Monitor
from costframe_adapt.accounts import Account
from costframe_adapt.candidate import Candidate, Scores
from costframe_adapt.front import Front
from costframe_adapt.growing import Growing
from costframe_adapt.problem import cheap_losses
from costframe_adapt.shares import share_out
from costframe_adapt.sides import Sides
from costframe_adapt.tree_prices import Payers, price_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.training import Rows
    from costframe.trees.boosting import Ensemble
    from costframe.trees.losses import Loss
    from costframe_adapt.binning import Binning
    from costframe_adapt.full import Full
    from costframe_adapt.prepared import Prepared
    from costframe_adapt.settings import AdaptSettings, TreeSettings
    from costframe_adapt.tree_prices import PriceTable

__all__ = ["EARLY", "Boosting", "alternate", "boost_alone", "checkpoints"]

_CHECKED = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)  # of all rounds, where models are looked at
_PATIENCE = 2  # rounds of the alternation without a better model
_STEADY = 1e-4  # change of a row's share at which the alternation has come to rest
EARLY = 30  # rounds without a better cheap model


@frozen(eq=False)
class Boosting:
    """A fit of ADAPT-GBRT.

    Attributes
    ----------
    prepared : Prepared
    full : Full
        What stands behind the gate.
    settings : AdaptSettings
    trees : TreeSettings
    noted : callable
        Is told of every model that is looked at.
    """

    prepared: Prepared
    full: Full
    settings: AdaptSettings
    trees: TreeSettings
    noted: Callable[[Candidate], None]

    @property
    def rows(self) -> Rows:
        """Training rows."""
        return self.prepared.data.train

    @property
    def loss(self) -> Loss:
        """The cheap model's."""
        return loss_for(self.prepared.data.n_classes)

    def table(self, q: NDArray[np.float64]) -> PriceTable:
        """Price trees for shares q."""
        rows, prices, tradeoff = self.rows, self.prepared.data.prices, self.settings.tradeoff
        stays = np.ones(len(rows)) if self.settings.charge_all else 1 - q
        payers = Payers(rows.weight, stays, self.full.train.account.acquired)
        return price_table(self.trees.kind, prices, payers, tradeoff, rows.uneven_weight)

    def start(self) -> tuple[Candidate, NDArray[np.float64]]:
        """Return the cheap model that stands alone, and the shares that the expensive one should have beside it."""
        prices, tradeoff = self.prepared.data.prices, self.settings.tradeoff
        monitor = Monitor(self.prepared.seen, self.loss, prices, tradeoff, EARLY, None)
        candidate = self.alone(*boost_alone(self.prepared.binning, self.settings, self.trees, monitor))
        return candidate, self.shares(candidate)

    def alone(self, ensemble: Ensemble, n_rounds: int) -> Candidate:
        """Look at a cheap model without a gate."""
        data, seen = self.prepared.data, self.prepared.seen
        front = _without_gate(ensemble, n_rounds, data.feature_names)
        train, held = (_scores(front, X) for X in (data.train.X, seen.X))
        account = Account.of(front.alone(), data.costs, seen.X, self.prepared.binning.n_threads)
        return self.candidate(front, train, held, (account, Account.nothing(*account.acquired.shape)))

    def shares(self, candidate: Candidate) -> NDArray[np.float64]:
        """Return q, float64 (n,), for a cheap model and a gate."""
        cheap, gate = candidate.train.cheap, candidate.train.gate
        below = cheap_losses(cheap, self.rows.y) + np.logaddexp(0.0, gate)
        above = self.full.train.loss + np.logaddexp(0.0, -gate)
        if self.settings.full_share is None and self.settings.tradeoff:
            above = above + self.settings.tradeoff * self._dearer(candidate.front)
        return share_out(below, above, self.rows.weight, self.settings.full_share).q

    def grow(self, q: NDArray[np.float64]) -> Candidate:
        """Grow both for shares q, and return the best of what is looked at on the way."""
        growing = Growing.begin(
            (self.rows, self.prepared.seen),
            q,
            self.loss,
            self.prepared.binning.grower(self.trees),
            self.table(q),
            self.prepared.data.prices,
            self.trees.learning_rate,
            self.prepared.binning.n_threads,
        )
        return self.looked_at(growing)

    def looked_at(self, growing: Growing) -> Candidate:
        """Grow all rounds, and return the best of what is looked at on the way."""
        rounds, names = self.trees.n_estimators, self.prepared.data.feature_names
        checked, found = checkpoints(rounds), []
        for number in range(1, rounds + 1):
            idle = not growing.add_round()
            if number in checked or idle:
                found.append(self.candidate(growing.front(names), *growing.scores(), growing.accounts()))
                self.noted(found[-1])
            if idle:
                break
        return min(found, key=lambda one: one.placed.total(self.settings.tradeoff))

    def candidate(
        self,
        front: Front,
        train: Scores,
        seen: Scores,
        accounts: tuple[Account, Account],
    ) -> Candidate:
        """Look at a cheap model and a gate, whose scores of training rows and of rows held out are given."""
        settings, held = self.settings, self.prepared.seen
        cheap_loss = cheap_losses(seen.cheap, held.y)
        sides = Sides.of(seen.gate, cheap_loss, self.full.seen, accounts, held.weight, self.prepared.data.prices)
        if settings.zero_threshold and (front.gate != 0).any():
            placed = sides.at(0.0)
        else:
            placed = sides.best(settings.tradeoff, settings.full_share)
        return Candidate(front, train, seen, accounts, sides, placed)

    def _dearer(self, front: Front) -> NDArray[np.float64]:
        """Return what going on costs each training row beyond what staying does, float64 (n,)."""
        data, full = self.prepared.data, self.full.train.account
        prices, n = data.prices, data.train.total_weight
        cheap, gate = (
            Account.of(tree, data.costs, data.train.X, self.prepared.binning.n_threads)
            for tree in (front.alone(), front.gate_alone())
        )
        goes, stays = gate | full, gate | cheap
        return goes.cost(prices) - stays.cost(prices) + (goes.batch(prices) - stays.batch(prices)) / n


def alternate(
    task: Boosting, q: NDArray[np.float64] | None = None, patience: int = _PATIENCE
) -> tuple[Candidate, NDArray[np.float64], list[float]]:
    """Alternate between shares and models, and keep the best round's best, as judged on the rows held out.

    Parameters
    ----------
    task : Boosting
    q : float64 (n,), optional
        Shares to begin with; by default those beside the cheap model that stands alone, which is a candidate too.
    patience : int
        Rounds without a better one.

    Returns
    -------
    Candidate, float64 (n,), list of float
        The best; its shares; and loss + tradeoff * cost of each round.
    """
    tradeoff, settings = task.settings.tradeoff, task.settings
    best, kept, history, worse = None, q, [], 0
    if q is None:
        best, q = task.start()
        kept = q
        task.noted(best)
        if settings.full_share == 0:
            return best, q, []
    for _ in track(range(settings.max_rounds), "Adapt", verbose=settings.verbose):
        candidate = task.grow(q)
        history.append(candidate.placed.total(tradeoff))
        worse += 1
        if best is None or history[-1] < best.placed.total(tradeoff):
            best, kept, worse = candidate, q, 0
        before, q = q, task.shares(candidate)
        if worse == patience or float(np.abs(q - before) @ task.rows.weight) < _STEADY * task.rows.total_weight:
            break
    assert best is not None  # noqa: S101 - there is at least one round
    assert kept is not None  # noqa: S101
    return best, kept, history


def checkpoints(rounds: int) -> set[int]:
    """Return the rounds after which models are looked at."""
    return {max(1, int(rounds * share)) for share in _CHECKED}


def boost_alone(
    binning: Binning, settings: AdaptSettings, trees: TreeSettings, monitor: Monitor | None
) -> tuple[Ensemble, int]:
    """Boost the cheap model alone, with q = 0: with Miser's trees it is Greedy Miser."""
    data = binning.data
    rows, loss = data.train, loss_for(data.n_classes)
    payers = Payers(rows.weight, np.ones(len(rows)), np.zeros(rows.X.shape, np.bool_))
    prices = price_table(trees.kind, data.prices, payers, settings.tradeoff, rows.uneven_weight).cheap
    grow = binning.grower(trees)
    return boost(
        rows,
        loss,
        lambda gradients, hessians: grow(gradients, hessians, prices),
        n_rounds=trees.n_estimators,
        step=trees.learning_rate,
        monitor=monitor,
        n_threads=binning.n_threads,
    )


def _without_gate(ensemble: Ensemble, n_rounds: int, names: tuple[str, ...]) -> Front:
    model = ensemble.finish(names, n_rounds)
    answer = model.stages[0]
    return Front(model.bank, answer.weights, answer.intercept, np.zeros(len(model.bank)), 0.0)


def _scores(front: Front, X: NDArray[np.float64]) -> Scores:
    return Scores(front.alone().decision_function(X).reshape(len(X), -1), np.zeros(len(X)))
