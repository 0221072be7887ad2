"""Texts in pictures: how wide they are, which letters the font has, and where they are cut or broken."""

from __future__ import annotations

from functools import lru_cache

from costframe.core.errors import printable


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


def percent(share: float) -> str:
    """Return a share in percent as text; "< 1 %" and "> 99 %" at the ends."""
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"
