"""Data that scikit-learn's models are fitted to, and what they predict, in the shape of adopted models."""

from __future__ import annotations

import numpy as np
from naive_adopt import nasty_rows

N_ROWS, N_FEATURES = 240, 4
RNG = np.random.default_rng(11)
WHOLE = np.round(RNG.normal(size=(N_ROWS, N_FEATURES)), 1)  # few distinct values: many ties
HOLES = np.where(RNG.random(WHOLE.shape) < 0.15, np.nan, WHOLE)
SIGNAL = WHOLE[:, 0] + WHOLE[:, 1] * np.isnan(HOLES[:, 2]) + 0.3 * RNG.normal(size=N_ROWS)
TWO = np.where(SIGNAL > 0.2, "sick", "well")
THREE = np.digitize(SIGNAL, [-0.5, 0.5]) * 10
PAIR = np.column_stack([SIGNAL, np.abs(SIGNAL)])

SUMS_OVERFLOW = np.errstate(invalid="ignore")  # scikit-learn adds up all values to see whether they are finite


def accepted_rows(adopted, model_rows, seed=0, *, infinite=False):
    return nasty_rows(
        adopted.table, N_FEATURES, 200, missing=bool(np.isnan(model_rows).any()), infinite=infinite, seed=seed
    )


def probabilities(model, rows):
    """Float64 (rows, K); of two classes that of class 1 only."""
    values = model.predict_proba(rows)
    return values[:, 1:] if values.shape[1] == 2 else values


def raw_scores(model, rows):
    raw = model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)
    return raw.reshape(len(rows), -1)


def assert_link(adopted, model, rows):
    predicted = adopted.predict(rows).reshape(len(rows), -1)
    expected = probabilities(model, rows) if hasattr(model, "classes_") else model.predict(rows)[:, None]
    assert np.allclose(predicted, expected, rtol=1e-12)
    assert (adopted.classes is None) == (not hasattr(model, "classes_"))
