"""What tests of data sets share."""

from __future__ import annotations

import numpy as np
import pandas as pd

from costframe.datasets.model_rows import ModelRows
from costframe.datasets.table_files import TableFile


def some_frame(n=60, **more):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n), **more})


def read_rows(path, feature_names, part=None, *, categories=None, reader="the model"):
    """The rows of a file, or of one part, as a model reads them: float64 (rows, d)."""
    rows = ModelRows(TableFile.open(path), feature_names, part, categories or {}, reader, allow_unknown=True)
    return np.concatenate([X for X, _ in rows.blocks()])
