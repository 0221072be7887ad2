"""Exact zeros after a relaxation, which reaches none: drop what does not matter, and fit what is left anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.single_stage import fit_ridge
from costframe_cronus.chain import Chain
from costframe_cronus.flow import Flow
from costframe_cronus.thresholds import threshold_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.stagewise.seen import SeenRows

__all__ = ["dropped", "refit"]

_DROP = 1e-3  # of the target's deviation: a learner whose scores deviate by less does not matter
_IDLE = 1e-3  # a stage that rejects less of what comes to it, or passes on less, decides nothing


def dropped(chain: Chain, rows: SeenRows) -> NDArray[np.float64]:
    """Return the weights that matter, float64 (K, C), the others set to zero."""
    mean = rows.in_mean @ rows.target
    unit = np.sqrt(rows.in_mean @ np.square(rows.target - mean))
    return np.where(np.abs(chain.weights) * np.sqrt(rows.variance) >= _DROP * unit, chain.weights, 0.0)


def refit(chain: Chain, rows: SeenRows, ridge: float, steepness: float) -> Chain:
    """Fit each stage by ridge to its support, on what comes to it; a stage keeps its pass rate, or else routes move.

    Stages that are left without weights, or pass on all or nothing, are left out.
    """
    flow = Flow.of(chain.scores(rows), chain.threshold, steepness)
    weights = dropped(chain, rows)
    reach = rows.share @ flow.passes
    rates = np.divide(reach[1:], reach[:-1], out=np.zeros(len(reach) - 1), where=reach[:-1] > 0)
    ends = np.append(np.flatnonzero(rates < _IDLE), len(rates))[0]
    kept = [k for k in range(ends) if weights[k].any() and rates[k] < 1 - _IDLE] + [ends]
    fitted, intercept, threshold = np.zeros((len(kept), weights.shape[1])), np.zeros(len(kept)), []
    passes = np.ones(len(rows.target))
    for place, k in enumerate(kept):
        used = np.flatnonzero(weights[k])
        normal = NormalEquations.of(rows.outputs.columns(used), rows.target[:, np.newaxis], rows.in_mean * passes)
        found = fit_ridge(normal, normal.varies, ridge * normal.unit)
        fitted[place, used], intercept[place] = found[:, 0], normal.intercept(found)[0]
        if k < ends:
            scores = rows.outputs.columns(used).times(found)[:, 0] + intercept[place]
            threshold.append(threshold_for(scores, rows.share * passes, float(rates[k]), steepness))
            passes = passes * Flow.of(np.stack([scores, scores], 1), np.array(threshold[-1:]), steepness).on[:, 0]
    return Chain(fitted, intercept, np.array(threshold))
