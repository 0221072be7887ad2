"""Pictures of Adapt's synthetic experiments: who answers where in the plane, and accuracy against cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from paper_figures import DASHES, sheet

from costframe.frontier.plot import COLORS, INK, PALE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap

    from costframe.datasets import Part

SENT, SIDES = "#f2dfb0", ("#cfe3f1", "#f7d8c8")  # sent on; answers -1 and 1
ROWS, FINENESS = 1200, 300


@frozen(eq=False)
class Region:
    """A panel: what is answered where, and which rows go on."""

    title: str
    predict: Callable[[np.ndarray], np.ndarray] | None = None
    sent: Callable[[np.ndarray], np.ndarray] | None = None


@frozen(eq=False)
class Curve:
    """Mean accuracy by budget, with its standard error."""

    name: str
    budget: np.ndarray
    accuracy: np.ndarray
    error: np.ndarray


def draw_coast(output: Path, test: Part, regions: Sequence[Region]) -> None:
    """Write the regions of Synthetic-1."""
    title = "Synthetic-1: the gate keeps what a simple model can answer"
    subtitle = "sand: sent on to the SVM; blue and orange: answered -1 and 1 without it; crosses: rows answered wrongly"
    with sheet(output / "adapt_synthetic_1", title, subtitle, len(regions)) as places:
        for axes, region in zip(places, regions, strict=True):
            _plane(axes, region, test)


def draw_islands(output: Path, test: Part, regions: Sequence[Region], curves: Sequence[Curve]) -> None:
    """Write the regions of Synthetic-2, and accuracy against cost."""
    title = "Synthetic-2: half of the rows need but one feature, if gate and cheap model are fitted together"
    subtitle = "sand: sent on to the SVM, which reads both; blue and orange: answered -1 and 1 without it"
    with sheet(output / "adapt_synthetic_2", title, subtitle, len(regions) + 1) as places:
        for axes, region in zip(places, regions, strict=False):
            _plane(axes, region, test)
        _curves(places[-1], curves)


def _plane(axes: Axes, region: Region, test: Part) -> None:
    """Draw who answers what, and some rows."""
    low, high = test.X.min(axis=0) - 0.15, test.X.max(axis=0) + 0.15
    X, y = test.X[:ROWS], test.y[:ROWS]
    wrong = np.zeros(len(X), np.bool_)
    if region.predict is not None:
        x_at, y_at = (np.linspace(*ends, FINENESS) for ends in zip(low, high, strict=True))
        mesh = np.stack(np.meshgrid(x_at, y_at), axis=-1).reshape(-1, 2)
        answer = region.predict(mesh) > 0
        sent = np.zeros(len(mesh), np.bool_) if region.sent is None else region.sent(mesh)
        kind = np.where(sent, 2, answer).reshape(FINENESS, FINENESS)
        axes.pcolormesh(x_at, y_at, kind, cmap=_cmap(), vmin=0, vmax=2, rasterized=True)
        edge = answer.reshape(FINENESS, FINENESS).astype(float)
        axes.contour(x_at, y_at, edge, levels=[0.5], colors=INK, linewidths=0.9)
        wrong = region.predict(X) != y
    for label, color in zip((-1, 1), COLORS, strict=False):
        rows = X[(y == label) & ~wrong]
        axes.plot(*rows.T, "o", ms=1.7, mew=0, color=color, rasterized=True)
        axes.plot(*X[(y == label) & wrong].T, "x", ms=4, mew=1, color=color)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_title(region.title, loc="left", fontsize=9.5, fontweight="bold")
    axes.set_xlabel("x")
    axes.set_ylabel("y", rotation=0)


def _cmap() -> ListedColormap:
    from matplotlib.colors import ListedColormap

    return ListedColormap([*SIDES, SENT])


def _curves(axes: Axes, curves: Sequence[Curve]) -> None:
    for curve, color, dash in zip(curves, COLORS, DASHES, strict=False):
        axes.plot(curve.budget, curve.accuracy, label=curve.name, color=color, ls=dash, lw=1.8, drawstyle="steps-post")
        low, high = curve.accuracy - curve.error, curve.accuracy + curve.error
        axes.fill_between(curve.budget, low, high, color=color, alpha=0.12, lw=0, step="post")
    for cost in (1.5, 1.75, 2.0):
        axes.axvline(cost, color=PALE, lw=1, ls=(0, (2, 2)), zorder=1)
    axes.set_xlim(0.95, 2.05)
    axes.set_ylim(0.7, 1.005)
    axes.set_xticks([1.0, 1.25, 1.5, 1.75, 2.0])
    axes.set_title("Accuracy against cost", loc="left", fontsize=9.5, fontweight="bold")
    axes.set_xlabel("mean cost per row, at most")
    axes.set_ylabel("accuracy on test")
    axes.grid(visible=True, color="#e9e9e9", lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False, fontsize=8.5, handlelength=3)
