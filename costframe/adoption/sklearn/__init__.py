"""Adoption of scikit-learn's models, part by part."""

from costframe.adoption.sklearn.adopting import adopt_sklearn, is_sklearn

__all__ = ["adopt_sklearn", "is_sklearn"]
