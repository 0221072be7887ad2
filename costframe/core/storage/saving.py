"""Saving of predictors: one file with data only, never code."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from costframe.core.checks import as_path
from costframe.core.errors import ParameterError, StorageError, shown
from costframe.core.files import write_atomically
from costframe.core.predictors.certain import CertainPredictor
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.guarded import GuardedPredictor
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.digest import prices_digest
from costframe.core.storage.container import pack
from costframe.core.storage.stored_card import store_classes
from costframe.core.storage.stored_models import Savable, opaque_names, store_model
from costframe.core.storage.stored_outages import store_outages
from costframe.core.terms.outages import Outages


def save(
    predictor: object, path: str | os.PathLike[str], costs: object = None, *, outages: Outages | None = None
) -> None:
    """Write a predictor to one file, whole or not at all; equal models give equal bytes.

    An opaque learner is written as its name, features and width.

    Parameters
    ----------
    predictor : StageTree, PlannedPredictor or PreparedPredictor, or an estimator fitted to one
        Of an estimator, `load` gives back a `FittedEstimator`, which predicts as it did.
    path : str or path
    costs : CostModel, or anything `CostModel.of` accepts
        Prices of the loaded predictor; None keeps those of `predictor`.
    outages : Outages, optional
        What outages cost at the prices in the file, as `cf.outages` measured it: `load` then gives a `FittedEstimator`,
        which has it, also of a predictor. None keeps what `predictor` has, if it is at these prices.

    Raises
    ------
    StorageError
        If `predictor` cannot be saved, or the file cannot be written; an old file is then unchanged.
    CostModelError
        If `costs` does not price every feature of the predictor.
    ParameterError
        If `outages` are no figures of `cf.outages`, or at other prices.
    """
    file = as_path(path)
    try:
        given = FittedEstimator(predictor) if outages is not None and isinstance(predictor, Predictor) else predictor
        content = content_of(given, costs, outages=outages)
    except StorageError as error:
        raise StorageError(f"{file}: {error}") from error
    write_content(file, content)


def write_content(file: Path, content: bytes) -> None:
    """Write the content of `content_of`, whole or not at all."""
    try:
        write_atomically(file, content)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def content_of(
    predictor: object, costs: object = None, decimal: str | None = None, outages: Outages | None = None
) -> bytes:
    """Return the content of the file that `save` writes; errors are those of `save`, without the file.

    `decimal` is the decimal sign of the training table, by default that which a loaded estimator has.
    """
    if predictor is None:
        raise StorageError("expected a model to save, got None")
    arrays = dict[str, Any]()
    model: Any = getattr(predictor, "predictor_", predictor)
    if (core := _strange_part(model)) is not None:
        known = "StageTree or a PlannedPredictor"
        hint = "; adopt it first: cf.save(cf.adopt(model), path)" if hasattr(core, "predict") else ""
        hint = "; call fit first" if hasattr(core, "fit") and hasattr(core, "cost") else hint
        hint = (
            "; save the model without cf.certain, and wrap what load returns"
            if isinstance(core, CertainPredictor)
            else hint
        )
        raise StorageError(f"expected a {known}, only these can be saved; got {type(core).__name__}{hint}")
    if costs is not None:
        prices = CostModel.of(costs, model.feature_names)
        prices.select(model.feature_names)
        model = model.with_costs(prices)
    kind = getattr(predictor, "kind", FittedEstimator(model).kind) if hasattr(predictor, "predictor_") else None
    described = store_model(model, arrays) | {"classes": store_classes(model.classes), "estimator": kind}
    decimal = getattr(predictor, "decimal", None) if decimal is None else decimal
    outages = _outages_of(predictor, model) if outages is None else _checked(outages, model)
    further: dict[str, Any] = {} if decimal is None else {"decimal": decimal}
    further |= {} if outages is None else {"outages": store_outages(outages)}
    return pack(described | further, arrays)


def _outages_of(predictor: object, model: Predictor) -> Outages | None:
    """Return the figures of a loaded estimator, if they are at the prices of the model in the file."""
    own = predictor.outages if isinstance(predictor, FittedEstimator) else None
    return own if own is not None and own.prices == prices_digest(model.card.prices) else None


def _checked(outages: object, model: Predictor) -> Outages:
    """Refuse figures that would be taken for those at the prices of the model in the file."""
    if not isinstance(outages, Outages):
        raise ParameterError(f"outages: expected figures of cf.outages, got {shown(outages)}")
    if outages.prices != prices_digest(model.card.prices):
        raise ParameterError(
            "outages: these are figures at other prices than those of the model; give these as `costs`"
        )
    return outages


def checksum(predictor: Predictor) -> bytes:
    """Return a hash of all that `save` writes of a predictor; empty for one that it cannot save."""
    held = predictor.inner if isinstance(predictor, GuardedPredictor) else predictor
    mixes_functions = isinstance(held, MixedPredictor) and opaque_names(held)
    if _strange_part(predictor) is not None or mixes_functions:
        return b""
    arrays, model = dict[str, Any](), cast("Savable", predictor)
    return sha256(pack(store_model(model, arrays) | {"classes": store_classes(model.classes)}, arrays)).digest()


def _strange_part(model: Any) -> Any:
    """Return the part of a model that cannot be saved, or None."""
    if isinstance(model, MixedPredictor):
        return next((part for side in (model.first, model.second) if (part := _strange_part(side)) is not None), None)
    if isinstance(model, GuardedPredictor):
        return _strange_part(model.inner)
    core = model.inner if isinstance(model, PreparedPredictor) else model
    return None if isinstance(core, StageTree | PlannedPredictor | MixedPredictor) else core
