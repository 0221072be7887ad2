"""The planner keeps the laws of all algorithms."""

from costframe.testing import parametrize_algorithm


@parametrize_algorithm("planner", settings={"max_tries": 40, "n_sets": 8})
def test_laws(check):
    check()
