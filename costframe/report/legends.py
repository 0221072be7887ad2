"""Titles and legends above axes, beside the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from costframe.report.drawn_text import to_drawable, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEGEND_SIZE = 8.5  # points


def lay_out_figure(ax: Axes) -> tuple[float, float]:
    """Do the layout of the figure; return width and height of the axes in inches."""
    figure = ax.figure.canvas.figure
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    extent = ax.get_window_extent()
    return extent.width / ax.figure.dpi, extent.height / ax.figure.dpi


def put_above(ax: Axes, handles: Mapping[str, Any], title: str | None) -> None:
    """Put a title and a legend above the axes and the numbers beside them.

    The legend has drawable names, perhaps none, in as many columns as fit.
    """
    lay_out_figure(ax)
    extent = ax.get_window_extent()
    begin = min([extent.x0, *(text.get_window_extent().x0 for text in ax.get_yticklabels() if text.get_text())])
    left, height = (begin - extent.x0) / extent.width, 0.0
    if handles:
        widths = [width_of(name, LEGEND_SIZE) + 0.42 for name in handles]  # in inches, with the sign and a gap
        room, columns = (extent.x1 - begin) / ax.figure.dpi, len(handles)
        while columns > 1 and sum(max(part) for part in _columns(widths, columns)) > room:
            columns -= 1
        columns = -(-len(handles) // -(-len(handles) // columns))  # as few as the same number of lines needs
        legend = ax.legend(
            handles.values(), handles, loc="lower left", bbox_to_anchor=(left, 1.0), ncols=columns, frameon=False,
            fontsize=LEGEND_SIZE, handlelength=1.2, handletextpad=0.5, columnspacing=1.0, borderpad=0.2,
            borderaxespad=0.2,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)
        height = legend.get_window_extent().height * 72 / ax.figure.dpi
    if title is not None:
        how: Any = {"loc": "left", "x": left, "fontweight": "bold", "parse_math": False}
        ax.set_title(to_drawable(title), pad=6 + height, **how)


def _columns(widths: list[float], count: int) -> list[list[float]]:
    """Fill columns one after the other, as legends do; the first ones have one entry more if needed."""
    sizes = [len(widths) // count + (column < len(widths) % count) for column in range(count)]
    ends = [sum(sizes[: column + 1]) for column in range(count)]
    return [widths[end - size : end] for end, size in zip(ends, sizes, strict=True)]
