"""The extension surface: all that a plugin can add to costframe.

A plugin is a module named by an entry point of the group `costframe`, with functions of these names marked `hookimpl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from costframe.core.predictors.predictor import Predictor
    from costframe.datasets import Dataset

__all__ = ["Algorithm", "hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("costframe")
hookimpl = pluggy.HookimplMarker("costframe")


@frozen
class Algorithm:
    """A way to train predictors: data, and the estimator classes it has.

    A classifier for two classes only says so by scikit-learn's tag, `classifier_tags.multi_class`.
    """

    name: str
    summary: str
    reference: str
    classifier: type | None = None
    regressor: type | None = None
    ranker: type | None = None


@hookspec
def costframe_algorithms() -> Iterable[Algorithm]:  # type: ignore[empty-body]
    """Return the algorithms that this plugin brings."""


@hookspec(firstresult=True)
def costframe_adopt(model: Any, feature_names: Sequence[str] | None) -> Predictor | None:
    """Turn a foreign model into a predictor, or return None if it is not this plugin's kind."""


@hookspec
def costframe_sources() -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
    """Return makers of sources, by name."""


@hookspec
def costframe_datasets() -> Mapping[str, Callable[[], Dataset]]:  # type: ignore[empty-body]
    """Return loaders of data sets, by name."""
