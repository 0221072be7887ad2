"""Shared parts of pictures: colors, settings independent of the user's, and reproducible files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLORS", "INK", "PALE", "STYLE", "to_png_and_svg"]

# Distinct for color-blind readers too (Okabe and Ito).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, PALE = "#333333", "#999999"

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


def to_png_and_svg(figure: Figure) -> dict[str, bytes]:
    """Return the figure as reproducible "png" and "svg" bytes; call it within the style."""
    return {"png": _bytes(figure, "png", {"Software": None}), "svg": _bytes(figure, "svg", {"Date": None})}


def _bytes(figure: Figure, kind: str, metadata: dict[str, None]) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata=metadata)
    return file.getvalue()
