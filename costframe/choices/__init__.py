"""Choices among the points of a study: under a budget, for the least bill, with a promise, and their sentences."""

from costframe.choices.budget_search import BudgetSearch
from costframe.choices.frontier import Frontier
from costframe.study.points import Point

__all__ = ["BudgetSearch", "Frontier", "Point"]
