"""The public kit's laws, on the single stage of Cronus."""

from costframe.testing import parametrize_algorithm
from costframe_cronus import costframe_algorithms


@parametrize_algorithm(costframe_algorithms()[0])
def test_laws(check):
    check()
