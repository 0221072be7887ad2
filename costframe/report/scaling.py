"""Texts and lines that keep their size relative to the axes; this module loads matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Scaling"]


class Scaling(Artist):
    """An invisible part of axes that scales all texts and lines there now, when the axes have another width.

    `width` is that for their present sizes, in inches.
    """

    def __init__(self, axes: Axes, width: float) -> None:
        super().__init__()
        self.set(zorder=-1, in_layout=False)  # drawn first
        self._of, self._width, self._scale = axes, width, 1.0
        for text in axes.findobj(Text):
            text.set_in_layout(False)
        kinds = ((Text, "fontsize"), (Line2D, "linewidth"), (Line2D, "markersize"), (Patch, "linewidth"))
        self._sizes: list[tuple[Any, str, float]] = [
            (part, name, getattr(part, f"get_{name}")()) for kind, name in kinds for part in axes.findobj(kind)
        ]

    def draw(self, _renderer: Any) -> None:
        """Set the sizes before the other parts are drawn."""
        scale = self._of.get_window_extent().width / self._of.figure.dpi / self._width
        if not math.isclose(scale, self._scale, rel_tol=1e-6):
            self._scale = scale
            for part, name, size in self._sizes:
                part.set(**{name: size * scale})
