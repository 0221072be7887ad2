"""Models that stay accurate while acquiring few features, with the exact cost of every prediction."""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

# Modules and their public names; each loads at the first use of a name. Type checkers read `__init__.pyi`.
_NAMES = {
    "adoption": "adopt",
    "core.cost.expected": "CostReport ExpectedCost",
    "core.errors": "CostframeError",
    "core.learners.bank": "WeakLearnerBank",
    "core.plugins.registry": "algorithms estimator",
    "core.predictors.certain": "certain",
    "core.predictors.fitted": "FittedEstimator",
    "core.predictors.importances": "importances",
    "core.predictors.inquiry": "Prediction",
    "core.predictors.predictor": "Predictor",
    "core.predictors.stage_tree": "StageTree",
    "core.predictors.stepped": "SteppedPredictor",
    "core.prices.costs": "CostModel",
    "core.stages.stages": "Answer Route",
    "core.storage.saving": "load save",
    "frontier": "BudgetSearch Frontier",
    "hooks": "Algorithm hookimpl",
    "sources.drivers": "predict_many predict_one predict_one_async predict_stream",
    "stagewise.train_bank": "train_bank",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
_MODULES = ("datasets", "plot", "sources")

__all__ = sorted([*_HOMES, *_MODULES])  # noqa: PLE0605 - from the table


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"costframe.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"costframe.{name}")
    elif name[:1].isupper():  # a class of an algorithm, if of any; plugins load to tell
        from costframe.core.plugins.registry import registry

        return registry().estimator_class(name, __all__)
    else:
        import difflib

        near = difflib.get_close_matches(name, __all__, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'costframe' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
