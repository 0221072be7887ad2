"""A tree of stages over a bank of weak learners: the form of every built-in model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.caps import walk_under_limits
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.charges import charge_tree
from costframe.core.cost.totals import Charges
from costframe.core.errors import StageError, format_count, shown
from costframe.core.gains import Gains, gains_of_answers
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.thresholds import Cuts, cuts_of
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.plugins.registry import registry
from costframe.core.predictors.grounds import Ground, Grounds
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import LIMITS
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.ask_rows import ask_rows
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows, Fallbacks
from costframe.core.stages.links import log_odds, squeeze
from costframe.core.stages.run_stages import mean_outputs, predict_rows
from costframe.core.stages.spared_step import SparedStepper
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Answer, check_stages
from costframe.core.stages.stand_ins import StandIn, check_spare
from costframe.core.stages.step import StageStepper
from costframe.core.stages.waiting import given_up_shares, waiting_shares
from costframe.core.tables.class_shares import class_shares
from costframe.core.tables.row_labels import check_weights
from costframe.core.terms.card import Card
from costframe.core.terms.classes import as_classes, check_classes
from costframe.core.terms.terms import Terms


@define(eq=False, frozen=True, repr=False)
class StageTree(StageModel, Predictor):
    """A tree of stages over a bank of weak learners; the form of every built-in model.

    Parameters
    ----------
    bank : WeakLearnerBank
    stages : tuple of Answer or Route
        The first is the root; children come after their parents.
    costs : CostModel or None
        Default prices.
    fallbacks : Fallbacks, FallbackRows or None
        Expected outputs of learners and stages that a row cannot finish within its limits, or rows from which to learn
        them at their first use; see `with_fallbacks`. Without them a learner given up adds nothing, and a row goes on
        by partial sums. A saved or pickled model holds no rows.
    set_losses : SetLosses, optional
        Of spare trees: their expected losses by the set of features, of those that they use, that a row has.
    spare : StageTree, optional
        Trees of one answer that answer rows whose own way needs an unavailable feature; see `with_fallbacks`.
    classes : (M,), optional
        Labels of the classes whose probabilities the answers give.

    Raises
    ------
    StageError
        If the stages are not a tree or do not fit the bank, or the fallbacks do not fit both.
    """

    classes: NDArray[Any] | None = field(default=None, kw_only=True, converter=as_classes)
    _spare: StageTree | None = field(default=None, kw_only=True, alias="spare")

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.bank, WeakLearnerBank):
            raise StageError(f"bank: expected a WeakLearnerBank, got {type(self.bank).__name__}")
        check_stages(self.stages, self.bank.widths)
        if not isinstance(self._fallbacks, Fallbacks | FallbackRows | None):
            raise StageError(f"fallbacks: expected those of `with_fallbacks`, got {shown(self._fallbacks)}")
        if isinstance(self._fallbacks, Fallbacks):
            self._fallbacks.check(self.bank, self.stages)
        if self._spare is not None:
            check_spare(self, self._spare)
        check_classes(self.classes, self.n_predictions)
        self.card  # noqa: B018 - refuses prices that do not fit

    @cached_property
    def card(self) -> Card:
        """What describes it; of its facts, its size and links."""
        counts = format_count(len(self.stages), "stage"), format_count(len(self.bank), "learner")
        facts = *counts, f"link {', '.join(map(repr, self.links))}"
        cut = 0.5 if self.only_answer is None else self.only_answer.half
        return Card(self.bank.feature_names, self.costs, self.bank.categories, self.classes, half=cut, facts=facts)

    def with_card(self, card: Card) -> StageTree:
        """Return the same model with another card; see `Predictor.with_card`."""
        changes: dict[str, Any] = {"costs": card.costs, "classes": card.classes}
        if card.categories != self.bank.categories:
            changes["bank"] = evolve(self.bank, categories=card.categories)
            if self._spare is not None:
                changes["spare"] = evolve(self._spare, bank=evolve(self._spare.bank, categories=card.categories))
        return evolve(self, **changes)

    def only_used_features(self) -> StageTree:
        """Return the same model for rows, and prices, of the features that its learners read."""
        names = tuple(self.feature_names[f] for f in self.bank.read)
        if names == self.feature_names or self.costs is not None:
            return self
        return self.over(names, None)

    def over(self, names: tuple[str, ...], costs: CostModel | None) -> StageTree:
        """Return the same model for rows of the columns `names`, which include all that it reads, at their prices."""
        spare = None if self.spare is None else self.spare.over(names, None)
        return evolve(self, bank=self.bank.with_features(names), costs=costs, fallbacks=self.fallbacks, spare=spare)

    @cached_property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that the first stage reads in every row: of its trees the first tests."""
        root, bank = self.stages[0], self.bank
        if not len(root.learners):
            return ()
        widths = bank.widths[root.learners]
        weighed = root.learners[np.logical_or.reduceat(root.weights.any(axis=1), np.cumsum(widths) - widths)]
        trees, columns, opaques = (bank.index[weighed[bank.kind[weighed] == kind]] for kind in (TREE, COLUMN, OPAQUE))
        tests = bank.trees.feature[bank.trees.first[trees]]
        read = {*tests[tests >= 0].tolist(), *bank.column_feature[columns].tolist()}
        read.update(*(bank.opaques[number].features for number in opaques))
        return tuple(self.feature_names[f] for f in sorted(read))

    @property
    def n_predictions(self) -> int:
        """Number of columns of its predictions."""
        return next(stage.n_predictions for stage in self.stages if isinstance(stage, Answer))

    def margins(self, scores: F8, exits: I8) -> F8:
        """Return what `decision_function` gives rows with these scores, float64 (rows, K), and exits."""
        if self.links == ("ranked",):
            return squeeze(self.linked(scores, exits))
        if (answer := self.only_answer) is not None:
            return squeeze(scores[:, answer.class_scores :] if answer.by_scores else answer.blended(scores))
        return squeeze(scores if len(self.links) == 1 else log_odds(self.linked(scores, exits)))

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None) -> StageTree:
        """Return the same model with fallbacks, learned from rows, for rows that limits cut.

        It keeps at most four thousand rows, and learns from them when a row first has limits, or when the model is
        saved. A model with one answer also learns spare trees, from copies of these rows that lack features at random:
        they answer rows that miss an unavailable feature. They learn the labels `y`, (rows,), or shares of classes,
        (rows, K), and without these what the model says of the rows whole.
        """
        rows = self.as_rows(X)
        weight = None if sample_weight is None else check_weights(sample_weight, len(rows), "sample_weight")
        shares = None if y is None else class_shares(y, self.classes, len(rows))
        return evolve(self, fallbacks=FallbackRows.of(rows, weight, shares=shares), spare=None)

    @cached_property
    def fallbacks(self) -> Fallbacks | None:
        """Fallbacks for rows that limits cut, or None."""
        from costframe.core.cap_fits.fallbacks import fit_fallbacks

        known = self._fallbacks
        return known if not isinstance(known, FallbackRows) else fit_fallbacks(self, known, self._row_costs)

    @cached_property
    def spare(self) -> StageTree | None:
        """Trees that answer rows whose own way needs an unavailable feature, or None."""
        if self._spare is not None or not isinstance(self._fallbacks, FallbackRows):
            return self._spare
        learned: StageTree | None = registry().spare(self, self._fallbacks)
        if learned is not None:
            check_spare(self, learned)
        return learned

    @property
    def content(self) -> tuple[Any, ...]:
        """What decides its rows; see `Digested.content`."""
        own = self.bank, self.stages, self.fallbacks, self.classes, self.spare and self.spare.digest
        return own if self._set_losses is None else (*own, self._set_losses)

    def _row_costs(self, X: F8, costs: CostModel) -> F8:
        return self.cost(X, costs, made=True).per_row

    def __reduce__(self) -> tuple[Any, ...]:
        known: dict[str, Any] = {"fallbacks": self.fallbacks, "set_losses": self._set_losses, "spare": self.spare}
        make = partial(type(self), classes=self.classes, **known)
        return make, (self.bank, self.stages, self.costs)

    def exits(self, X: Any, *, n_jobs: int | None = None) -> I8:
        """Return the stage that answers each row: int64 (rows,)."""
        return predict_rows(self.layout, self.as_rows(X), n_jobs)[1]

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`."""
        limits = self.binding(terms.limits, terms.prices)
        if limits is None:
            (scores, exits), cut = predict_rows(self.layout, X, terms.n_jobs), None
        else:
            walked = walk_under_limits(self, terms.prices, limits, X, by_path=True, n_jobs=terms.n_jobs)
            if walked.cut.any() and (other := StandIn.of(self, terms.prices, limits)) is not None:
                walked = other.answer(X, walked, terms.prices, "path", terms.n_jobs)
            scores, exits, cut = walked.final, walked.exits, walked.cut
        places = self.places_of(scores, X, cut)
        return Ends(lambda: squeeze(self.linked(scores, exits)), places, lambda: self.margins(scores, exits))

    def ends_given(self, X: F8, columns: Sequence[int], terms: Terms) -> Ends:
        """Return the ends of rows that know some columns, as a table without the others; see `Predictor`."""
        del columns
        return self.evaluate(X, terms)

    @cached_property
    def cuts(self) -> Cuts:
        """Thresholds of columns, of the learners that stages use; see `Predictor.cuts`."""
        banks = [self.bank.restrict(np.unique(self.layout.learner))]
        banks += [] if self.spare is None else [self.spare.bank]
        return cuts_of(banks, len(self.feature_names))

    def begin(self, terms: Terms) -> StageStepper | SparedStepper:
        """Return a walker for one row; see `Predictor.begin`."""
        prices, paid = terms.prices, terms.ledger.paid_before
        limits = self.binding(terms.limits, prices, paid)
        own = StageStepper.begin(self, prices, terms.by_path, terms.values, limits, paid)
        if limits is None or not limits.barred:
            return own
        return SparedStepper.around(own, prices, limits, terms.values, by_path=terms.by_path)

    def grounds(self, walker: StageStepper | SparedStepper, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a row asks: the share of its stage's weight that waits; see `Predictor.grounds`."""
        if isinstance(walker, SparedStepper):
            walker = walker.asking
        if walker.needs:
            shares = waiting_shares(walker)
            return Grounds(tuple(Ground((f,), shares.get(f, 0.0), "weight") for f in walker.needs))
        if walker.reason in LIMITS:
            gone = sorted(given_up_shares(walker).items(), key=itemgetter(1), reverse=True)
            return Grounds(cause=walker.reason, further=tuple(Ground((f,), share, "weight") for f, share in gone))
        left = self.unread(terms, bought)
        return Grounds(cause=walker.reason, further=(Ground(left),) if left else ())

    def stepper(self, prices: PriceArrays, known: Mapping[int, float], *, by_path: bool) -> StageStepper:
        """Return a walker for one row without limits, given the values of features that are at hand."""
        return StageStepper.begin(self, prices, by_path, known)

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows with the engine; see `Predictor.charges`."""
        return charge_tree(self, X, weight, terms)

    def asked_rounds(self, X: F8, terms: Terms) -> AskedRounds:
        """Return the rounds in which rows ask for features; see `Predictor.asked_rounds`."""
        prices, limits, used = terms.prices, self.binding(terms.limits, terms.prices), self.layout.used
        if terms.known or StandIn.of(self, prices, limits) is not None:
            return super().asked_rounds(X, terms)
        if limits is not None:
            rounds = np.zeros((len(X), len(used)), np.int32)
            walk_under_limits(self, prices, limits, X, by_path=terms.by_path, n_jobs=terms.n_jobs, asked=rounds)
            return AskedRounds(used, rounds)
        asked = ask_rows(self, prices, X, by_path=terms.by_path, n_jobs=terms.n_jobs)
        return super().asked_rounds(X, terms) if asked is None else AskedRounds(used, asked)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns; see `Predictor.gains`."""
        del costs
        exits = predict_rows(self.layout, rows.X, None)[1]
        answers = {number: stage for number, stage in enumerate(self.stages) if isinstance(stage, Answer)}
        return gains_of_answers(
            self.bank, answers, exits, rows, mean_outputs(self.bank, rows.X, rows.weight, self.layout)
        )
