"""Models and rows that commands are given: saved and foreign model files, their prices, tables and data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from costframe.cli.given_data import is_file, load_named, refuse_for_named
from costframe.cli.group import print_error
from costframe.core.errors import CostModelError, DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.predictors.predictor import Predictor
    from costframe.core.prices.costs import CostModel
    from costframe.datasets import Dataset

__all__ = ["features_of", "open_blocks", "open_model", "open_rows"]


def open_model(model: str, costs: str | None, *, uniform: bool = False) -> tuple[FittedEstimator, CostModel]:
    """Load or adopt a model for the columns that it reads; return it with the prices in `costs`, else its own.

    With `uniform`, every feature of a model without prices costs one.

    Raises
    ------
    ParameterError
        If there are no prices.
    CostModelError
        If a feature of the model has no price; further prices are allowed.
    """
    from costframe.core.prices.costs import CostModel

    given = None if costs is None else CostModel.load(costs)
    fitted = _load_or_adopt(Path(model), given)
    prices = given or fitted.costs_
    if prices is None and uniform:
        prices = CostModel.uniform(fitted.predictor_.feature_names)
    if prices is None:
        raise ParameterError(f"{model} holds no prices: give them with --costs")
    _check_prices(prices, fitted.predictor_, model, costs or "its prices")
    return fitted, prices


def _load_or_adopt(path: Path, costs: CostModel | None) -> FittedEstimator:
    from costframe.core.predictors.fitted import FittedEstimator, as_predictor
    from costframe.core.storage.saving import is_saved, load

    if is_saved(path):
        loaded = load(path)
        predictor = as_predictor(loaded).only_used_features()
        kind = {"kind": loaded.kind} if isinstance(loaded, FittedEstimator) else {}
        return FittedEstimator(predictor, **kind)
    from costframe.adoption.adopted import is_unnamed
    from costframe.adoption.adopting import adopt

    predictor = adopt(path)
    own = predictor.feature_names
    if costs is not None and is_unnamed(own) and len(own) == len(costs.names) and own != costs.names:
        predictor = adopt(path, feature_names=costs.names)  # trained on an array, in the order of the prices
    return FittedEstimator(predictor.only_used_features())


def _check_prices(prices: CostModel, predictor: Predictor, model: str, source: str) -> None:
    """Refuse prices that lack a feature of the model; further prices are allowed."""
    from costframe.core.errors import quote_names, suggestion

    unpriced = [name for name in predictor.feature_names if name not in prices.names]
    if not unpriced:
        return
    unread = [name for name in prices.names if name not in predictor.feature_names]
    raise CostModelError(
        f"{model} and {source} do not fit: features without a price: {quote_names(unpriced)}"
        f"{suggestion(unpriced[0], unread)}; prices of no feature: {quote_names(unread) or 'none'}"
    )


def open_blocks(
    data: str,
    predictor: Predictor,
    part: str | None,
    model: str,
    keep: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
) -> Iterator[tuple[NDArray[np.float64], dict[str, Any]]]:
    """Yield rows of a file or data set for a predictor, float64 (rows, d), and columns to copy, block by block.

    `model` is its name in errors. What is unusual about a file goes to the error stream, in one line.
    """
    if not is_file(data):
        if keep:
            raise ParameterError(f"--keep is for files; the data set {data} has features only")
        refuse_for_named(data, {"--missing": missing})
        dataset = load_named(data)
        X = features_of(dataset, predictor, model, data)
        yield X if part is None else X[dataset.split == part], {}
        return
    from costframe.datasets.model_rows import ModelRows
    from costframe.datasets.table_files import TableFile

    file = TableFile.open(data, missing)
    if file.note is not None:
        print_error(file.note)
    yield from ModelRows(file, predictor.feature_names, part, predictor.categories, model, keep, print_error).blocks()


def open_rows(
    data: str, predictor: Predictor, part: str | None, model: str, missing: tuple[str, ...] = ()
) -> NDArray[np.float64]:
    """Read the rows of a file or data set for a predictor, float64 (rows, d); see `open_blocks`."""
    import numpy as np

    return np.concatenate([X for X, _ in open_blocks(data, predictor, part, model, missing=missing)])


def features_of(dataset: Dataset, predictor: Predictor, model: str, data: str) -> NDArray[np.float64]:
    """Return the columns of a data set that a predictor reads, float64 (n, d); refuse it if one does not fit."""
    from costframe.core.errors import quote_names

    missing = [name for name in predictor.feature_names if name not in dataset.feature_names]
    if missing:
        raise DataError(f"{data}: no feature {missing[0]!r}, which {model} reads")
    for name, labels in predictor.categories.items():
        if {**dataset.categorical, **dataset.dates}.get(name) != labels:
            known = quote_names(labels) if isinstance(labels, tuple) else "hashes of texts, or dates"
            raise DataError(f"{data}: feature {name!r} has other labels than {model}: {known}")
    return dataset.X[:, [dataset.feature_names.index(name) for name in predictor.feature_names]]
