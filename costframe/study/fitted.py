"""Fitted models of a study: a point with its estimator, or the file of one, and influences of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import field, frozen

from costframe.core.arrays import F8
from costframe.core.errors import CostframeError, StorageError
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.storage.loading import from_content, read_content
from costframe.core.storage.saving import content_of
from costframe.study.points import Point

_CHECKSUM = 32  # bytes


@frozen
class SavedModel:
    """A model in a file, loaded when it is needed, and known by the checksum at the end of the file."""

    path: Path
    checksum: str

    @classmethod
    def of(cls, path: Path, content: bytes) -> SavedModel:
        """Return the model with the content of its file."""
        return cls(path.absolute(), content[-_CHECKSUM:].hex())

    def read(self) -> bytes:
        """Return the content of the file.

        Raises
        ------
        StorageError
            If the file cannot be read, or has another model than when its frontier was saved.
        """
        try:
            content = read_content(self.path)
        except CostframeError as error:
            raise StorageError(f"{self.path}: {error}") from error
        if content[-_CHECKSUM:].hex() != self.checksum:
            raise StorageError(
                f"{self.path}: has changed, it is not the model with the figures of this frontier; load the frontier "
                "that is in the folder now, or fit it anew"
            )
        return content

    def load(self) -> FittedEstimator:
        """Return the model; errors are those of `read`, and of a file that is damaged."""
        content = self.read()
        try:
            model: Any = from_content(content)
        except CostframeError as error:
            raise StorageError(f"{self.path}: {error}") from error
        return model  # type: ignore[no-any-return]  # the content was that of an estimator


@frozen
class Fitted:
    """A point with its fitted estimator, or its file, and influences of rows, each float64 or None.

    `influence` is that of each row on its score; `spent` that of each row of valid, which are the last of all, on its
    cost. `repeated` tells whether the estimate repeats the choice of the point among all of its algorithm.
    """

    point: Point
    model: Any = field(eq=False)
    influence: F8 | None = field(default=None, eq=False)
    spent: F8 | None = field(default=None, eq=False)
    repeated: bool = False

    @property
    def estimator(self) -> Any:
        """The fitted estimator, loaded if it is a file; None if its kind of model cannot be saved."""
        return self.model.load() if isinstance(self.model, SavedModel) else self.model


@frozen(eq=False)
class Fits:
    """Fitted models of one algorithm, and cost and score of all models of their path, if they are of one."""

    fits: list[Fitted]
    front: list[tuple[float, float]] = field(factory=list)


@frozen(eq=False)
class StudyResult:
    """The fitted models of a study, its score, and the unit of costs with the price of all features for one row."""

    fits: list[Fitted]
    score: str
    unit: str
    full_cost: float
    notes: tuple[str, ...] = ()  # on what nobody knows


def model_content(model: Any, decimal: str | None = None) -> bytes | None:
    """Return the content of the file of a point's model, with the decimal sign of its table; None without a file."""
    if model is None or isinstance(model, SavedModel):
        return None if model is None else model.read()
    try:
        return content_of(model, model.costs_, decimal)
    except StorageError:
        return None
