"""Adoption of what is costframe's own: fitted estimators and predictors, with their prices, under other names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve

from costframe.adoption.foreign import is_unfitted
from costframe.core.errors import AdoptionError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import behind_preparation
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.training.estimator import CostAwareClassifier
from costframe.training.shell import CostAwareEstimator


def own_predictor(model: Any) -> Predictor | None:
    """Return the predictor of a fitted estimator or search of costframe, a predictor as it is; None for others."""
    predictor = model if isinstance(model, Predictor) else getattr(model, "predictor_", None)
    return predictor if isinstance(predictor, Predictor) else None


def is_own(model: Any) -> bool:
    """Return whether a model is costframe's own."""
    return isinstance(model, CostAwareEstimator) or own_predictor(model) is not None


def gives_its_scores(model: Any) -> bool:
    """Return whether the `decision_function` of an estimator or search of costframe is that of its predictor.

    Plugins whose predictors add up probabilities give their log odds.
    """
    chosen = getattr(model, "best_estimator_", model)
    if not isinstance(chosen, CostAwareClassifier):
        return True
    tree = behind_preparation(chosen.predictor_)
    is_inherited = type(chosen).decision_function is CostAwareClassifier.decision_function
    gives_own = is_inherited and not chosen._scores_are_chances  # noqa: SLF001 - of its own package
    return gives_own or not isinstance(tree, StageTree) or tree.links != ("identity",)


def adopt_own(model: Any, feature_names: Sequence[str] | None = None) -> Predictor:
    """Return the predictor of a model of costframe, for columns with other names if any are given."""
    predictor = own_predictor(model)
    if predictor is None or is_unfitted(model):
        raise AdoptionError(f"{type(model).__name__}: is not fitted; fit it before adopting it")
    return predictor if feature_names is None else rename_columns(predictor, feature_names)


def rename_columns(predictor: Predictor, names: Sequence[str]) -> Predictor:
    """Return a predictor for columns with other names, in the same order, and its prices under these names.

    Raises
    ------
    AdoptionError
        If there are more or fewer names, or the predictor is of a kind whose columns cannot be renamed.
    """
    names = tuple(map(str, names))
    if predictor.feature_names == names:
        return predictor
    old_names = predictor.feature_names
    if len(old_names) == len(names):
        if isinstance(predictor, StageTree):
            costs = _rename_prices(predictor.costs, old_names, names)
            return evolve(predictor, bank=predictor.bank.renamed(names), costs=costs)
        if isinstance(predictor, PlannedPredictor):
            further = predictor.gains_bank.feature_names[len(names) :]
            banks = predictor.bank.renamed(names), predictor.gains_bank.renamed((*names, *further))
            costs = _rename_prices(predictor.costs, old_names, names)
            return evolve(predictor, bank=banks[0], gains_bank=banks[1], costs=costs)
    raise AdoptionError(
        f"{type(predictor).__name__}: its features are {old_names}, but the steps before it make {names}; train it "
        "with costs.through(...) of these steps"
    )


def _rename_prices(costs: CostModel | None, old_names: Sequence[str], names: Sequence[str]) -> CostModel | None:
    """Return prices of columns with other names."""
    if costs is None:
        return None
    price, new = {feature.name: feature for feature in costs.features}, dict(zip(old_names, names, strict=True))
    features = tuple(evolve(price[old], name=name) for old, name in new.items())
    return evolve(costs, features=features, errors=None if costs.errors is None else costs.errors.renamed(new))
