"""Fixtures that tests of Adapt share."""

import pytest
from few_rounds import ask_in_two_folds

from costframe_adapt import boosted_stage, boosting, linear_stage


@pytest.fixture(scope="module")
def few_rounds():
    """Alternate for a few rounds, and ask models in two folds, where it does not matter how good the models are."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (boosting, boosted_stage):
            patch.setattr(module, "MOST_TURNS", 2)
        patch.setattr(linear_stage, "_ROUNDS", 4)
        patch.setattr(linear_stage, "_ROUNDS_TRIED", 2)
        ask_in_two_folds(patch)
        yield
