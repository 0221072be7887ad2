"""The parts of a stage tree: a stage answers with a weighted sum of weak learners, or routes by one; links."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from attrs import Attribute, evolve, field, frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.checks import as_items
from costframe.core.errors import StageError, brief, format_count, shown
from costframe.core.stages.float32_margins import Float32Margins
from costframe.core.stages.links import (
    LINKS,
    Blend,
    agree_with_scores,
    apply_link,
    as_finite,
    as_matrix,
    as_temperature,
    as_vector,
)


def as_indices(values: object, what: str, kind: str = "indices") -> I8:
    """Return ascending, distinct indices >= 0 as a read-only array; refuse others."""
    raw = np.asarray(values)
    if raw.ndim != 1 or (raw.size and raw.dtype.kind not in "iu"):
        raise StageError(f"{what}: expected a list of {kind}, got {shown(values)}")
    array = np.array(raw, dtype=np.int64)
    if (np.diff(array) <= 0).any() or (array < 0).any():
        raise StageError(f"{what}: expected ascending, distinct {kind}, got {array.tolist()}")
    array.setflags(write=False)
    return array


def _learners(values: object) -> I8:
    return as_indices(values, "learners")


def _scalar(values: object) -> F8:
    array = as_vector(values)
    if len(array) != 1:
        raise StageError(f"intercept of a route: expected one number, got {len(array)}")
    return array


def _blends(values: Iterable[Blend]) -> tuple[Blend, ...]:
    items = as_items(values)
    if items is None:
        raise StageError(f"blends: expected a list of Blend, got {shown(values)}")
    return items


def _level(values: Any) -> float:
    return as_finite(values, "level")


def _above(values: Any) -> float | None:
    return None if values is None else as_finite(values, "class_above")


def _cut(values: Any) -> float:
    return as_finite(values, "cut")


@frozen(eq=False, repr=False)
class Answer:
    """A stage that ends the inquiry.

    score_k = intercept_k + sum_t c_tk in ascending learner order, where c_tk = sum_j weights[j, k] h_j over the outputs
    j of learner t, in order. Entries with weight zero are left out; a learner with zero weights only is not evaluated.
    The prediction is the link of the scores or, if there are blends, of their outputs.

    Parameters
    ----------
    learners : int64 (L,)
        Ascending indices into the bank.
    weights : float64 (C, K)
        C is the number of outputs of these learners together. One dimension means K = 1.
    intercept : float64 (K,)
    link : str
        One of `LINKS`; see `apply_link`. With "ranked" the prediction is level + s / (2 (1 + |s|)) of the one score s:
        rows answered at a higher level rank above those of a lower one; rows of one level rank by their scores.
    level : float
        For ranked answers only.
    temperature : float
        Positive; the link is applied to scores divided by it.
    blends : tuple of Blend
        Each takes the outputs of the one before, the first the scores. Only the one answer of a model has blends.
    by_scores : bool
        The class of a row is that of the largest score, or 1 if the one score is above `cut`, and predictions agree,
        but where the rounding of a softmax makes them equal; `decision_function` gives the scores, not what blends make
        of them. If there are more scores than predictions, the first scores tell the class alone, and
        `decision_function` gives the others.
    cut : float
        For one prediction by scores only.
    float32 : Float32Margins, optional
        The class of a row is that of the margins of a library that adds in float32; scores and predictions are float64.
    class_above : float, optional
        Class 1 has predictions above it, where it is no half; for one prediction, not by scores.
    """

    learners: I8 = field(converter=_learners)
    weights: F8 = field(converter=as_matrix)
    intercept: F8 = field(converter=as_vector)
    link: str = field(default="identity")
    level: float = field(default=0.0, converter=_level)
    temperature: float = field(default=1.0, converter=as_temperature)
    blends: tuple[Blend, ...] = field(default=(), converter=_blends)
    by_scores: bool = False
    cut: float = field(default=0.0, converter=_cut)
    float32: Float32Margins | None = None
    class_above: float | None = field(default=None, converter=_above)

    @link.validator
    def _known_link(self, _attribute: Attribute[str], value: str) -> None:
        if not isinstance(value, str) or value not in LINKS:
            raise StageError(f"link: expected one of {', '.join(LINKS)}, got {shown(value)}")

    def __attrs_post_init__(self) -> None:
        if len(self.intercept) < 1 or self.weights.shape[1] != len(self.intercept):
            raise StageError(
                f"answer: weights are for {self.weights.shape[1]} output(s), the intercept for {len(self.intercept)}"
            )
        if self.link != "ranked" and self.level:
            raise StageError(f"level: is for ranked answers, got {self.level:g} with the link {self.link!r}")
        if self.link == "ranked" and self.temperature != 1.0:
            raise StageError(f"temperature: is not for ranked answers, got {self.temperature:g}")
        if self.link == "ranked" and len(self.intercept) > 1:
            raise StageError(f"answer: a ranked one has one output, got {len(self.intercept)}")
        if self.blends:
            self._check_blends()
        self._check_classes()

    def _check_classes(self) -> None:
        """Refuse rules of classes that do not go with each other, or with the scores."""
        if not isinstance(self.by_scores, bool) or (self.by_scores and self.n_predictions > len(self.intercept)):
            raise StageError(f"by_scores: expected a score for each prediction, got {len(self.intercept)}")
        if self.cut and not (self.by_scores and self.n_predictions == 1):
            raise StageError(f"cut: is for one prediction by scores, got {self.cut:g}")
        if self.class_above is not None and (self.n_predictions > 1 or self.by_scores or self.float32 is not None):
            raise StageError(f"class_above: is for one prediction that tells the class, got {self.class_above:g}")
        if self.float32 is not None and (self.blends or self.by_scores or self.temperature != 1.0):
            raise StageError("float32: is for an answer without blends, temperature and classes by scores")
        if self.float32 is not None and (self.float32.link in {"sigmoid", "step"}) != (len(self.intercept) == 1):
            raise StageError(f"float32: {self.float32.link!r} does not go with {len(self.intercept)} score(s)")

    def __repr__(self) -> str:
        """Count learners and outputs; the arrays would fill pages."""
        learners, outputs = format_count(len(self.learners), "learner"), format_count(len(self.intercept), "output")
        blends = format_count(len(self.blends), "blend") if self.blends else ""
        return brief(self, learners, outputs, f"link {self.link!r}", blends)

    def _check_blends(self) -> None:
        if self.link == "ranked":
            raise StageError("blends: are not for ranked answers")
        width = len(self.intercept)
        for number, blend in enumerate(self.blends):
            if not isinstance(blend, Blend):
                raise StageError(f"blends: expected Blend, got {shown(blend)}")
            if blend.n_inputs != width:
                raise StageError(f"blend {number}: takes {blend.n_inputs} value(s), there are {width}")
            width = blend.n_outputs

    @property
    def n_predictions(self) -> int:
        """Number of columns of `predictions`: that of the scores, or of the last blend's outputs."""
        return self.blends[-1].n_outputs if self.blends else len(self.intercept)

    @property
    def divisor(self) -> float | None:
        """The number by which the scores are divided before the link, by a temperature or a blend; None if they mix."""
        if not self.blends:
            return self.temperature
        return self.blends[0].divisor if len(self.blends) == 1 and self.temperature == 1.0 else None

    def divided(self) -> Answer:
        """Return the answer with weights divided by the divisor, equal but for rounding; itself, if it has none."""
        divisor = self.divisor
        if divisor is None or (divisor == 1.0 and not self.blends):
            return self
        weights, intercept = self.weights / divisor, self.intercept / divisor
        return evolve(self, weights=weights, intercept=intercept, temperature=1.0, blends=())

    @property
    def is_alone(self) -> bool:
        """Whether it can only be a model's one answer: it has blends, or a rule of its own for classes."""
        return bool(self.blends or self.by_scores or self.float32 or self.class_above is not None)

    def by_predictions(self) -> Answer:
        """Return the answer without what tells classes otherwise than its predictions do."""
        return evolve(self, by_scores=False, cut=0.0, float32=None, class_above=None)

    def blended(self, scores: F8) -> F8:
        """Return the values that the link takes, float64 (rows, n_predictions), for scores, float64 (rows, K)."""
        for blend in self.blends:
            scores = blend.outputs(scores)
        return scores

    @cached_property
    def half(self) -> float:
        """The prediction above which a row is of class 1, if there is one prediction."""
        if self.class_above is not None:
            return self.class_above
        return float(self._linked(np.full((1, 1), self.cut))[0, 0]) if self._has_cut else 0.5

    @property
    def _has_cut(self) -> bool:
        return self.by_scores and len(self.intercept) == 1

    @property
    def class_scores(self) -> int:
        """Number of scores, the first ones, that only tell the class, and of which predictions know nothing."""
        return self.n_predictions if self.by_scores and len(self.intercept) > self.n_predictions else 0

    @property
    def softens(self) -> bool:
        """Whether scores tell the class, and predictions are their softmax, of the same order but for rounding."""
        return self.by_scores and self.link == "softmax" and not self.blends

    def predictions(self, scores: F8) -> F8:
        """Return the predictions, float64 (rows, n_predictions), for scores, float64 (rows, K)."""
        values = self._linked(scores)
        agree = self.by_scores and not self.class_scores and not self.softens
        return agree_with_scores(values, scores, self.cut, self.half) if agree else values

    def _linked(self, scores: F8) -> F8:
        values = self.blended(scores)
        return apply_link(self.link, values if self.temperature == 1.0 else values / self.temperature, self.level)


