"""The state of a training, to continue it with the same rows or with others."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from hashlib import blake2b

import numpy as np
from attrs import define, evolve

from costframe import WeakLearnerBank
from costframe.plugin import CostModelError, DataError, Loss, ParameterError, Rows, TrainingData, shown
from costframe.trees import Boosted, LazyPrices, TreeSettings

__all__ = ["State", "WarmStart", "unpaid_prices"]

_FIXED = "learning_rate", "max_bins", "monotone", "random_state", "from_zero"  # settings that must not change
_NAMES = {"monotone": "monotone_constraints", "from_zero": "recipe"}  # the parameters that set them


@define(eq=False)
class State:
    """The state of training between rounds."""

    boosted: Boosted  # trees so far, and the training rows' scores
    prices: LazyPrices  # with the payments of the training rows
    random: np.random.Generator

    @classmethod
    def begin(cls, data: TrainingData, loss: Loss, settings: TreeSettings) -> State:
        """Begin without trees, and with nothing paid."""
        return cls(
            Boosted.constant(data.train, loss, settings.learning_rate, from_zero=settings.from_zero),
            unpaid_prices(data),
            np.random.default_rng(settings.random_state),
        )

    def with_rows(self, data: TrainingData) -> State:
        """Continue with other rows, which count as having paid for all acquisitions of the present trees."""
        prices, ensemble, rows = unpaid_prices(data), self.boosted.ensemble, data.train
        scores = np.tile(ensemble.intercept, (len(rows), 1))
        everyone = np.arange(len(rows), dtype=np.int32)
        for k, table in zip(ensemble.outputs, ensemble.tables, strict=True):
            bank = WeakLearnerBank.from_trees(table, data.feature_names)
            leaves = bank.leaves(rows.X)[:, 0]
            prices.charge_leaves(table, leaves, everyone)
            if prices.rounds is not None:
                prices.rounds.add(table)
            scores[:, k] += (ensemble.step * np.append(table.values, 0.0)[table.value])[leaves]
        return State(evolve(self.boosted, scores=scores), prices, self.random)


@define(eq=False)
class WarmStart:
    """A state, with the settings and data that must be the same to continue it."""

    state: State
    loss: Loss
    settings: TreeSettings
    costs: dict[str, object]  # the price table
    labels: list[object]  # of the classes
    names: tuple[str, ...]  # of the features
    categories: object  # their labels
    rows: bytes  # hash of the training rows and weights

    @classmethod
    def of(
        cls, state: State, loss: Loss, settings: TreeSettings, data: TrainingData, labels: list[object]
    ) -> WarmStart:
        """Make a warm start of a state."""
        prices, names, categories = data.costs.to_dict(), data.feature_names, _categories(data)
        return cls(state, loss, settings, prices, labels, names, categories, _fingerprint(data.train))

    def resume(self, loss: Loss, settings: TreeSettings, data: TrainingData, labels: list[object]) -> State:
        """Return a copy of the state to continue.

        Raises
        ------
        ParameterError
            If there are more rounds already, or a fixed setting differs.
        DataError
            If features or classes differ.
        CostModelError
            If prices differ.
        """
        self._check(loss, settings, data, labels)
        state = deepcopy(self.state)
        return state if _fingerprint(data.train) == self.rows else state.with_rows(data)

    def _check(self, loss: Loss, settings: TreeSettings, data: TrainingData, labels: list[object]) -> None:
        n_rounds = len(self.state.boosted.ensemble.rounds)
        if settings.n_estimators < n_rounds:
            raise ParameterError(
                f"n_estimators: expected at least {n_rounds} with warm_start, the number of rounds already there, "
                f"got {settings.n_estimators}"
            )
        for name in _FIXED:
            before, now = getattr(self.settings, name), getattr(settings, name)
            if before != now:
                raise ParameterError(
                    f"{_NAMES.get(name, name)}: expected {shown(before)} as before with warm_start, got {shown(now)}"
                )
        if loss != self.loss and labels == self.labels:
            raise ParameterError(f"objective: expected {shown(self.loss)} as before with warm_start, got {shown(loss)}")
        if data.feature_names != self.names:
            raise DataError(
                f"X: expected the features {self.names} as before with warm_start, got {data.feature_names}"
            )
        if _categories(data) != self.categories:
            raise DataError(
                f"X: expected the categories {self.categories!s:.200} as before with warm_start, got other ones"
            )
        if labels != self.labels:
            raise DataError(f"y: expected the classes {self.labels} as before with warm_start, got {labels}")
        if data.costs.to_dict() != self.costs:
            raise CostModelError("costs: expected the same prices as before with warm_start, got others")


def _categories(data: TrainingData) -> tuple[list[int], Mapping[str, object]]:
    """Return the categorical columns, and the labels of their categories."""
    columns = [] if data.categorical is None else np.flatnonzero(data.categorical).tolist()
    return columns, dict(data.categories)


def _fingerprint(rows: Rows) -> bytes:
    """Hash rows and weights."""
    digest = blake2b(repr(rows.X.shape).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(rows.X).data)
    digest.update(np.ascontiguousarray(rows.weight).data)
    return digest.digest()


def unpaid_prices(data: TrainingData) -> LazyPrices:
    """Return the prices of training rows without payments."""
    return LazyPrices.of(data.prices, data.train)
