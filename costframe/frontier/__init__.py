"""Frontiers of score and cost: sweeps over tradeoffs, their non-dominated points, and the choice under a budget."""

from costframe.frontier.frontier import Frontier
from costframe.frontier.points import Point
from costframe.frontier.search import BudgetSearch

__all__ = ["BudgetSearch", "Frontier", "Point"]
