"""What rows meet in a cascade, stage by stage: how many come there, and which prices have been paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from paper_figures import name_lines, sheet

from costframe.frontier.plot import COLORS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cascade_points import Stages
    from matplotlib.axes import Axes


@frozen(eq=False)
class Flow:
    """Cascades of one table, by name."""

    table: str
    cascades: dict[str, Stages]


def draw_reach(path: Path, title: str, subtitle: str, flows: Sequence[Flow]) -> None:
    """Draw the share of test rows that come to each stage, and of the relevant ones with dots."""
    with sheet(path, title, subtitle, len(flows)) as places:
        for axes, flow in zip(places, flows, strict=True):
            ends = []
            for color, (label, met) in zip(COLORS, flow.cascades.items(), strict=False):
                stage = np.arange(1, len(met.reach) + 1)
                axes.plot(stage, met.reach, color=color, lw=1.6, marker="o", ms=3.5)
                axes.plot(stage, met.positives, color=color, lw=1.2, ls=(0, (1, 1.5)))
                ends.append((label, met.reach[-1]))
            _dress(axes, flow.table, "share of test rows", max(len(met.reach) for met in flow.cascades.values()))
            name_lines(axes, ends, COLORS[: len(ends)])


def draw_prices(
    path: Path, title: str, subtitle: str, panels: Sequence[tuple[str, Stages, np.ndarray]], step: str = "stage"
) -> None:
    """Draw which share of the features of each price has been read by each step; prices are float64 (d,)."""
    from matplotlib import colormaps

    with sheet(path, title, subtitle, len(panels), columns=2) as places:
        for axes, (name, met, prices) in zip(places, panels, strict=True):
            classes, count = np.unique(prices, return_counts=True)
            colors = [tuple(shade) for shade in colormaps["cividis_r"](np.linspace(0.15, 1.0, len(classes)))]
            ends = []
            for price, size, color in zip(classes, count, colors, strict=True):
                share = shares(met, prices == price)
                axes.plot(np.arange(1, len(share) + 1), share, color=color, lw=1.5, marker="o", ms=3)
                ends.append((f"{price:g} ({size})", float(share[-1])))
            _dress(axes, name, "share of features read", len(met.reach), step)
            name_lines(axes, ends, colors)


def shares(met: Stages, chosen: np.ndarray) -> np.ndarray:
    """Return the share of some features, bool (d,), that each stage or one before it reads: float64 (K,)."""
    return np.asarray(met.bought[:, chosen].mean(axis=1))


def _dress(axes: Axes, title: str, label: str, last: int, step: str = "stage") -> None:
    axes.set_ylim(-0.02, 1.03)
    axes.set_xlim(0.8, last + 0.2)
    axes.set_xticks(range(1, last + 1))
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    axes.set_xlabel(step)
    axes.set_ylabel(label)
    axes.grid(visible=True, color="#e9e9e9", lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
