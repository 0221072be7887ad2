"""The public kit's laws, on the tree."""

import pytest
from bank_cases import CHOOSING

from costframe.testing import parametrize_algorithm
from costframe.testing.check import checks

GIVEN = {"n_estimators": 10, "inflation": 1.0, "ridge": 0.1}  # settings that are not chosen save six fits in seven
SMALL = {"n_estimators": 10, "depth": 2}


@parametrize_algorithm("cstc", settings=GIVEN)
def test_laws(check):
    check()


@pytest.mark.parametrize(
    "check",
    [
        each
        for each in checks("cstc", settings=SMALL)
        if each.law.name in CHOOSING and each.case.title == "classifier-2"
    ],
    ids=lambda check: check.title,
)
def test_laws_where_settings_are_chosen(check):
    check()
