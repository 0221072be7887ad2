"""Finished fits on disk: each is there at once, whole or not at all, and a later sweep takes it instead of fitting."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import attrs
from attrs import evolve, field, frozen

from costframe.core.errors import CostframeError, StorageError
from costframe.core.files import write_atomically, write_folder
from costframe.core.storage.container import pack, unpack
from costframe.core.storage.saving import load, save
from costframe.frontier.points import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.predictors.fitted import FittedEstimator

__all__ = [
    "FinishedFits",
    "Fitted",
    "MeasuredFits",
    "SavedModel",
    "join_fits",
    "pack_fits",
    "save_model",
    "unpack_fits",
]

MODELS, FITS = "models", "fits"  # folders of a run


@frozen
class SavedModel:
    """A model in a file, loaded when it is needed."""

    path: Path

    def load(self) -> FittedEstimator:
        """Return the model."""
        model: Any = load(self.path)
        return model  # type: ignore[no-any-return]  # `save` was given an estimator


@frozen
class Fitted:
    """A point with its fitted estimator, or its file, and the influence of each row on its score (float64, or None)."""

    point: Point
    model: Any = field(eq=False)
    influence: NDArray[np.float64] | None = field(default=None, eq=False)

    @property
    def estimator(self) -> Any:
        """The fitted estimator, loaded if it is a file; None if its kind of model cannot be saved."""
        return self.model.load() if isinstance(self.model, SavedModel) else self.model


@frozen(eq=False)
class MeasuredFits:
    """Fits of a sweep without a folder, in memory, as they end; their points have no names."""

    found: list[Fitted]
    kept: Callable[[], None] = lambda: None  # called after each

    def recall(
        self, key: Mapping[str, Any], _label: str, fit: Callable[[], tuple[list[Fitted], list[tuple[float, float]]]]
    ) -> tuple[list[Fitted], list[tuple[float, float]]]:
        """Fit, and keep what is found; the key has the algorithm."""
        del key
        found, front = fit()
        self.found.extend(found)
        self.kept()
        return found, front

    def all(self) -> dict[str, list[Fitted]]:
        """Return all fits so far by algorithm."""
        found: dict[str, list[Fitted]] = {}
        for fitted in self.found:
            found.setdefault(fitted.point.algorithm, []).append(fitted)
        return found


@frozen(eq=False)
class FinishedFits:
    """Folder of finished fits: `fits` has what a sweep knows of each, `models` the models by the names of points.

    A key is a JSON object that determines a fit on the table of the run.
    """

    directory: Path
    kept: Callable[[], None] = lambda: None  # called after each
    _known: dict[Path, tuple[list[Fitted], list[tuple[float, float]]]] = field(factory=dict, init=False)  # files read
    _names: set[str] = field(factory=set, init=False)  # of points: those on disk before the first fit, and new ones

    def recall(
        self, key: Mapping[str, Any], label: str, fit: Callable[[], tuple[list[Fitted], list[tuple[float, float]]]]
    ) -> tuple[list[Fitted], list[tuple[float, float]]]:
        """Return finished fits, and cost and score of further models of their path; fit what is not finished.

        `label` begins the names of its points.
        """
        file = self._file(key)
        if file.exists():
            return self._read(file)
        found, front = fit()
        named = self._save_models(found, label)
        write_folder(file.parent, {file.name: pack_fits(named, {"algorithm": key["algorithm"], "front": front})})
        self.kept()
        return named, front

    def all(self) -> dict[str, list[Fitted]]:
        """Return all finished fits by algorithm, in the order in which they ended."""
        found: dict[str, list[Fitted]] = {}
        for file in sorted((self.directory / FITS).glob("*.fits"), key=lambda file: (file.stat().st_mtime_ns, file)):
            fits, _ = self._read(file)
            found.setdefault(fits[0].point.algorithm, []).extend(fits)
        return found

    def _file(self, key: Mapping[str, Any]) -> Path:
        text = json.dumps(key, sort_keys=True)
        return (
            self.directory
            / FITS
            / f"{file_name(key['algorithm'])}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.fits"
        )

    def _read(self, file: Path) -> tuple[list[Fitted], list[tuple[float, float]]]:
        if file not in self._known:  # which nothing changes
            found, header = unpack_fits(file, self.directory / MODELS)
            self._known[file] = found, [(cost, score) for cost, score in header["front"]]
        fits, front = self._known[file]
        return [*fits], [*front]

    def _save_models(self, found: Sequence[Fitted], label: str) -> list[Fitted]:
        """Name points and save their models; those of kinds that cannot be saved stay in memory."""
        folder = self.directory / MODELS
        folder.mkdir(parents=True, exist_ok=True)
        named = []
        for fitted, name in zip(found, self._free_names(label), strict=False):
            model = save_model(fitted.model, folder, name) or fitted.model
            named.append(evolve(fitted, point=evolve(fitted.point, name=name), model=model))
        return named

    def _free_names(self, label: str) -> Iterator[str]:
        label = file_name(label)
        if not self._names:
            self._names.update(fitted.point.name for each in self.all().values() for fitted in each)
        for number in itertools.count(1):
            if (name := f"{label}-{number}") not in self._names:
                self._names.add(name)
                yield name


def save_model(model: Any, folder: Path, name: str) -> SavedModel | None:
    """Save the model of a point to a folder, if it is not there; return None without one that can be saved."""
    if model is None:
        return None
    path = folder / f"{file_name(name)}.model"
    try:
        if isinstance(model, SavedModel):
            if model.path != path:
                write_atomically(path, model.path.read_bytes())
        else:
            save(model, path, costs=model.costs_)
    except StorageError as error:
        if isinstance(error.__cause__, OSError):  # a full disk, for example
            raise
        return None
    return SavedModel(path)


def join_fits(kept: Mapping[str, list[Fitted]], found: Mapping[str, list[Fitted]]) -> dict[str, list[Fitted]]:
    """Join the fits of files with those of this process, which has the models that cannot be saved."""
    here = {fitted.point.name: fitted for each in found.values() for fitted in each}
    return {name: [here.get(fitted.point.name, fitted) for fitted in each] for name, each in kept.items()}


def file_name(text: str) -> str:
    """Return a text as part of a file's name."""
    return re.sub(r"[^\w.-]", "_", text, flags=re.ASCII)[:80]


def pack_fits(found: Sequence[Fitted], header: Mapping[str, Any]) -> bytes:
    """Return the content of a file with points and influences of fits; `header` has further JSON values."""
    arrays = {f"influence.{n}": each.influence for n, each in enumerate(found) if each.influence is not None}
    points = [attrs.asdict(each.point) | {"saved": isinstance(each.model, SavedModel)} for each in found]
    return pack({**header, "points": points}, arrays)


def unpack_fits(file: Path, models: Path) -> tuple[list[Fitted], dict[str, Any]]:
    """Read the file of `pack_fits`; models are in the folder `models`.

    Raises
    ------
    StorageError
        If it is not such a file.
    """
    try:
        header, arrays = unpack(file.read_bytes())
        found = []
        for number, described in enumerate(header["points"]):
            saved = described.pop("saved")
            point = Point(**described)
            model = SavedModel(models / f"{file_name(point.name)}.model") if saved else None
            found.append(Fitted(point, model, arrays.get(f"influence.{number}")))
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{file}: expected finished fits of a run, got something else") from error
    if not found:
        raise StorageError(f"{file}: expected finished fits of a run, got none")
    return found, header
