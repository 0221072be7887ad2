"""The public kit's laws, on CEGB."""

from costframe.testing import parametrize_algorithm


@parametrize_algorithm("cegb")
def test_laws(check):
    check()
