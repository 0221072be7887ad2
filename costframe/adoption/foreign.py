"""A model of another library: which library it is of, whether it is fitted, and what its errors say."""

from __future__ import annotations

from typing import Any

from costframe.core.errors import AdoptionError

_LIBRARIES = ("lightgbm", "xgboost", "catboost", "sklearn")


class OpaqueOnlyError(AdoptionError):
    """Error: a model can be adopted only as one opaque learner, which `costframe.adopt` then does."""


def package_of(kind: type) -> str:
    """Return the name of the package that defines a class."""
    return kind.__module__.partition(".")[0]


def library_of(model: object) -> str:
    """Return the library of a model's class, or of a class from which it is derived; "" if it is of none known here."""
    packages = set(map(package_of, type(model).__mro__))
    return next((library for library in _LIBRARIES if library in packages), "")


def is_of(model: object, library: str, *classes: str) -> bool:
    """Return whether a model is of one of these classes of a library, or derived from one, without importing it."""
    return any(base.__name__ in classes and package_of(base) == library for base in type(model).__mro__)


def describe_error(error: Exception) -> str:
    """Return the text of a foreign error, with its type where the text alone is unclear."""
    return str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"


def is_unfitted(model: Any) -> bool:
    """Return whether a model is a scikit-learn estimator that is not fitted."""
    if not (hasattr(model, "fit") and hasattr(model, "get_params")):
        return False
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return True
    return False


def refused(model: Any, why: str) -> OpaqueOnlyError:
    """Return the error of a model that cannot be adopted part by part, only as one opaque learner."""
    return OpaqueOnlyError(f"{type(model).__name__}: cannot be adopted part by part: {why}")
