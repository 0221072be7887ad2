"""What tests of data sets share."""

from __future__ import annotations

import numpy as np
import pandas as pd


def some_frame(n=60, **more):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n), **more})
