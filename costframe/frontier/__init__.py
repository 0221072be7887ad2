"""Frontiers of score and cost: sweeps over tradeoffs, their non-dominated points, and the choice under a budget."""

from costframe.frontier.points import Frontier, Point
from costframe.frontier.search import BudgetSearch

__all__ = ["BudgetSearch", "Frontier", "Point"]
