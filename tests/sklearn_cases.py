"""Data that scikit-learn's models are fitted to, and what they predict, in the shape of adopted models."""

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


def accepted_rows(adopted, model_rows, *, infinite=False):
    missing = bool(np.isnan(model_rows).any())
    return nasty_rows(adopted.table, N_FEATURES, 200, missing=missing, infinite=infinite)


def probabilities(model, rows):
    """Float64 (rows, K); of two classes that of class 1 only."""
    values = model.predict_proba(rows)
    return values[:, 1:] if values.shape[1] == 2 else values
