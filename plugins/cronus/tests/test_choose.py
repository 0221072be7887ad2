"""What is chosen on the initialization, and what is not."""

import numpy as np
import pytest

from costframe_cronus import CronusClassifier, cronus
from costframe_cronus.choose import CHOICES, PAPER_CHOICES

COSTS = {"features": {"a": 1.0, "b": 1.0, "c": 5.0, "d": 5.0}}


def table(seed, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, (X[:, 0] + X[:, 2] > 1).astype(int)


@pytest.fixture
def chosen(monkeypatch):
    found, choose = [], cronus.choose
    monkeypatch.setattr(cronus, "choose", lambda *given: found.append(choose(*given)) or found[-1])
    return found


def fit(**settings):
    settings = {"n_estimators": 20, "n_stages": 3, "optimize": "none"} | settings
    (X, y), (X_val, y_val) = table(0), table(1)
    return CronusClassifier(COSTS, 1e-2, **settings).fit(X, y, X_val=X_val, y_val=y_val)


def test_what_is_set_is_left(chosen):
    fit(rejected=0.4, ridge=0.3, steepness=7.0, l1=0.02, l1_last=0.01, scale="paper")
    (settings,) = chosen
    assert (settings.rejected, settings.ridge, settings.steepness) == (0.4, 0.3, 7.0)
    assert (settings.l1, settings.l1_last) == (0.02, 0.01)


@pytest.mark.parametrize("scale", [None, "paper"])
def test_every_value_is_tried(chosen, monkeypatch, scale):
    """Every value is tried once; rho is among them with the paper's scale only."""
    totals = {}
    across = cronus.Judge.across

    def noted(judge, chain, *, place):
        found = across(judge, chain, place=place)
        totals.setdefault(len(totals), found)
        return found

    monkeypatch.setattr(cronus.Judge, "across", noted)
    fit(scale=scale)
    (settings,) = chosen
    names = [*CHOICES, *(PAPER_CHOICES if scale else ())]
    assert len(totals) == 1 + sum(len((CHOICES | PAPER_CHOICES)[name]) - 1 for name in names)
    assert settings.rejected in CHOICES["rejected"]
    assert settings.ridge in CHOICES["ridge"]
    if scale is None:
        assert (settings.l1, settings.l1_last) == (0.0, 0.0)


def test_the_steepness_is_in_units_of_the_scores(chosen):
    fit()
    (X, y), (X_val, y_val) = table(0), table(1)
    flat = np.where(np.random.default_rng(3).random(len(y)) < 0.5, y, 0)
    CronusClassifier(COSTS, 1e-2, n_estimators=20, n_stages=3, optimize="none").fit(X, flat, X_val=X_val, y_val=y_val)
    clear, noisy = (one.steepness for one in chosen)
    assert 50 < clear < noisy
