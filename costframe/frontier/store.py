"""The store of a study: fits and runs in a folder, under digests of what made them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import sys
import types
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from attrs import evolve, field, frozen

from costframe.core.errors import CostframeError, ParameterError, StorageError, shown
from costframe.core.files import remove_unfinished, write_atomically, write_folder
from costframe.core.storage.container import pack, unpack
from costframe.core.storage.saving import load, save
from costframe.frontier.points import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.datasets import Dataset

    Fits = tuple[list["Fitted"], list[tuple[float, float]]]  # and cost and score of all models of their path
    Files = dict[str, dict[str, bytes]]  # by folder and name

_ARRAYS = "influence", "spent"  # of a `Fitted`
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS = (tuple, list, dict, set, frozenset)


def digest(value: object, name: str) -> str:
    """Return a text that differs between different values; `name` begins the error.

    Arrays count with all their values and their dtype, numbers of numpy as Python's, functions by their code and what
    that closes over, and other objects by what pickle would keep of them, without values that they cache.

    Raises
    ------
    ParameterError
        If pickle refuses an object, as an open file.
    """
    try:
        return _digest(value, ()).hex()
    except Exception as error:  # an object of any class may come, and raise anything
        raise ParameterError(
            f"{name}: a run in a directory is known by its values, and those of {shown(value)} cannot be read "
            f"({error}); leave out the directory"
        ) from error


def _digest(value: object, above: tuple[int, ...]) -> bytes:
    if id(value) in above:  # a cycle
        return hashlib.sha256(b"cycle %d" % above.index(id(value))).digest()
    value = value.item() if isinstance(value, np.generic) else value
    own, parts = _take_apart(value)
    digests = [_digest(part, (*above, id(value))) for part in parts]
    if isinstance(value, dict | set | frozenset):
        digests.sort()
    name = f"{type(value).__module__}.{type(value).__qualname__} {len(own)} {len(digests)} "
    return hashlib.sha256(b"".join([name.encode(), own, *digests])).digest()


def _take_apart(value: Any) -> tuple[bytes, Iterable[object]]:
    """Return the bytes of a value's own, and the values in it."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value).encode(errors="surrogatepass"), ()
    if kind in _CONTAINERS:
        return b"", value.items() if kind is dict else value
    if kind in {np.ndarray, np.memmap}:
        return _take_array_apart(value)
    if kind in {types.FunctionType, types.CodeType}:
        return _take_code_apart(value)
    return _take_object_apart(value)


def _take_array_apart(array: NDArray[Any]) -> tuple[bytes, Iterable[object]]:
    """Take an array apart; its memory order, and the room of its texts, do not count."""
    if array.dtype.hasobject:
        return f"{array.dtype} {array.shape}".encode(), array.ravel().tolist()
    text, dtype = (np.char.encode(array, "utf-8"), "U") if array.dtype.kind == "U" else (array, array.dtype.descr)
    return f"{dtype} {array.shape} ".encode() + np.ascontiguousarray(text).tobytes(), ()


def _take_code_apart(code: Any) -> tuple[bytes, Iterable[object]]:
    """Take a function apart, with what it closes over, but not what it finds in its module; or the code of one."""
    if isinstance(code, types.FunctionType):
        closed = [cell.cell_contents for cell in code.__closure__ or ()]
        return code.__module__.encode(), (code.__code__, code.__defaults__, code.__kwdefaults__, closed)
    names = (code.co_names, code.co_varnames, code.co_argcount, code.co_posonlyargcount, code.co_flags)
    return code.co_code, (code.co_consts, names)


def _take_object_apart(value: Any) -> tuple[bytes, Iterable[object]]:
    reduced = value.__qualname__ if isinstance(value, type) else value.__reduce_ex__(4)
    if isinstance(reduced, str):  # the name of a global
        return f"{getattr(value, '__module__', '')}.{reduced}".encode(), ()
    state, listed, mapped = (*reduced[2:5], None, None, None)[:3]
    if isinstance(state, dict):
        cached = functools.cached_property
        state = {key: each for key, each in state.items() if not isinstance(getattr(type(value), key, None), cached)}
    return b"", (*reduced[:2], state, list(listed or ()), dict(mapped or ()))


MODELS, FITS = "models", "fits"  # folders of a run
RUN, FRONTIER, RECOMMENDED = "run.json", "frontier.fits", "recommended.model"
NOUNS = {
    "version": "another version of costframe",
    "table": "another table or split of rows",
    "prices": "other prices",
    "score": "another score",
    "folds": "another number of folds",
    "parameters": "other parameters of estimators",
}


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
    """A point with its fitted estimator, or its file, and influences of rows, each float64 or None.

    `influence` is that of each row on its score; `spent` that of each row of valid, which are the last of all, on its
    cost.
    """

    point: Point
    model: Any = field(eq=False)
    influence: NDArray[np.float64] | None = field(default=None, eq=False)
    spent: NDArray[np.float64] | None = field(default=None, eq=False)

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
        return evolve(fitted, model=SavedModel(self.directory / MODELS / fitted.model.path.name))

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


def file_name(text: str) -> str:
    """Return a text as part of a file's name."""
    return re.sub(r"[^\w.-]", "_", text, flags=re.ASCII)[:80]


