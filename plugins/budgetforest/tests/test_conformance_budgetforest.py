"""The public kit's laws, on BudgetRF and BudgetPrune."""

from costframe.testing import parametrize_algorithm


@parametrize_algorithm("budgetrf")
def test_laws_of_budgetrf(check):
    check()


@parametrize_algorithm("budgetprune")
def test_laws_of_budgetprune(check):
    check()
