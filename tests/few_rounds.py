"""Short trainings, for tests that do not mind how good models are."""

from contextlib import contextmanager
from functools import partial

import pytest

from costframe.adoption.given import model as given_model
from costframe.gates import composite
from costframe_adapt import boosting, linear
from costframe_cstc import grow


@contextmanager
def few_rounds():
    """Alternate for a few rounds, boost expensive models for five, ask in two folds, and try few routes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composite, "boost_without_prices", partial(composite.boost_without_prices, n_rounds=5))
        patch.setattr(given_model, "FOLDS", 2)
        patch.setattr(grow, "_TRIED", 3)
        for module in (boosting, linear):
            patch.setattr(module, "_ROUNDS", 2)
        yield
