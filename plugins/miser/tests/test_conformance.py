"""The public kit's laws, on Greedy Miser."""

from costframe.testing import parametrize_algorithm


@parametrize_algorithm("miser")
def test_laws(check):
    check()