def _number(values: Any) -> float:
    if isinstance(values, bool) or not isinstance(values, int | float | np.integer | np.floating):
        raise StageError(f"route: expected a number for threshold and steepness, got {shown(values)}")
    return float(values)


def _index(values: Any) -> int:
    if isinstance(values, bool) or not isinstance(values, int | np.integer):
        raise StageError(f"route: expected the index of a stage, got {shown(values)}")
    return int(values)


@frozen(eq=False, repr=False)
class Route:
    """A stage that passes the row on: to `above` iff its score exceeds the threshold, else (NaN too) to `below`.

    Parameters
    ----------
    learners : int64 (L,)
        Ascending indices into the bank.
    weights : float64 (C,)
        C is the number of outputs of these learners together.
    intercept : float
    threshold : float
        May be infinite, not NaN.
    steepness : float
        Slope of the sigmoid of soft routing; positive.
    below, above : int
        Indices of later stages.
    """

    learners: I8 = field(converter=_learners)
    weights: F8 = field(converter=as_matrix)
    intercept: F8 = field(converter=_scalar)
    threshold: float = field(converter=_number)
    steepness: float = field(converter=_number)
    below: int = field(converter=_index)
    above: int = field(converter=_index)

    def __attrs_post_init__(self) -> None:
        if self.weights.shape[1] != 1:
            raise StageError(f"route: expected one weight an output of its learners, got {self.weights.shape[1]}")
        if np.isnan(self.threshold):
            raise StageError("route: expected a threshold, got NaN")
        if not (np.isfinite(self.steepness) and self.steepness > 0):
            raise StageError(f"route: expected a positive finite steepness, got {self.steepness}")

    def __repr__(self) -> str:
        """Name the ways; the arrays would fill pages."""
        ways = f"above {self.threshold:g} to stage {self.above}", f"else to stage {self.below}"
        return brief(self, format_count(len(self.learners), "learner"), *ways)


