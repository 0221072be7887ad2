"""The page for people that a service serves: it looks as that of `costframe page`, and the service answers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from costframe.core.numerals import patterns_typed
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.prices.costs import CostModel
from costframe.page.render import ASKING, STATIC, Asking, render_asking

_SCRIPTS = (*map(STATIC.joinpath, ASKING), Path(__file__).parent / "static" / "remote.js")
_PRIVACY = "What you enter goes to this service, which keeps nothing of it."


def render_page(fitted: FittedEstimator, costs: CostModel, description: dict[str, Any]) -> str:
    """Return the HTML of a model, given as `describe_model` describes it."""
    asking = Asking(_SCRIPTS, description | {"numbers": patterns_typed()}, _PRIVACY, "; connect-src 'self'")
    return render_asking(fitted, costs, description["name"], asking)
