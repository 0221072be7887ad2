"""Shared parts of pictures: colors, settings, texts cut to a width, figures of their own, and reproducible files."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from costframe.core.errors import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLORS", "GRAY", "INK", "PALE", "STYLE", "cut_text", "new_figure", "to_bytes", "to_drawable", "width_of",
           "wrap_text"]  # fmt: skip

# Distinct for color-blind readers too (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, GRAY, PALE = "#333333", "#666666", "#999999"

_OURS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 10,
    "svg.hashsalt": "costframe",  # names in the file are not random
    "axes.edgecolor": PALE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
STYLE: Any = ["default", _OURS]  # for matplotlib's style.context


def new_figure(size: tuple[float, float], dpi: float, **how: Any) -> Figure:
    """Make a figure of a size in inches that no window shows; call it within the style."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=dpi, **how)
    FigureCanvasAgg(figure)
    return figure


def to_bytes(figure: Figure, kind: str) -> bytes:
    """Return the figure as a reproducible file of the kind "png" or "svg"; call it within the style."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return file.getvalue()


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a drawable text in inches, in matplotlib's own font of `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def to_drawable(text: str) -> str:
    """Return the text with escapes for unprintable characters, and one sign for all without a glyph."""
    return "".join(letter if ord(letter) in _letters() else "\N{REPLACEMENT CHARACTER}" for letter in printable(text))


def cut_text(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Return the text, drawable on one line; a text wider than `width` inches has "…" in place of its middle."""
    text = to_drawable(text)
    if width_of(text, size, weight) <= width:
        return text
    low, high = 0, len(text)  # `low` letters fit, `high` letters do not
    while high - low > 1:
        middle = (low + high) // 2
        if width_of(_cut(text, middle), size, weight) <= width:
            low = middle
        else:
            high = middle
    return _cut(text, low)


def _cut(text: str, count: int) -> str:
    """Keep `count` letters, at both ends: names that begin alike often differ at the end."""
    last = count * 2 // 5
    return text[: count - last].rstrip() + "…" + text[len(text) - last :].lstrip()


def wrap_text(text: str, width: float, size: float) -> list[str]:
    """Break a text at spaces into lines of at most `width` inches; cut longer words."""
    lines: list[str] = []
    for word in to_drawable(text).split():
        if lines and width_of(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(cut_text(word, width, size))
    return lines
