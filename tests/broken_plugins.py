"""Plugins with one deliberate fault each, and the law that catches it."""

import broken_predictors  # noqa: F401 - what it makes registers itself
import broken_shells  # noqa: F401 - likewise
import broken_training  # noqa: F401 - likewise
from broken_base import BROKEN, HONEST, StumpsRegressor

__all__ = ["BROKEN", "HONEST", "StumpsRegressor"]
