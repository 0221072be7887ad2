"""What displays have in common: they are scikit-learn's, whose `plot` draws on axes and keeps them."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import define, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.checks import check_choice, needed
from costframe.core.errors import DataError, ParameterError, shown
from costframe.core.tables.row_labels import check_target
from costframe.report.style import STYLE, new_figure, to_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

DPI = 150


@define(eq=False)
class Display(ABC):
    """A picture of data, to draw on axes any number of times."""

    ax_: Axes = field(init=False, repr=False)  # those of the last `plot`
    figure_: Figure | SubFigure = field(init=False, repr=False)  # their figure

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return 6.4, 4.2

    @property
    def dpi(self) -> float:
        """Resolution of a figure of its own."""
        return DPI

    @abstractmethod
    def draw(self, ax: Axes) -> None:
        """Draw on axes, in the current style."""

    def plot(self, ax: Any = None) -> Self:
        """Draw, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure of pyplot, as notebooks show it.
        """
        needed("matplotlib", "cli")
        from matplotlib import style
        from matplotlib.axes import Axes

        if ax is None:
            import matplotlib.pyplot as plt

            with style.context(STYLE):
                ax = plt.figure(figsize=self.size, dpi=min(100, self.dpi), layout="constrained").add_subplot()
                self.draw(ax)
        elif isinstance(ax, Axes):
            with _room_for_labels(ax):
                self.draw(ax)
        else:
            raise ParameterError(f"ax: expected axes of matplotlib, got {shown(ax)}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def to_bytes(self, kind: str = "png", size: tuple[float, float] | None = None) -> bytes:
        """Return the picture as a file; equal data give equal bytes.

        It draws on a figure of its own, without pyplot, and leaves `ax_` as it is.

        Parameters
        ----------
        kind : {"png", "svg"}
        size : (float, float), optional
            Width and height in inches.
        """
        check_choice("kind", kind, ("png", "svg"))
        return self.to_files(kind, size=size)[0]

    def to_files(self, *kinds: str, size: tuple[float, float] | None = None) -> list[bytes]:
        """Return the picture, drawn once, as a file of each kind; the bytes are those of `to_bytes`."""
        needed("matplotlib", "cli")
        from matplotlib import style

        with style.context(STYLE):
            dpi = self.dpi if size is None else DPI
            figure = new_figure(self.size if size is None else size, dpi=dpi, layout="constrained")
            self.draw(figure.add_subplot())
            return [to_bytes(figure, kind) for kind in kinds]


@contextlib.contextmanager
def _room_for_labels(ax: Axes) -> Iterator[None]:
    """Lay out the figure of axes so that labels fit, if it has no layout of its own and no other axes."""
    figure = ax.figure.canvas.figure
    if figure.get_layout_engine() is not None or figure.axes != [ax]:
        yield
        return
    figure.set_layout_engine("constrained")
    try:
        yield
        figure.draw_without_rendering()
    finally:
        figure.set_layout_engine(None)  # the places stay, and other layouts may follow


@define(eq=False)
class ModelDisplay(Display):
    """A picture of one model, perhaps on rows."""

    @classmethod
    @abstractmethod
    def of(cls, *given: Any, **options: Any) -> Self:
        """Prepare the picture without drawing it."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        costs: object = None,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted estimator or predictor; see `of` for the arguments, and `plot` for `ax`."""
        return cls.of(estimator, X, y, costs, **options).plot(ax)


def as_labels(y: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return the labels of rows, (n_rows,), numbers or texts; refuse others."""
    if y is None:
        return None
    labels = np.asarray(y)
    if labels.dtype.kind in "iufb":
        check_target(labels, n_rows, "y")
        return labels
    if labels.shape != (n_rows,):
        raise DataError(f"y: expected one label a row, shape ({n_rows},), got {labels.shape}")
    return labels.astype(np.str_)
