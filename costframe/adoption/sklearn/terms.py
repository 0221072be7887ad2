"""Terms: members of ensembles, whose banks and weights join into one answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike

from costframe.core.arrays import F8, I8
from costframe.core.errors import AdoptionError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import COLUMN
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import Blend, BlendPart
from costframe.core.stages.stages import Answer

_NUMBER = re.compile(r" \d+$")


@frozen(eq=False)
class Term:
    """Values of rows, K of them: scores of a bank's learners, or blends of the scores."""

    bank: WeakLearnerBank
    weights: F8  # (outputs of the bank, S)
    intercept: F8  # (S,)
    blends: tuple[Blend, ...] = ()

    @classmethod
    def scores(cls, tree: StageTree, *, blended: bool = False) -> Term:
        """Return the scores of a model of one answer, or the blends of them, before its link."""
        answer = tree.stages[0]
        if not isinstance(answer, Answer):
            raise AdoptionError(f"a model of {len(tree.stages)} stages cannot be a member of another")
        blends = answer.blends if blended else ()
        return cls(tree.bank.restrict(answer.learners), answer.weights, answer.intercept, blends)

    @classmethod
    def predictions(cls, tree: StageTree) -> Term:
        """Return what a model of one answer predicts."""
        term, answer = cls.scores(tree, blended=True), tree.only_answer
        assert answer is not None  # noqa: S101 - as above
        if answer.link == "identity" and answer.temperature == 1.0:
            return term
        return term.linked(BlendPart(answer.link, term.n_values, answer.temperature))

    @property
    def n_values(self) -> int:
        """K, the number of values."""
        return self.blends[-1].n_outputs if self.blends else len(self.intercept)

    def linked(self, *parts: BlendPart) -> Term:
        """Return links of the values."""
        blend = Blend(parts, np.eye(self.n_values), np.zeros(self.n_values))
        return evolve(self, blends=(*self.blends, blend))

    def divided(self, by: float) -> Term:
        """Return the values divided by a number: means of sums, rounded as the original rounds them."""
        return self if by == 1.0 else self.linked(BlendPart("identity", self.n_values, by))

    def times(self, matrix: ArrayLike, constant: ArrayLike = 0.0) -> Term:
        """Return weighted sums of the values: v @ matrix, float64 (K, M), plus a constant."""
        last = self.blends[-1] if self.blends else self
        by = np.asarray(matrix, np.float64)
        weights, intercept = last.weights @ by, last.intercept @ by + np.asarray(constant, np.float64)
        if isinstance(last, Blend):
            return evolve(self, blends=(*self.blends[:-1], evolve(last, weights=weights, intercept=intercept)))
        return evolve(self, weights=weights, intercept=intercept)

    def answer(
        self, link: str = "identity", temperature: float = 1.0, *, by_scores: bool = False, cut: float = 0.0
    ) -> StageTree:
        """Return the model that answers with a link of the values, with labels by values or by scores above a cut."""
        learners, more = np.arange(len(self.bank)), {"blends": self.blends, "by_scores": by_scores, "cut": cut}
        stage = Answer(learners, self.weights, self.intercept, link, temperature=temperature, **more)  # type: ignore[arg-type]
        return StageTree(self.bank, (stage,))


def constant_term(names: Sequence[str], values: ArrayLike) -> Term:
    """Return the same values, float64 (K,), for all rows."""
    intercept = np.asarray(values, np.float64)
    return Term(WeakLearnerBank.columns(names, []), np.empty((0, len(intercept))), intercept)


def columns_term(names: Sequence[str], weights: ArrayLike, intercept: ArrayLike) -> Term:
    """Return weighted sums of columns, float64 (d, K), without those of zero weight; NaN in a row gives NaN.

    A row with NaN has no prediction in a linear model; a value in its place would silently give a wrong one.
    """
    weights = np.asarray(weights, np.float64)
    read = np.flatnonzero((weights != 0).any(axis=1))
    return Term(
        WeakLearnerBank.columns(names, read.tolist(), fill=np.nan), weights[read], np.asarray(intercept, np.float64)
    )


