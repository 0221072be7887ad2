"""The kit's laws for tests of plugins: what repeats is for `nox -s deep`."""

import pytest

from costframe.testing import laws_of_cost, laws_of_training
from costframe.testing.check import checks

OF_MODELS = {laws_of_cost.__name__, laws_of_training.__name__}
TWINS = {"classifier-3", "ranker"}  # kinds whose shell is that of the first classifier and of the regressor


def parametrize_laws(algorithm, settings=None):
    """Return a decorator: one test for each law and kind; laws of the shell are `deep` for twins."""
    return pytest.mark.parametrize("check", [
        pytest.param(
            check,
            id=check.title,
            marks=[pytest.mark.deep] * (check.case.title in TWINS and check.law.check.__module__ not in OF_MODELS),
        )
        for check in checks(algorithm, settings=settings)
    ])  # fmt: skip
