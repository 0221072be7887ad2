"""CatBoost's models, live and in files."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from costframe.adoption.catboost.document import read_document
from costframe.adoption.catboost.model import build_predictor
from costframe.adoption.documents import parse_json
from costframe.adoption.foreign import OpaqueOnlyError, is_of
from costframe.core.errors import AdoptionError, BankError, DataError, StageError
from costframe.core.predictors.stage_tree import StageTree

_GZIP, _MAGIC = b"\x1f\x8b", b"CBM1"
_CONVERT = """
import sys, catboost
catboost.CatBoost().load_model(sys.argv[1]).save_model(sys.argv[2], format="json")
"""


def is_catboost(model: object) -> bool:
    """Return whether a model is CatBoost's, without importing catboost."""
    return is_of(model, "catboost", "CatBoost")


def looks_like_catboost(data: bytes) -> bool:
    """Return whether a file's content is a CatBoost model, in JSON or .cbm."""
    if data.startswith(_MAGIC):
        return True
    is_object = data[:64].lstrip().startswith(b"{")
    return is_object and b'"features_info"' in data and (b'"oblivious_trees"' in data or b'"trees"' in data)


def adopt_catboost(model: Any, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt a CatBoost model exactly.

    Every row reaches the original's leaf in every tree: NaN, infinities and ties included, and raw values are the
    original's, bit for bit unless the model is scaled. CatBoost tests `float32(x) > float32(border)`; adopted
    thresholds are the largest doubles that fail.

    Categories are texts or whole numbers, as for CatBoost; floats that an array holds are hashes of categories. A
    missing category, which CatBoost refuses, is equal to none.

    Parameters
    ----------
    model : CatBoost, CatBoostClassifier, CatBoostRegressor or CatBoostRanker
        Predictions are probabilities of classifiers (P(class 1) of two; one for each class of more, or for each label
        that a row may have), `exp` of the raw value for Poisson and Tweedie, the mean and the variance for
        RMSEWithUncertainty, and raw values of others. Labels obey `set_probability_threshold`.
    feature_names : sequence of str, optional
        Names by position. By default the model's own, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the model is not fitted, or has splits that cannot be adopted: by statistics of the target (CTR), by texts,
        or by embeddings.
    """
    name = type(model).__name__
    if not is_catboost(model):
        raise AdoptionError(f"{name}: expected a CatBoost model")
    if not model.is_fitted():
        raise AdoptionError(f"{name}: is not fitted; fit it before adopting it")
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
            return adopt_catboost_file(path.read_bytes(), f"{name} model", feature_names)
        except AdoptionError as error:
            raise OpaqueOnlyError(str(error)) from error
        except catboost.CatBoostError as error:
            raise OpaqueOnlyError(f"{name}: catboost cannot write it as JSON: {error}") from error


def adopt_catboost_file(data: bytes, where: str, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt the content of a CatBoost file: JSON without catboost, .cbm by way of it; see `adopt_catboost`.

    `where` names the file in errors.
    """
    if data.startswith(_GZIP):
        raise AdoptionError(f"{where}: is compressed; unpack it first with gunzip")
    try:
        document = _as_json(data, where) if data.startswith(_MAGIC) else data
        return build_predictor(read_document(parse_json(document, where)), feature_names)
    except (BankError, DataError, StageError) as error:
        raise AdoptionError(f"{where}: {error}") from error


def _as_json(data: bytes, where: str) -> bytes:
    """Return the JSON that catboost writes of a .cbm file, in a process of its own: damaged files crash the library."""
    if importlib.util.find_spec("catboost") is None:
        raise AdoptionError(f"{where}: a .cbm file needs catboost; install it, or save the model with format='json'")
    with tempfile.TemporaryDirectory() as folder:
        binary, document = Path(folder) / "model.cbm", Path(folder) / "model.json"
        binary.write_bytes(data)
        command = [sys.executable, "-c", _CONVERT, str(binary), str(document)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own text
        if done.returncode or not document.exists():
            said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] if done.returncode > 0 else []
            reason = said[0].rpartition("CatBoostError: ")[2] if said else "it ends the library"
            raise AdoptionError(f"{where}: catboost cannot read it: {reason}")
        return document.read_bytes()
