"""The public kit's laws, on the cascade and on its single stage."""

import pytest
from bank_cases import CHOOSING

from costframe.testing import parametrize_algorithm
from costframe.testing.check import checks

GIVEN = {"n_stages": 3, "ridge": 0.1, "rejected": 0.5}  # settings that are not chosen save half of the time


@parametrize_algorithm("cronus", settings=GIVEN)
def test_laws_of_the_cascade(check):
    check()


@pytest.mark.parametrize(
    "check",
    [each for each in checks("cronus", settings={"n_stages": 3}) if each.law.name in CHOOSING],
    ids=lambda check: check.title,
)
def test_laws_where_settings_are_chosen(check):
    check()


@parametrize_algorithm("reweighted")
def test_laws_of_the_single_stage(check):
    check()
