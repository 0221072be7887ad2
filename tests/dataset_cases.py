"""What tests of data sets share."""

from __future__ import annotations

import numpy as np
import pandas as pd

from costframe.core import machine
from costframe.datasets.leaks import find_leaks
from costframe.datasets.model_rows import ModelRows
from costframe.datasets.parts import Kinds, obey_split, split_rows
from costframe.datasets.table_files import TableFile
from costframe.datasets.tables import read_large_table

__all__ = ["Kinds", "ModelRows", "TableFile", "find_leaks", "machine", "obey_split", "read_large_table", "split_rows"]


def some_frame(n=60, **more):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n), **more})


def read_rows(path, feature_names, part=None, *, categories=None, reader="the model"):
    """The rows of a file, or of one part, as a model reads them: float64 (rows, d)."""
    rows = ModelRows(TableFile.open(path), feature_names, part, categories or {}, reader, allow_unknown=True)
    return np.concatenate([X for X, _ in rows.blocks()])
