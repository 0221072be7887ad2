"""The planner keeps the laws of all algorithms."""

from costframe.testing import parametrize_algorithm


@parametrize_algorithm("planner")
def test_laws(check):
    check()
