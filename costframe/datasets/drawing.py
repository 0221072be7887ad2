"""Data sets drawn part by part, and checks of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, shown
from costframe.core.prices.costs import CostModel
from costframe.datasets.dataset import Dataset
from costframe.datasets.parts import PARTS


def draw_parts(
    draw: Callable[[int, np.random.Generator], tuple[F8, NDArray[Any]]],
    prices: Mapping[str, float],
    sizes: tuple[int, int | None, int | None],
    random_state: int | None,
    task: str,
    name: str,
    *,
    perfect_cost: float | None = None,
) -> Dataset:
    """Draw train, valid and test by `draw`, (n, rng) -> X (n, d), y (n,); no part depends on the size of another.

    `prices` are in the order of X's columns; `sizes` are n_rows, n_valid and n_test, None for n_rows. None as
    `random_state` draws other rows each time.
    """
    given = dict(zip(("n_rows", "n_valid", "n_test"), sizes, strict=True))
    counts = [int(check_number(part, sizes[0] if n is None else n, low=1, whole=True)) for part, n in given.items()]
    if random_state is not None:
        check_number("random_state", random_state, whole=True)
    seeds = np.random.SeedSequence(random_state).spawn(len(PARTS))
    drawn = [draw(n, np.random.default_rng(seed)) for n, seed in zip(counts, seeds, strict=True)]
    return Dataset.from_arrays(
        np.concatenate([X for X, _ in drawn]),
        np.concatenate([y for _, y in drawn]),
        CostModel.from_dict({"features": dict(prices)}),
        feature_names=tuple(prices),
        split=np.repeat(PARTS, counts),
        task=task,
        name=name,
        perfect_cost=perfect_cost,
    )


def check_numbers(name: str, given: Any, n: int | None, expected: str) -> F8:
    """Return n finite numbers, or any number of them; refuse other values with an error that names the `expected`."""
    try:
        values = np.array(given, np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or n not in {None, len(values)} or not np.isfinite(values).all():
        raise ParameterError(f"{name}: expected {expected}, got {shown(given)}")
    return values
