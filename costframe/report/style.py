"""The style of all pictures: colors, settings of matplotlib, and files that are the same for the same data."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
