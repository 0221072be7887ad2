"""The page for people that a service serves: it looks as that of `costframe page`, and the service answers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.prices.costs import CostModel
from costframe.page.render import STATIC, Asking, render_asking

_SCRIPTS = (STATIC / "ask.js", Path(__file__).parent / "static" / "remote.js")
_PRIVACY = "What you enter goes to this service, which keeps nothing of it."


def render_page(fitted: FittedEstimator, costs: CostModel, description: dict[str, Any]) -> str:
    """Return the HTML of a model, given as `describe_model` describes it."""
    asking = Asking(_SCRIPTS, description, _PRIVACY, "; connect-src 'self'")
    return render_asking(fitted, costs, description["name"], asking)
