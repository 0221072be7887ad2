"""Prices and tradeoffs to draw: nasty ones, and ones of the size of gains, which decide."""

from hypothesis import strategies as st

import costframe as cf
from costframe.testing.strategies import cost_models


@st.composite
def telling(draw, names):
    """Prices of all kinds beside which splits of a few dozen rows of unit variance gain more or less; tradeoff 1."""
    row, once = st.sampled_from([0.0, 0.02, 0.05, 0.1]), st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0])
    resources = {"r": {"cost": draw(row), "needs": ["s"]}, "s": draw(row)}
    needs = st.sampled_from([[], [], ["r"], ["s"]])
    features = {name: {"cost": draw(row), "once": draw(once), "needs": draw(needs)} for name in names}
    computing = {kind: draw(st.sampled_from([0.0, 0.0, 0.01])) for kind in ("split", "learner", "reuse")}
    return cf.CostModel.from_dict({"features": features, "resources": resources} | computing), 1.0


def priced(names):
    """Draw a cost model and a tradeoff."""
    return telling(names) | st.tuples(cost_models(names), st.sampled_from([0.0, 1e-3, 0.01, 0.1]))
