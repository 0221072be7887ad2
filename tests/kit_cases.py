"""The kit's laws for tests of plugins: what repeats is for `nox -s deep`."""

import pytest

from costframe.testing import checks

OF_TASKS = {  # where a task's own loss, labels, queries or number of outputs count
    "learns", "weights_are_repetitions", "workers_train_the_model_of_all_rows", "predictions_are_proper",
    "labels_come_back", "a_row_has_one_label", "cost_reported_is_cost_fetched", "an_inquiry_predicts_the_same",
    "saved_is_loaded",
    "no_row_exceeds_its_cap", "estimators_pass_limits_on",
}  # fmt: skip
EVERY_KIND = {"cegb"}  # quick; others share its trees, and all share the shell


def parametrize_laws(algorithm, settings=None):
    """Return a decorator: one test for each law and kind; after the first kind, laws that repeat are `deep`."""
    found = checks(algorithm, settings=settings)
    return pytest.mark.parametrize("check", [
        pytest.param(
            check,
            id=check.title,
            marks=[pytest.mark.deep] * (
                check.case is not found[0].case and check.law.name not in OF_TASKS and algorithm not in EVERY_KIND
            ),
        )
        for check in found
    ])  # fmt: skip