# Stands below the classes that it joins.
Stage = Answer | Route


def renumber_stage(stage: Stage, n_stages: int, n_learners: int) -> Stage:
    """Return a stage for a tree with n stages before its own and a bank with n learners before its own."""
    moved: Stage = evolve(stage, learners=stage.learners + n_learners)
    if isinstance(moved, Route):
        return evolve(moved, below=moved.below + n_stages, above=moved.above + n_stages)
    return moved


def check_stages(stages: tuple[Stage, ...], widths: NDArray[np.int32]) -> None:
    """Refuse stages that are not one tree with its root first, or that do not fit the bank's output widths."""
    if not stages:
        raise StageError("stages: expected at least one answer, got none")
    parents = [0] * len(stages)
    for number, stage in enumerate(stages):
        _check_learners(number, stage, widths)
        for child in (stage.below, stage.above) if isinstance(stage, Route) else ():
            if not number < child < len(stages):
                raise StageError(f"stage {number}: goes on to stage {child}, expected a later one of {len(stages)}")
            parents[child] += 1
    for number, count in enumerate(parents):
        if count != (number > 0):
            raise StageError(f"stage {number}: is reached from {count} stages, expected {int(number > 0)}")
    answers = [stage for stage in stages if isinstance(stage, Answer)]
    if len(answers) > 1 and any(answer.is_alone for answer in answers):
        raise StageError(
            "answers: one with blends, or with a rule of its own for classes, is a model's only answer, got several"
        )
    outputs, links = {len(answer.intercept) for answer in answers}, {answer.link for answer in answers}
    if len(outputs) > 1:
        raise StageError(f"answers: expected the same number of outputs in all, got {sorted(outputs)}")
    if len(links) > 1 and "ranked" in links:
        raise StageError(f"answers: ranked ones go with ranked ones only, got links {', '.join(sorted(links))}")


def _check_learners(number: int, stage: Stage, widths: NDArray[np.int32]) -> None:
    if not isinstance(stage, Answer | Route):
        raise StageError(f"stage {number}: expected an Answer or a Route, got {type(stage).__name__}")
    if len(stage.learners) and stage.learners[-1] >= len(widths):
        raise StageError(f"stage {number}: uses learner {stage.learners[-1]}, the bank has {len(widths)}")
    expected = int(widths[stage.learners].sum())
    if len(stage.weights) != expected:
        raise StageError(f"stage {number}: its learners have {expected} outputs, it has {len(stage.weights)} weights")
