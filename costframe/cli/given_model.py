"""The model that a command is given, with its prices."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve, frozen

from costframe.adoption.adopting import adopt
from costframe.adoption.names import is_unnamed
from costframe.core.errors import CostModelError, ParameterError, quote_names, suggestion
from costframe.core.predictors.certain import certain
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.storage.loading import is_saved, load_fitted
from costframe.datasets.column_prices import read_empty_cells


@frozen(eq=False)
class PricedModel:
    """A model with the prices to use, and its name in errors, the path that the command was given."""

    path: str
    fitted: FittedEstimator
    prices: CostModel

    @property
    def predictor(self) -> Predictor:
        """The model itself, without labels' types and the decimal sign."""
        return self.fitted.predictor_

    def ended_by(self, until: float | str | None) -> PricedModel:
        """Return the model whose rows end early, as `--until` says."""
        return self if until is None else evolve(self, fitted=certain(self.fitted, until))


def open_model(path: str, costs: str | None, *, uniform: bool = False, records: bool | None = None) -> PricedModel:
    """Load or adopt a model for the columns that it reads, with the prices in the file `costs`, else its own.

    `records` says whether empty cells of what these price are tests that nobody made; None leaves it to the prices.

    With `uniform`, every feature of a model without prices costs one.

    Raises
    ------
    ParameterError
        If there are no prices.
    CostModelError
        If a feature of the model has no price; further prices are allowed.
    """
    given = None if costs is None else CostModel.load(costs)
    fitted = _load_or_adopt(Path(path), given)
    if given is not None and given != fitted.costs_:
        fitted = evolve(fitted, outages=None)  # its figures are at its own prices
    prices = given or fitted.costs_
    if prices is None and uniform:
        prices = CostModel.uniform(fitted.predictor_.feature_names)
    if prices is None:
        raise ParameterError(f"{path} holds no prices: give them with --costs")
    _check_prices(prices, fitted.predictor_, path, costs or "its prices")
    return PricedModel(path, fitted, read_empty_cells(prices, records))


def _load_or_adopt(path: Path, costs: CostModel | None) -> FittedEstimator:
    if is_saved(path):
        loaded = load_fitted(path)
        return evolve(loaded, predictor_=_only_needed(loaded.predictor_, costs))
    predictor = adopt(path)
    names = predictor.feature_names
    if costs is not None and is_unnamed(names) and len(names) == len(costs.names) and names != costs.names:
        predictor = adopt(path, feature_names=costs.names)  # trained on an array, in the order of the prices
    return FittedEstimator(_only_needed(predictor, costs))


def _only_needed(predictor: Predictor, costs: CostModel | None) -> Predictor:
    """Return the predictor of the features that it reads; as it is, if labels at these prices depend on others too."""
    is_enough = set(predictor.label_features(costs)) == set(predictor.used_features)
    return predictor.only_used_features() if is_enough else predictor


def _check_prices(prices: CostModel, predictor: Predictor, model: str, source: str) -> None:
    """Refuse prices that lack a feature of the model; further prices are allowed."""
    unpriced = [name for name in predictor.feature_names if name not in prices.names]
    if not unpriced:
        return
    unread = [name for name in prices.names if name not in predictor.feature_names]
    raise CostModelError(
        f"{model} and {source} do not fit: features without a price: {quote_names(unpriced)}"
        f"{suggestion(unpriced[0], unread)}; prices of no feature: {quote_names(unread) or 'none'}"
    )
