"""Texts that fit their place in a picture, by measured width."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["drawable", "fitted", "width_of", "wrapped"]


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, weight: str = "normal") -> float:
    """Return how wide a drawable text is, in inches; `size` in points, in matplotlib's own font."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def drawable(text: str) -> str:
    """Return the text with spaces for what cannot be printed, and one sign for all that has no glyph."""
    printable = (letter if letter.isprintable() else " " for letter in text)
    return "".join(letter if ord(letter) in _letters() else "\N{REPLACEMENT CHARACTER}" for letter in printable)


def fitted(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Return the text, drawable on one line; what is wider than `width` inches loses its middle to "…"."""
    text = drawable(text)
    if width_of(text, size, weight) <= width:
        return text
    low, high = 0, len(text)  # so many letters fit, so many do not
    while high - low > 1:
        middle = (low + high) // 2
        if width_of(_cut(text, middle), size, weight) <= width:
            low = middle
        else:
            high = middle
    return _cut(text, low)


def _cut(text: str, count: int) -> str:
    """Keep so many letters, at both ends: names that begin alike often differ at the end."""
    last = count * 2 // 5
    return text[: count - last].rstrip() + "…" + text[len(text) - last :].lstrip()


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Break a text at spaces into lines of at most `width` inches; a longer word is cut short."""
    lines: list[str] = []
    for word in drawable(text).split():
        if lines and width_of(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, width, size))
    return lines
