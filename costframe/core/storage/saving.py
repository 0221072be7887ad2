"""Saving and loading of predictors: one file with data only, never code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from costframe.core.errors import CostframeError, StorageError
from costframe.core.files import write_atomically
from costframe.core.prices.costs import CostModel
from costframe.core.storage.container import MAGIC, check_magic, pack, unpack
from costframe.core.storage.stored_models import KINDS
from costframe.core.storage.stored_parts import StoredArrays, fields_of

if TYPE_CHECKING:
    import os

    from costframe.core.predictors.predictor import Predictor
    from costframe.core.storage.stored_parts import OpaqueFunctions

__all__ = ["load", "save"]


def save(predictor: object, path: str | os.PathLike[str], costs: object = None) -> None:
    """Write a predictor to one file, whole or not at all; equal models give equal bytes.

    An opaque learner is written as its name, features and width. Class labels belong to estimators and are not written.

    Parameters
    ----------
    predictor : StageTree or PlannedPredictor, or an estimator fitted to one
    path : str or path
    costs : CostModel, or anything `CostModel.of` accepts
        Prices of the loaded predictor; None keeps those of `predictor`.

    Raises
    ------
    StorageError
        If `predictor` cannot be saved, or the file cannot be written; an old file is then unchanged.
    CostModelError
        If `costs` does not price every feature of the predictor.
    """
    file = Path(path)
    model: Any = getattr(predictor, "predictor_", predictor)
    name, kind = next(((name, kind) for name, kind in KINDS.items() if isinstance(model, kind.predictor)), (None, None))
    if kind is None:
        known = " or a ".join(kind.predictor.__name__ for kind in KINDS.values())
        raise StorageError(f"{file}: expected a {known}, only these can be saved; got {type(model).__name__}")
    if costs is not None:
        prices = CostModel.of(costs, model.feature_names)
        prices.select(model.feature_names)
        model = model.with_costs(prices)
    content = pack({"kind": name} | kind.describe(model), kind.arrays(model))
    try:
        write_atomically(file, content)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def load(path: str | os.PathLike[str], opaque: OpaqueFunctions | None = None) -> Predictor:
    """Read a saved predictor, equal to the saved one in predictions, costs and inquiries to the last bit.

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
    file = Path(path)
    try:
        model, arrays = unpack(_read(file))
        return _build(model, StoredArrays(arrays), {} if opaque is None else opaque)
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            begin = stream.read(len(MAGIC))
            check_magic(begin)  # before reading the rest of a large file
            return begin + stream.read()
    except CostframeError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _build(model: object, arrays: StoredArrays, functions: OpaqueFunctions) -> Predictor:
    named = model.get("kind") if isinstance(model, dict) else None
    kind = KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise StorageError(f"malformed model: expected one of the kinds {list(KINDS)}, got {named!r:.80}")
    keys = ("kind", *kind.keys)
    predictor = kind.build(dict(zip(keys, fields_of(model, "model", *keys), strict=True)), arrays, functions)
    arrays.close()
    return predictor
