"""What estimators do where nobody knows what a test shows: they leave columns out, or their models bar them in regions.

Gaps of records (`costframe.records.guard`) say where that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define

from costframe.core.predictors.guarded import Bar, GuardedPredictor, bars_of
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.stages.fallbacks import FallbackRows
from costframe.records.guard import Gaps
from costframe.training.data import TrainingData
from costframe.training.model_path import PathAround


def guard_predictor(predictor: Predictor, gaps: Gaps) -> Predictor:
    """Return a predictor that does without the tests of gaps in their regions; itself where that changes nothing.

    So is one whose regions cost something to tell: then the gaps are only said. Both parts of a mixture have a guard.
    """
    if isinstance(predictor, GuardedPredictor | MixedPredictor):
        return predictor
    pairs = ((gap.features, gap.region) for gap in gaps.regional)
    bars = [Bar(features, region.conditions) for features, region in dict.fromkeys(pairs) if region is not None]
    kept = list(bars_of(predictor, bars))
    return GuardedPredictor(predictor, kept) if kept else predictor


def leave_out(data: TrainingData, gaps: Gaps, only: Sequence[int] | None) -> TrainingData:
    """Return training data in which columns that gaps leave out, and all but `only`, are constant."""
    if not gaps.left_out:
        return data if only is None else data.reading_only(only)
    unread = {data.feature_names.index(name) for name in gaps.left_out if name in data.feature_names}
    allowed = range(len(data.feature_names)) if only is None else only
    return data.reading_only([column for column in allowed if column not in unread])


@define(eq=False)
class GuardedPath(PathAround):
    """A path of models, each of which does without the tests of gaps in their regions."""

    gaps: Gaps
    known: FallbackRows  # which teach answers without the tests

    def predictor(self, point: Any) -> Predictor:
        """Return the model of a point."""
        guarded = guard_predictor(self.inner.predictor(point), self.gaps)
        if isinstance(guarded, GuardedPredictor):
            return guarded.with_fallbacks(self.known.X, self.known.weight, self.known.shares)
        return guarded
