"""The hooks of plugins: algorithms, adopted models, sources and data sets.

An entry point of the group `costframe` names a plugin's module, whose functions of these names are marked `hookimpl`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pluggy
from attrs import frozen

T = TypeVar("T")

hookspec = pluggy.HookspecMarker("costframe")
hookimpl = pluggy.HookimplMarker("costframe")


def import_lazily(module: str, names: Iterable[str]) -> Callable[[str], object]:
    """Return a package's `__getattr__`, which imports names from a module at their first use.

    The registry loads the packages of all plugins, and most commands need few of their estimators.
    """

    def get(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module.rpartition('.')[0]!r} has no attribute {name!r}")
        return getattr(importlib.import_module(module), name)

    return get


def load(given: T | str) -> T:
    """Import what a text `module:name` names, and return it; return anything else as it is."""
    if not isinstance(given, str):
        return given
    loaded: T = pkgutil.resolve_name(given)
    return loaded


@frozen
class Algorithm:
    """An algorithm: its name, summary, reference, and estimator classes.

    A class may be given as "module:Class", which is imported when it is used. A classifier for two classes only has
    scikit-learn's tag `classifier_tags.multi_class = False`. Sweeps fit `usual` algorithms by default, with "all" the
    others too, and a `baseline`, which is there to be compared with, only if it is named, or is a reference of studies.
    """

    name: str
    summary: str
    reference: str
    _classifier: type | str | None = None
    _regressor: type | str | None = None
    _ranker: type | str | None = None
    baseline: bool = False
    usual: bool = True

    @property
    def classifier(self) -> type | None:
        """Class of classifiers."""
        return load(self._classifier)

    @property
    def regressor(self) -> type | None:
        """Class of regressors."""
        return load(self._regressor)

    @property
    def ranker(self) -> type | None:
        """Class of rankers."""
        return load(self._ranker)

    @property
    def given(self) -> dict[str, type | str]:
        """Its classes as they were given, by role: "classifier", "regressor" or "ranker"."""
        every = {"classifier": self._classifier, "regressor": self._regressor, "ranker": self._ranker}
        return {role: kind for role, kind in every.items() if kind is not None}


@hookspec
def costframe_algorithms() -> Iterable[Algorithm]:  # type: ignore[empty-body]
    """Return the algorithms of this plugin."""


@hookspec(firstresult=True)
def costframe_adopt(model: Any, feature_names: Sequence[str] | None) -> Any:
    """Return a `Predictor` for a foreign model, or None if this plugin does not know its kind."""


@hookspec(firstresult=True)
def costframe_prepare(transformer: Any, feature_names: Sequence[str] | None) -> Any:
    """Return a foreign transformer as a `Preparation`, or None if this plugin does not know its kind."""


@hookspec(firstresult=True)
def costframe_spare(tree: Any, rows: Any) -> Any:
    """Return a `StageTree` that stands in for one where features are unavailable, learned from its `FallbackRows`.

    None if this plugin cannot learn one.
    """


@hookspec
def costframe_sources() -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
    """Return functions that make sources, by the name of their kind in files; their arguments are the file's options.

    A function may be given as "module:function", which is imported when it is used.
    A function with an argument `folder` receives the folder of the file.
    """


@hookspec
def costframe_datasets() -> Mapping[str, Callable[[], Any]]:  # type: ignore[empty-body]
    """Return loaders of a `Dataset`, by name; a loader may be given as "module:function"."""