def add_terms(terms: Sequence[Term]) -> Term:
    """Return the sum of terms, of the same number of values each: their banks joined, a column read only once.

    Terms without blends share their scores. If others have blends, it has as many as the one with the most.
    """
    depth = max(len(term.blends) for term in terms)
    plain = [term for term in terms if not term.blends]
    blended = [term for term in terms if term.blends]
    scores = [*([_share_scores(plain)] if plain else []), *blended]
    if not depth:
        return scores[0]
    ends = np.cumsum([0, *(len(term.intercept) for term in scores)])
    bank, rows = _join([term.bank for term in scores])
    weights = np.zeros((int(bank.widths.sum()), ends[-1]))
    for term, at, first, end in zip(scores, rows, ends, ends[1:], strict=False):
        np.add.at(weights[:, first:end], at, term.weights)
    intercept = np.concatenate([term.intercept for term in scores])
    padded = [_pad(term, depth) for term in scores]
    inner = [_stack([blends[level] for blends in padded]) for level in range(depth - 1)]
    last = [blends[-1] for blends in padded]
    total = Blend(
        [part for blend in last for part in blend.parts],
        np.vstack([blend.weights for blend in last]),
        np.sum([blend.intercept for blend in last], axis=0),
    )
    return Term(bank, weights, intercept, (*inner, total))


def _share_scores(terms: Sequence[Term]) -> Term:
    """Return the sum of terms without blends."""
    bank, rows = _join([term.bank for term in terms])
    weights = np.zeros((int(bank.widths.sum()), terms[0].n_values))
    for term, at in zip(terms, rows, strict=True):
        np.add.at(weights, at, term.weights)
    return Term(bank, weights, np.sum([term.intercept for term in terms], axis=0))


def _pad(term: Term, depth: int) -> tuple[Blend, ...]:
    """Return the term's blends, after them some that change nothing."""
    n = term.n_values
    return term.blends + (Blend((BlendPart("identity", n),), np.eye(n), np.zeros(n)),) * (depth - len(term.blends))


def _stack(blends: Sequence[Blend]) -> Blend:
    """Return one blend of the inputs of all, with the outputs of all."""
    weights = np.zeros((sum(blend.n_inputs for blend in blends), sum(blend.n_outputs for blend in blends)))
    row = column = 0
    for blend in blends:
        weights[row : row + blend.n_inputs, column : column + blend.n_outputs] = blend.weights
        row, column = row + blend.n_inputs, column + blend.n_outputs
    return Blend(
        [part for blend in blends for part in blend.parts],
        weights,
        np.concatenate([blend.intercept for blend in blends]),
    )


def _join(banks: Sequence[WeakLearnerBank]) -> tuple[WeakLearnerBank, list[I8]]:
    """Join banks; return also the rows of each bank's outputs in the weights of the joined one.

    A column that several banks read is one learner. Opaque learners of one name get numbers.
    """
    joined = WeakLearnerBank.concatenate(_name_opaques(banks))
    columns = np.flatnonzero(joined.kind == COLUMN)
    index = joined.index[columns]
    read = np.stack([joined.column_feature[index], joined.column_fill[index].view(np.int64)])
    same = np.arange(len(joined))
    _, first, which = np.unique(read, axis=1, return_index=True, return_inverse=True)
    same[columns] = columns[first][which]
    distinct = np.flatnonzero(same == np.arange(len(joined)))
    bank = joined.restrict(distinct)
    ends = np.cumsum([0, *bank.widths])
    start = ends[np.searchsorted(distinct, same)]
    widths = joined.widths
    within = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)  # of each learner's outputs
    rows = np.repeat(start, widths) + within
    return bank, np.split(rows, np.cumsum([part.widths.sum() for part in banks])[:-1])


def _name_opaques(banks: Sequence[WeakLearnerBank]) -> list[WeakLearnerBank]:
    """Return the banks with distinct names of their opaque learners: "SVR", "SVR 2" and so on."""
    seen: Counter[str] = Counter()
    titled = []
    for bank in banks:
        opaques = []
        for learner in bank.opaques:
            name = _NUMBER.sub("", learner.name)
            seen[name] += 1
            opaques.append(evolve(learner, name=f"{name} {seen[name]}" if seen[name] > 1 else name))
        titled.append(evolve(bank, opaques=tuple(opaques)))
    return titled
