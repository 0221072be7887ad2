"""Scores by name or price, and the influence of rows on them."""

from costframe.training.error_costs import ERROR_COST
from costframe.training.influences import influence
from costframe.training.scoring import error_cost, resolve_score, score_named, with_labels

__all__ = ["ERROR_COST", "error_cost", "influence", "resolve_score", "score_named", "with_labels"]
