"""The page of a model that asks, as one HTML document without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from attrs import frozen

from costframe.core.checks import needed
from costframe.core.errors import printable, quote_names
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.prices.costs import CostModel
from costframe.page.asked import AskedModel, describe_model
from costframe.page.wasm import read_engine
from costframe.report.model_facts import MOST_NAMES, list_model_facts

STATIC = Path(__file__).parent / "static"
ASKING = ("numbers.js", "ask.js")  # of every page that asks
SCRIPTS = (
    "exact.js",
    "rounds.js",
    "predictions.js",
    "rows.js",
    "choice.js",
    "spared.js",
    "rest.js",
    "plan.js",
    "why.js",
    "changes.js",
    "local.js",
    *ASKING,
    "start.js",
)

LARGEST = 2_000_000  # bytes of a page with what answers where a test is not available
_TOO_LARGE = (
    f"This page cannot do without a test, as it would be larger than {LARGEST / 1e6:g} MB with what answers then; "
    "the model itself can."
)


@frozen
class Inline:
    """A text within the page, and the source that the page's policy allows for it."""

    text: str

    @property
    def policy(self) -> str:
        """The text's hash, as a content security policy names it."""
        return f"'sha256-{base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()}'"


@frozen
class Asking:
    """What differs between pages that ask: who answers them, and what they may do.

    Attributes
    ----------
    scripts : tuple of path
        In the order in which they are read.
    data : dict
        What the scripts begin with.
    privacy : str
        Where what is entered goes.
    policy : str
        What the content security policy allows beside the page's own script and style.
    """

    scripts: tuple[Path, ...]
    data: dict[str, Any]
    privacy: str
    policy: str


def render_ask_page(fitted: FittedEstimator, costs: CostModel, title: str) -> str:
    """Return the page of a model at some prices, which is in it: equal models give equal text.

    What answers where a test is not available is in it, as long as it is smaller than `LARGEST` with them.

    Raises
    ------
    ParameterError
        If a page cannot answer as the model does, or there is no engine for browsers.
    """
    asked = describe_model(fitted, costs, title)
    text = _render_asked(fitted, costs, title, asked)
    if len(text.encode()) <= LARGEST or not asked.holds_spare:
        return text
    return _render_asked(fitted, costs, title, describe_model(fitted, costs, title, whole=_TOO_LARGE))


def _render_asked(fitted: FittedEstimator, costs: CostModel, title: str, asked: AskedModel) -> str:
    data = asked.data | {"engine": _pack(read_engine()), "memory": _pack(bytes(asked.memory.bytes))}
    scripts = tuple(map(STATIC.joinpath, SCRIPTS))
    asking = Asking(scripts, data, "Nothing that you enter leaves this page.", " 'wasm-unsafe-eval'")
    return render_asking(fitted, costs, title, asking)


def render_asking(fitted: FittedEstimator, costs: CostModel, title: str, asking: Asking) -> str:
    """Return a page that asks, with what the model is and may not be used for."""
    needed("jinja2", "cli")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    script, style = Inline("\n".join(map(_read, asking.scripts))), Inline(_read(STATIC / "ask.css"))
    environment = Environment(
        loader=FileSystemLoader(STATIC), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )  # fmt: skip
    return environment.get_template("ask.html").render(
        title=title,
        facts=list_model_facts(fitted, costs),
        not_for=list_limits(fitted, costs),
        style={"text": Markup(style.text), "policy": Markup(style.policy)},  # noqa: S704 - our own files
        script={"text": Markup(script.text), "policy": Markup(script.policy)},  # noqa: S704
        data=Markup(_as_json(asking.data)),  # noqa: S704 - without a bracket
        privacy=asking.privacy,
        policy=Markup(asking.policy),  # noqa: S704 - our own
    )


def list_limits(fitted: FittedEstimator, costs: CostModel) -> tuple[str, ...]:
    """Return sentences that say what a model may not be used for."""
    predictor = fitted.predictor_
    sentences = []
    if fitted.kind == "classifier":
        names = quote_names(fitted.classes_.tolist(), MOST_NAMES)
        sentences.append(f"It tells {names} apart and knows no other class: it never says that a case is neither.")
    sentences += [
        f"It reads {quote_names(predictor.used_features, MOST_NAMES)}; nothing else that you know changes its answer.",
        f"Its bill holds at the prices in this page, in {costs.unit}. Where prices are others, make another page.",
        "It learned from one table. For cases unlike those, measured or chosen in another way, nobody has checked it.",
        "It advises. It is no reason to leave out a test or a step that rules or care demand.",
    ]
    return tuple(sentences)


def _read(script: Path) -> str:
    return script.read_text(encoding="utf-8")


def _pack(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _as_json(data: object) -> str:
    """Return JSON that ends no element of a page: brackets and ampersands are escaped, and all that is not ASCII."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
