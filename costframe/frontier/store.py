"""The store of a study: fits in a folder, under digests of what made them, and the files of their models."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import evolve, field, frozen

from costframe.core.arrays import F8
from costframe.core.errors import CostframeError, StorageError, shown
from costframe.core.files import write_atomically, write_folder
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.storage.container import pack, unpack
from costframe.core.storage.saving import content_of, from_content, read_content
from costframe.frontier.digests import digest
from costframe.frontier.points import Point

Fits = tuple[list["Fitted"], list[tuple[float, float]]]  # and cost and score of all models of their path
Files = dict[str, dict[str, bytes]]  # by folder and name

_ARRAYS = "influence", "spent"  # of a `Fitted`
_CHECKSUM = 32  # bytes
MODELS, FITS = "models", "fits"  # folders of a run


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
class Store:
    """Finished fits by their keys; a key is a mapping of values that determine a fit on the table of the study.

    Without a directory, they are in memory, and their points have no names. In a directory, each fit is there at once,
    whole or not at all: `fits` has what a study knows of it, `models` the models by the names of points.
    """

    directory: Path | None = None
    decimal: str | None = None  # decimal sign of the study's table, which its models keep
    _known: dict[str, Fits] = field(factory=dict, init=False)  # what is read or made here, by the name of its file
    _names: set[str] = field(factory=set, init=False)  # of points: those on disk before the first fit, and new ones

    def recall(self, key: Mapping[str, Any], label: str, fit: Callable[[], Fits], kept: Callable[[], None]) -> Fits:
        """Return finished fits, and cost and score of further models of their path; fit if they are not finished.

        `label` begins the names of its points; it calls `kept` when it has kept what is fitted.
        """
        name = f"{file_name(key['algorithm'])}-{digest(key, 'key')[:20]}.fits"
        if name not in self._known and not (self.directory is not None and (self.directory / FITS / name).exists()):
            found, front = fit()
            if self.directory is not None:
                found = self._save_models(self.directory / MODELS, found, label)
                content = pack_fits(found, {"algorithm": key["algorithm"], "front": front})
                write_folder(self.directory / FITS, {name: content})
            self._known[name] = found, front
            kept()
        found, front = self._read(name)
        return [*found], [*front]

    def all(self, made: Mapping[str, list[Fitted]] | None = None) -> dict[str, list[Fitted]]:
        """Return all finished fits by algorithm, in the order in which they ended.

        Of those that other processes `made`, it takes the models that cannot be saved.
        """
        here = {fitted.point.name: fitted for each in (made or {}).values() for fitted in each}
        found: dict[str, list[Fitted]] = {}
        for name in self._ended():
            fits, _ = self._read(name)
            kept = fits if self.directory is None else [here.get(each.point.name, each) for each in fits]
            found.setdefault(fits[0].point.algorithm, []).extend(kept)
        return found

    def pack(self, label: str = "") -> Files:
        """Return the content of the files of an algorithm, or of all."""
        folder = self.directory
        assert folder is not None  # noqa: S101 - there are no files in memory
        pattern = f"{file_name(label)}-*" if label else "*"
        return {
            part: {file.name: file.read_bytes() for file in sorted((folder / part).glob(pattern))}
            for part in (MODELS, FITS)
        }

    def unpack(self, files: Files) -> None:
        """Write files of `pack`: the models before the fits that name them."""
        assert self.directory is not None  # noqa: S101 - as above
        for part, contents in files.items():
            write_folder(self.directory / part, contents)

    def at_home(self, fitted: Fitted) -> Fitted:
        """Return what a store elsewhere has packed, with the place of its model in this one."""
        if self.directory is None or not isinstance(fitted.model, SavedModel):
            return fitted
        place = (self.directory / MODELS / fitted.model.path.name).absolute()
        return evolve(fitted, model=evolve(fitted.model, path=place))

    def _ended(self) -> list[str]:
        if self.directory is None:
            return list(self._known)
        files = (self.directory / FITS).glob("*.fits")
        return [file.name for file in sorted(files, key=lambda file: (file.stat().st_mtime_ns, file))]

    def _read(self, name: str) -> Fits:
        if name not in self._known:
            assert self.directory is not None  # noqa: S101 - in memory, all are known
            found, header = unpack_fits(self.directory / FITS / name, self.directory / MODELS)
            self._known[name] = found, [(cost, score) for cost, score in header["front"]]
        return self._known[name]

    def _save_models(self, folder: Path, found: Sequence[Fitted], label: str) -> list[Fitted]:
        """Name points and save their models; those of kinds that cannot be saved stay in memory."""
        folder.mkdir(parents=True, exist_ok=True)
        named = []
        for fitted, name in zip(found, self._free_names(label), strict=False):
            model = fitted.model
            if (content := model_content(model, self.decimal)) is not None:
                model = SavedModel.of(folder / f"{name}.model", content)
                _write(model.path, content)
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


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomically(path, content)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error


def model_content(model: Any, decimal: str | None = None) -> bytes | None:
    """Return the content of the file of a point's model, with the decimal sign of its table; None without a file."""
    if model is None or isinstance(model, SavedModel):
        return None if model is None else model.read()
    try:
        return content_of(model, model.costs_, decimal)
    except StorageError:
        return None


_DEVICES = r"(con|prn|aux|nul|com\d|lpt\d)([.]|$)"  # of Windows
_PLAIN = re.compile(rf"(?!{_DEVICES})[a-z0-9_][a-z0-9_.-]{{0,79}}")


def is_plain(text: str) -> bool:
    """Return whether a text without capitals is a name of a file on all file systems."""
    return _PLAIN.fullmatch(text) is not None


def file_name(text: str) -> str:
    """Return a text as part of a file's name: itself if all file systems have it as a name, else with a checksum.

    Different texts have different names, also where a file system does not distinguish capitals.
    """
    if is_plain(text):
        return text
    checksum = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{re.sub(r'^-|[^a-zA-Z0-9_-]', '_', text)[:60]}={checksum[:16]}"


def pack_fits(found: Sequence[Fitted], header: Mapping[str, Any]) -> bytes:
    """Return the content of a file with points and influences of fits; `header` has further JSON values."""
    arrays = {
        f"{name}.{n}": getattr(each, name)
        for n, each in enumerate(found)
        for name in _ARRAYS
        if getattr(each, name) is not None
    }
    points = []
    for each in found:
        saved = each.model if isinstance(each.model, SavedModel) else None
        model = saved and [saved.path.name, saved.checksum]
        points.append(attrs.asdict(each.point) | {"model": model, "repeated": each.repeated})
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
            saved, repeated = described.pop("model"), bool(described.pop("repeated"))
            point = Point(**described)
            model = None if saved is None else _model_in(models, *saved)
            moved = {name: arrays.get(f"{name}.{number}") for name in _ARRAYS}
            found.append(Fitted(point, model, **moved, repeated=repeated))
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{file}: expected finished fits of a run, got something else") from error
    if not found:
        raise StorageError(f"{file}: expected finished fits of a run, got none")
    return found, header


def _model_in(folder: Path, name: str, checksum: str) -> SavedModel:
    if (folder / name).name != name:
        raise StorageError(f"expected names of files, got {shown(name)}")
    return SavedModel((folder / name).absolute(), checksum)
