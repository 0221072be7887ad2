"""Data sets: tables of rows with prices, built in, from plugins, and from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from costframe.core.checks import needed
from costframe.core.errors import CostframeError, PluginError
from costframe.datasets.breast_cancer import breast_cancer
from costframe.datasets.dataset import Dataset, PartRows
from costframe.datasets.plane import make_coast, make_islands
from costframe.datasets.synthetic import make_parity, make_quadrants, make_selector
from costframe.hooks import hookimpl

if TYPE_CHECKING:
    from costframe.datasets.tables import read_table

__all__ = [
    "Dataset",
    "PartRows",
    "load",
    "make_coast",
    "make_islands",
    "make_parity",
    "make_quadrants",
    "make_selector",
    "names",
    "read_table",
]


def load(name: str, seed: int | None = None) -> Dataset:
    """Return a data set by name, as in `names()`.

    Parameters
    ----------
    name : str
    seed : int, optional
        Seed of the split into train, valid and test; by default the data set's own, 0.

    Raises
    ------
    ParameterError
        If a seed is given, and the data set's rows come in train, valid and test.
    PluginError
        If the name is unknown (the text lists the known ones), or its plugin fails to load the data.
    """
    from costframe.core.plugins.registry import registry

    loader = registry().dataset(name)
    try:
        dataset = loader()
    except CostframeError:
        raise
    except Exception as error:
        raise PluginError(f"data set {name!r}: its plugin failed: {type(error).__name__}: {error}") from error
    if not isinstance(dataset, Dataset):
        raise PluginError(f"data set {name!r}: expected its plugin to return a Dataset, got {type(dataset).__name__}")
    return dataset if seed is None else dataset.split_anew(seed)


def names() -> list[str]:
    """Return the sorted names of the data sets, built in and from plugins."""
    from costframe.core.plugins.registry import registry

    return sorted(registry().datasets)


@hookimpl
def costframe_datasets() -> Mapping[str, Callable[[], Dataset]]:
    """Return the loaders of the built-in data sets."""
    return {
        "breast-cancer": breast_cancer,
        "parity": make_parity,
        "quadrants": make_quadrants,
        "selector": make_selector,
        "selector-unequal": partial(make_selector, prices=(5.0, 10.0, 20.0, 40.0)),
        "synthetic-1": make_coast,
        "synthetic-2": make_islands,
    }


def __dir__() -> list[str]:
    return [*__all__, costframe_datasets.__name__]  # pluggy looks for hooks here


def __getattr__(name: str) -> object:
    if name == "read_table":  # it loads pyarrow, too slow for the start of a command
        needed("pyarrow", "cli")
        from costframe.datasets.tables import read_table

        return read_table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
