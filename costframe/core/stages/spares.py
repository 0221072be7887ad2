"""What answers where the sets of a plan need what is unavailable: an ensemble over all features that may lack any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike

from costframe.core.arrays import B1, F8, frozen_floats
from costframe.core.errors import StageError
from costframe.core.learners.absent_columns import go_without
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TREE
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.stages import Answer, check_stages
from costframe.core.tables.categories import Categories


@frozen(eq=False)
class Spare:
    """An ensemble over all d features, trained on rows that lack some at random, and how well it answers without them.

    Parameters
    ----------
    bank : WeakLearnerBank
        Trees, in which an absent feature goes the way of NaN.
    answer : Answer
        Over `bank`, with the link and the K outputs of the plan's answers.
    expected : AbsenceLosses
        Of `answer`.
    losses : float64 (m,)
        Expected losses of the answers at the m stops; none before a plan has it.
    """

    bank: WeakLearnerBank
    answer: Answer
    expected: AbsenceLosses
    losses: F8 = field(converter=frozen_floats, default=())

    @classmethod
    def learn(cls, bank: WeakLearnerBank, answer: Answer, losses: F8, weight: F8, there: B1, **copies: Any) -> Spare:
        """Make a spare ensemble from its held-out losses on rows that lack features; see `AbsenceLosses.regress`."""
        return cls(bank, answer, AbsenceLosses.regress(losses, weight, there, **copies))

    @staticmethod
    def later(learn: Callable[[], Spare], losses: ArrayLike) -> LaterSpare:
        """Return what `learn` returns, for a plan of stops with these expected losses, float64 (m,), at first need."""
        return LaterSpare(learn, losses)

    def beside(self, losses: ArrayLike) -> Spare:
        """Return it for a plan of stops with these expected losses, float64 (m,)."""
        return evolve(self, losses=losses)

    def check(self, bank: WeakLearnerBank, answers: tuple[Answer, ...]) -> None:
        """Refuse a spare ensemble that does not fit a plan's bank and the answers of its stops."""
        if self.bank.feature_names != bank.feature_names or (self.bank.kind != TREE).any():
            raise StageError(f"spare: bank: expected trees over the features of the plan, got {self.bank!r}")
        try:
            check_stages((self.answer,), self.bank.widths)
        except StageError as error:
            raise StageError(f"spare: {error}") from None
        shape = answers[0].link, len(answers[0].intercept)
        if (self.answer.link, len(self.answer.intercept)) != shape:
            raise StageError(f"spare: answer: expected one of the link and number of outputs {shape}")
        self.expected.check(len(bank.feature_names))
        if self.losses.shape != (len(answers),) or not np.isfinite(self.losses).all():
            raise StageError(f"spare: losses: expected {len(answers)} finite numbers, one a stop")

    def given(self, there: B1) -> tuple[WeakLearnerBank, Answer]:
        """Return the ensemble as it answers from the features that are there, bool (d,), and reads no others."""
        learners = self.answer.learners
        trees = go_without(self.bank.restrict(learners).trees, ~there)
        bank = WeakLearnerBank.from_trees(trees, self.bank.feature_names)
        return bank, evolve(self.answer, learners=np.arange(len(learners)))

    def with_categories(self, categories: Categories) -> Spare:
        """Return the same ensemble with other labels of categories."""
        return evolve(self, bank=evolve(self.bank, categories=categories))

    def learned(self) -> Spare:
        """Return itself; see `LaterSpare`."""
        return self


@frozen(eq=False)
class LaterSpare:
    """The spare ensemble of a plan before it is needed: most models of a search never are in an outage.

    Where a model is copied or saved, so is what was learned, in place of the rows to learn from.

    Parameters
    ----------
    learn : callable
        Returns the `Spare` of a fit, the same for all its plans, which it learns once.
    losses : float64 (m,)
        As for `Spare`.
    categories : Categories, optional
        Other labels of categories than those that it learned with.
    """

    learn: Callable[[], Spare]
    losses: F8 = field(converter=frozen_floats)
    categories: Categories | None = None

    def learned(self) -> Spare:
        """Learn it, or return what was learned."""
        spare = self.learn().beside(self.losses)
        return spare if self.categories is None else spare.with_categories(self.categories)

    def with_categories(self, categories: Categories) -> LaterSpare:
        """Return the same ensemble with other labels of categories."""
        return evolve(self, categories=categories)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.learned(),)


def _itself(spare: Spare) -> Spare:
    return spare