def pack_fits(found: Sequence[Fitted], header: Mapping[str, Any]) -> bytes:
    """Return the content of a file with points and influences of fits; `header` has further JSON values."""
    arrays = {
        f"{name}.{n}": getattr(each, name)
        for n, each in enumerate(found)
        for name in _ARRAYS
        if getattr(each, name) is not None
    }
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
            found.append(Fitted(point, model, *(arrays.get(f"{name}.{number}") for name in _ARRAYS)))
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{file}: expected finished fits of a run, got something else") from error
    if not found:
        raise StorageError(f"{file}: expected finished fits of a run, got none")
    return found, header


def save_fits(folder: Path, found: Sequence[Fitted], header: Mapping[str, Any]) -> None:
    """Write a frontier's points and models to a folder; models of kinds that cannot be saved are left out.

    Raises
    ------
    StorageError
        If a file cannot be written.
    """
    try:
        (folder / MODELS).mkdir(parents=True, exist_ok=True)
        saved = [evolve(each, model=save_model(each.model, folder / MODELS, each.point.name)) for each in found]
        write_atomically(folder / FRONTIER, pack_fits(saved, header))
    except CostframeError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{folder}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def load_fits(folder: Path) -> tuple[list[Fitted], dict[str, Any]]:
    """Read what `save_fits` wrote; errors are those of `unpack_fits`."""
    return unpack_fits(folder / FRONTIER, folder / MODELS)


def holds_run(directory: Path) -> bool:
    """Return whether a directory has an earlier run, which can be resumed."""
    return (directory / RUN).exists()


def holds_fits(directory: Path) -> bool:
    """Return whether a directory has finished fits, of a run or of a saved frontier."""
    return (directory / FRONTIER).exists() or any((directory / FITS).glob("*.fits"))


@contextlib.contextmanager
def hold_alone(directory: Path) -> Iterator[None]:
    """Make a directory, and keep others that call this out of it until the end; delete what it made and is empty then.

    Windows, and file systems without locks, keep nobody out.

    Raises
    ------
    ParameterError
        If another process, or thread, holds the directory.
    """
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(directory):
            yield
    finally:
        for each in missing:
            with contextlib.suppress(OSError):  # it has files
                each.rmdir()


@contextlib.contextmanager
def _lock(directory: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl

    opened = os.open(directory, os.O_RDONLY)  # the lock ends with the process, also if that is killed
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise ParameterError(f"directory: another run writes to {directory}; wait, or give another directory") from None
    except OSError:
        pass
    try:
        yield
    finally:
        os.close(opened)


def open_run(directory: Path, wanted: Mapping[str, Any], *, resume: bool) -> None:
    """Begin the run of a description in a directory, or check that its run has the same one and can be resumed.

    Raises
    ------
    ParameterError
        If the directory has a run, and this one is not to resume it or is of something else.
    """
    if holds_run(directory):
        if not resume:
            raise ParameterError(f"directory: {directory} holds a run; resume it, or give another directory")
        known = _read_run(directory)
        other = [noun for name, noun in NOUNS.items() if known.get(name) != wanted[name]]
        if other:
            raise ParameterError(f"directory: the run in {directory} has {' and '.join(other)}")
        for folder in (directory, directory / FITS, directory / MODELS):
            remove_unfinished(folder)
    write_folder(directory, {RUN: json.dumps(wanted, indent=1).encode()})


def find_run(model: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the folder of the run that wrote a model's file, and the run's description; None if it is in no run."""
    whole = model.absolute()
    folder = whole.parent.parent if whole.parent.name == MODELS else whole.parent
    is_of_run = whole.parent.name == MODELS or whole.name == RECOMMENDED
    return (folder, _read_run(folder)) if is_of_run and holds_run(folder) else None


def digest_table(data: Dataset) -> str:
    """Return a text that differs between tables, also in the split of their rows."""
    table = (data.X, data.y, data.split, data.qid, data.feature_names, data.task, data.classes, dict(data.categorical))
    return digest(table, "data")


def clear_run(directory: Path) -> None:
    """Delete a run's finished fits and models; other files stay, and the directory."""
    (directory / RUN).unlink(missing_ok=True)
    (directory / FRONTIER).unlink(missing_ok=True)
    for folder, ending in ((FITS, "*.fits"), (MODELS, "*.model")):
        for file in (directory / folder).glob(ending):
            file.unlink()
        with contextlib.suppress(OSError):  # it has files of others
            (directory / folder).rmdir()


def remove_other_models(directory: Path, points: Iterable[Point]) -> None:
    """Delete a run's models that are neither of these points nor of a finished fit."""
    fits = [fitted.point for each in Store(directory).all().values() for fitted in each]
    named = {f"{file_name(point.name)}.model" for point in (*points, *fits)}
    for file in (directory / MODELS).glob("*.model"):
        if file.name not in named:
            file.unlink()


def _read_run(directory: Path) -> dict[str, Any]:
    try:
        found = json.loads((directory / RUN).read_text("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ParameterError(f"directory: {directory / RUN} is no description of a run")
    return found


def describe_run(data: Dataset, score: object, folds: int | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the fits on a data set depend on, beside algorithm, tradeoff, and number of points.

    `reading` and `seed` make the same table and split again; see `Dataset`.
    """
    from costframe import __version__

    return {
        "version": __version__,
        "reading": dict(data.reading),
        "seed": data.seed,
        "table": digest_table(data),
        "prices": digest(data.costs.to_dict(), "costs"),
        "score": score if isinstance(score, str) else digest(score, "score"),
        "folds": folds,
        "parameters": {name: digest(value, name) for name, value in sorted(parameters.items())},
    }
