"""The public kit's laws on Adapt, with a small expensive model."""

import pytest
from few_rounds import few_rounds
from kit_cases import parametrize_laws

from costframe.testing import checks

QUICK = {"n_estimators": 8}
LINEAR = {"variant": "lin", "n_estimators": None}


@pytest.fixture(scope="module", autouse=True)
def _few_rounds():
    with few_rounds():
        yield


@parametrize_laws("adapt", settings=QUICK)
def test_laws(check):
    check()


OF_TRAINING = {  # where the variants differ
    "learns", "huge_tradeoff_buys_nothing_priced", "weights_are_repetitions", "rows_of_weight_zero_are_dropped",
    "zero_tradeoff_ignores_prices", "unit_of_prices_is_free", "resources_count_in_training", "threads_change_nothing",
    "useless_columns_are_not_bought", "predictions_are_proper", "cost_reported_is_cost_fetched",
    "an_inquiry_predicts_the_same",
}  # fmt: skip


@pytest.mark.parametrize(
    "check",
    [
        each
        for each in checks("adapt", settings=LINEAR)
        if each.law.name in OF_TRAINING and each.case.title == "classifier-2"
    ],
    ids=lambda check: check.title,
)
def test_laws_of_linear_models(check):
    check()
