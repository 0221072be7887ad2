"""Fixtures that tests of Adapt share."""

import pytest

from costframe.adoption.given import fitted_model
from costframe_adapt import boosting, linear_stages


@pytest.fixture(scope="module")
def few_rounds():
    """Alternate for a few rounds, and ask models in two folds, where it does not matter how good the models are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "_ROUNDS", 2)
        patch.setattr(linear_stages, "_ROUNDS", 6)
        patch.setattr(linear_stages, "_ROUNDS_TRIED", 3)
        patch.setattr(fitted_model, "FOLDS", 2)
        yield
