"""Tables of rows with their prices: built-in, from plugins, and from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from costframe.datasets.dataset import Dataset, Rows
from costframe.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from costframe.datasets.tables import read_table

__all__ = ["Dataset", "Rows", "load", "names", "read_table"]


def load(name: str) -> Dataset:
    """Return a data set by name, as in `names()`; an unknown name is a `PluginError` that lists the known ones."""
    from costframe.core.registry import registry

    dataset: Dataset = registry().dataset(name)()
    return dataset


def names() -> list[str]:
    """Return the names of the data sets that are built in or come with plugins, sorted."""
    from costframe.core.registry import registry

    return sorted(registry().datasets)


@hookimpl
def costframe_datasets() -> Mapping[str, Callable[[], Dataset]]:
    """Return the loaders of the built-in data sets."""
    return {"breast-cancer": _breast_cancer}


def _breast_cancer() -> Dataset:
    from costframe.datasets.breast_cancer import breast_cancer

    return breast_cancer()


def __getattr__(name: str) -> object:
    if name == "read_table":  # loads pyarrow, which the start of a command need not wait for
        from costframe.datasets.tables import read_table

        return read_table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
