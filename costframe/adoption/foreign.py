"""A model of another library: which library it is of, whether it is fitted, and what its errors say."""

from __future__ import annotations

from typing import Any

from costframe.core.errors import AdoptionError


class OpaqueOnlyError(AdoptionError):
    """Error: a model can be adopted only as one opaque learner, which `costframe.adopt` then does."""


def is_of(model: object, library: str, *classes: str) -> bool:
    """Return whether a model is of one of these classes of a library, or derived from one, without importing it."""
    bases = type(model).__mro__
    return any(base.__name__ in classes and base.__module__.split(".")[0] == library for base in bases)


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
