"""Loading of predictors from the files that `save` writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from costframe.core.checks import as_path
from costframe.core.errors import CostframeError, StorageError
from costframe.core.numerals import DECIMALS
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.predictor import Predictor
from costframe.core.storage.container import MAGIC, check_magic, unpack
from costframe.core.storage.stored_arrays import StoredArrays
from costframe.core.storage.stored_banks import OpaqueFunctions
from costframe.core.storage.stored_card import build_classes
from costframe.core.storage.stored_models import build_model
from costframe.core.storage.stored_outages import build_outages

_OPTIONAL = "decimal", "outages"  # fields of a file that may be absent


def load(path: str | os.PathLike[str], opaque: OpaqueFunctions | None = None) -> Predictor | FittedEstimator:
    """Read a saved predictor or estimator, equal to the saved one in predictions, costs and inquiries to the last bit.

    Parameters
    ----------
    path : str or path
    opaque : mapping of str to callable, optional
        Function of each opaque learner in the file; see `OpaqueLearner`.

    Raises
    ------
    StorageError
        If the file cannot be read, is not a saved predictor, is truncated, altered, newer than this version, or
        describes an invalid model; or if `opaque` does not hold exactly the functions of its opaque learners.
    """
    file = as_path(path)
    try:
        return from_content(read_content(file), opaque)
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error


def load_fitted(path: str | os.PathLike[str]) -> FittedEstimator:
    """Read a saved predictor or estimator as an estimator, with the decimal sign of its table; errors are of `load`."""
    file = as_path(path)
    try:
        return _build(*_unpack(read_content(file)), {})
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error


def from_content(content: bytes, opaque: OpaqueFunctions | None = None) -> Predictor | FittedEstimator:
    """Return the model of a file's content; errors are those of `load`, without the file."""
    model, arrays = _unpack(content)
    fitted = _build(model, arrays, {} if opaque is None else opaque)
    return fitted.predictor_ if model["estimator"] is None else fitted


def _unpack(content: bytes) -> tuple[Any, StoredArrays]:
    model, arrays = unpack(content)
    return model, StoredArrays(arrays)


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as one of `save` does."""
    try:
        with as_path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def read_content(file: Path) -> bytes:
    """Read a file that begins as those of `save`; errors are those of `load`, without the file."""
    try:
        with file.open("rb") as stream:
            begin = stream.read(len(MAGIC))
            check_magic(begin)  # before reading the rest of a large file
            return begin + stream.read()
    except CostframeError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _build(model: Any, arrays: StoredArrays, functions: OpaqueFunctions) -> FittedEstimator:
    given = [name for name in _OPTIONAL if isinstance(model, dict) and name in model]
    predictor = build_model(model, arrays, functions, "classes", "estimator", *given)
    arrays.close()
    predictor, kind = predictor.with_classes(build_classes(model["classes"])), model["estimator"]
    if "decimal" in given and model["decimal"] not in DECIMALS:
        raise StorageError(f"malformed decimal: expected one of {DECIMALS}, got {model['decimal']!r:.80}")
    kinds = {} if kind is None else {"kind": kind}
    outages = build_outages(model["outages"]) if "outages" in given else None
    return FittedEstimator(predictor, **kinds, decimal=model.get("decimal"), outages=outages)
