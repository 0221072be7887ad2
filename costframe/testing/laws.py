"""All laws, by name."""

from __future__ import annotations

from costframe.testing import (  # noqa: F401 - they register themselves
    laws_of_categories,
    laws_of_cost,
    laws_of_limits,
    laws_of_plans,
    laws_of_shell,
    laws_of_training,
)
from costframe.testing.law import LAWS, Law

__all__ = ["laws"]


def laws() -> dict[str, Law]:
    """Return all laws by name."""
    return dict(LAWS)
