"""The public kit's laws on all baselines."""

from functools import partial

import pytest
from kit_cases import parametrize_laws

from costframe.adoption.given import fitted_model
from costframe.gates import expensive

FEW = {"n_estimators": 9, "learning_rate": 0.3, "max_leaves": 8}


@parametrize_laws("boosting", settings=FEW)
def test_laws_of_boosting(check):
    check()


@parametrize_laws("affordable", settings=FEW)
def test_laws_of_affordable(check):
    check()


@parametrize_laws("soft-cascade", settings={"n_estimators": 9})
def test_laws_of_soft_cascade(check):
    check()


@parametrize_laws("and-or", settings={"n_estimators": 9})
def test_laws_of_and_or(check):
    check()


@parametrize_laws("early-exit", settings=FEW | {"n_trees_per_exit": 3})
def test_laws_of_early_exit(check):
    check()


@pytest.fixture
def _small_expensive_model(monkeypatch):
    monkeypatch.setattr(expensive, "boost_without_prices", partial(expensive.boost_without_prices, n_rounds=5))
    monkeypatch.setattr(fitted_model, "FOLDS", 2)


@parametrize_laws("l1-gate")
@pytest.mark.usefixtures("_small_expensive_model")
def test_laws_of_l1_gate(check):
    check()
