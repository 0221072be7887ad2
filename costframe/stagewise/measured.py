"""What a model of stages comes to on some rows."""

from __future__ import annotations

from attrs import frozen

__all__ = ["Measured"]


@frozen
class Measured:
    """Mean loss of the answers, and mean cost; what counts is their sum, the cost times lambda."""

    loss: float
    cost: float
    total: float
