"""The picture of an inquiry as a dialogue, on the README: `python docs/_build/dialogue.py` writes `docs/dialogue.svg`."""

from __future__ import annotations

import textwrap
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from attrs import frozen

import costframe as cf

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parents[1]
ERRORS = {"no": {"yes": 300.0}, "yes": {"no": 1500.0}}  # truth: {answer: price}
NAMES = {
    "cp": "chest pain", "trestbps": "blood pressure", "chol": "cholesterol", "fbs": "fasting sugar", "restecg": "ECG",
    "exang": "exercise angina", "oldpeak": "ST depression", "thalach": "heart rate",
}  # fmt: skip
TRAINED, PATIENT = 200, 203  # rows of the tutorial's table
WIDTH, LINE, LETTERS = 880, 20, 66  # pixels, and letters of a line
STYLE = """
text { font: 14px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1c2430; }
.faint { fill: #566172; } .strong { font-weight: 600; } .told { fill: #ffffff; }
.page { fill: #f6f7f9; } .ask { fill: #ffffff; stroke: #d9dee6; } .tell { fill: #0b5cad; } .end { fill: #e3f1e8; stroke: #8fc5a3; }
"""


@frozen
class Turn:
    """One side's words, and what the row had paid and was worth until then."""

    kind: str  # "ask", "tell" or "end"
    lines: tuple[str, ...]
    state: str = ""


def talk() -> list[Turn]:
    """Return what a planner and a clinic say of a patient whom it has not seen."""
    table = pd.read_csv(DOCS / "tutorial" / "heart.csv").rename(columns=NAMES)
    ill = table.pop("ill")
    prices = cf.CostModel.load(DOCS / "tutorial" / "prices.toml").to_dict()
    prices["features"] = {NAMES.get(name, name): price for name, price in prices["features"].items()}
    costs = cf.CostModel.of(prices, errors=ERRORS)
    model = cf.PlannerClassifier(costs).fit(table[:TRAINED], ill[:TRAINED])
    return list(_turns(model, table.iloc[PATIENT].to_dict()))


def _turns(model: cf.PlannerClassifier, row: dict[str, float]) -> Iterator[Turn]:
    inquiry, unit = model.inquire(), model.costs_.unit
    while needs := inquiry.needs:
        chance = model.inquire(known=inquiry.values(), unavailable=set(row) - inquiry.values().keys()).answer.value
        state = f"paid {inquiry.cost:.2f} {unit}, ill with {chance:.0%}"
        yield Turn("ask", tuple(textwrap.wrap(str(inquiry.why()), LETTERS)), state)
        yield Turn("tell", (", ".join(f"{name} {row[name]:g}" for name in needs),))
        inquiry.supply({name: row[name] for name in needs})
    end = inquiry.answer
    answer = f"ill: {end.label}, with {end.value:.0%}, for {end.cost:.2f} {unit}"
    yield Turn("end", (answer, *textwrap.wrap(str(inquiry.why()), LETTERS)))


def draw(turns: list[Turn]) -> str:
    """Return the turns as SVG: questions at the left, values at the right, what was paid and is likely beside."""
    y, parts = 16, list[str]()
    for turn in turns:
        height = LINE * len(turn.lines) + 16
        width = 16 + (12 + 7.2 * len(turn.lines[0]) if turn.kind == "tell" else 500)
        x = WIDTH - 16 - 260 - width if turn.kind == "tell" else 16
        parts.append(f'<rect class="{turn.kind}" x="{x:g}" y="{y}" width="{width:g}" height="{height}" rx="10"/>')
        for i, line in enumerate(turn.lines):
            look = "told" if turn.kind == "tell" else "strong" if turn.kind == "end" and not i else ""
            parts.append(f'<text class="{look}" x="{x + 14:g}" y="{y + 22 + LINE * i}">{escape(line)}</text>')
        if turn.state:
            parts.append(f'<text class="faint" x="{WIDTH - 250}" y="{y + 22}">{escape(turn.state)}</text>')
        y += height + (6 if turn.kind == "ask" else 14)
    title = "An inquiry: the model asks for features one by one, with reasons and prices, and answers"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">'
        f'<title>{title}</title><style>{STYLE}</style><rect class="page" width="{WIDTH}" height="{y}" rx="12"/>'
        f"{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    (DOCS / "dialogue.svg").write_text(draw(talk()), encoding="utf-8")
