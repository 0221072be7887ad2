"""Short trainings, for tests that do not mind how good models are."""

from contextlib import contextmanager
from functools import partial

import pytest

from costframe.adoption.given import model as given_model
from costframe.gates import default_model
from costframe_adapt import boosted_stage, boosting, linear_stage
from costframe_cstc import divide


def ask_in_two_folds(patch):
    """Ask given models in two folds."""
    patch.setattr(given_model, "FOLDS", 2)


@contextmanager
def few_rounds():
    """Alternate for a few rounds, boost expensive models for five, ask in two folds, and try few routes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default_model, "boost_without_prices", partial(default_model.boost_without_prices, n_rounds=5))
        ask_in_two_folds(patch)
        patch.setattr(divide, "_TRIED", 3)
        for module in (boosting, boosted_stage):
            patch.setattr(module, "MOST_TURNS", 2)
        patch.setattr(linear_stage, "_ROUNDS", 2)
        yield
