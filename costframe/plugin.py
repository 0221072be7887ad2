"""For authors of algorithms: base estimators, their training data, losses and checks.

docs/writing-a-plugin.md shows their use; `costframe.testing` checks the result. The parts of models come from
`costframe` itself, trees from `costframe.trees`, weights for banks from `costframe.stagewise`.
"""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
