"""The store of a study: fits in a folder, under digests of what made them, and the files of their models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from costframe.core.errors import StorageError
from costframe.core.files import write_atomically, write_folder
from costframe.study.digests import digest
from costframe.study.fit_files import FITS, MODELS, file_name, pack_fits, unpack_fits
from costframe.study.fitted import Fits, Fitted, SavedModel, model_content

Files = dict[str, dict[str, bytes]]  # by folder and name


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

    def recall(
        self, key: Mapping[str, Any], label: str, fit: Callable[[], Fits], after_fit: Callable[[], None]
    ) -> Fits:
        """Return finished fits; fit if they are not finished.

        `label` begins the names of its points; it calls `after_fit` when it has what is fitted.
        """
        name = f"{file_name(key['algorithm'])}-{digest(key, 'key')[:20]}.fits"
        if name not in self._known and not (self.directory is not None and (self.directory / FITS / name).exists()):
            made = fit()
            if self.directory is not None:
                made = evolve(made, fits=self._save_models(self.directory / MODELS, made.fits, label))
                content = pack_fits(made.fits, {"algorithm": key["algorithm"], "front": made.front})
                write_folder(self.directory / FITS, {name: content})
            self._known[name] = made
            after_fit()
        known = self._read(name)
        return Fits([*known.fits], [*known.front])

    def all(self, made: Mapping[str, list[Fitted]] | None = None) -> dict[str, list[Fitted]]:
        """Return all finished fits by algorithm, in the order in which they ended.

        Of those that other processes `made`, it takes the models that cannot be saved.
        """
        by_name = {fitted.point.name: fitted for fits in (made or {}).values() for fitted in fits}
        by_algorithm: dict[str, list[Fitted]] = {}
        for name in self._ended():
            fits = self._read(name).fits
            if self.directory is not None:
                fits = [by_name.get(fitted.point.name, fitted) for fitted in fits]
            by_algorithm.setdefault(fits[0].point.algorithm, []).extend(fits)
        return by_algorithm

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
            fits, header = unpack_fits(self.directory / FITS / name, self.directory / MODELS)
            self._known[name] = Fits(fits, [(cost, score) for cost, score in header["front"]])
        return self._known[name]

    def _save_models(self, folder: Path, fits: Sequence[Fitted], label: str) -> list[Fitted]:
        """Name points and save their models; those of kinds that cannot be saved stay in memory."""
        folder.mkdir(parents=True, exist_ok=True)
        named = []
        for fitted, name in zip(fits, self._free_names(label), strict=False):
            model = fitted.model
            if (content := model_content(model, self.decimal)) is not None:
                model = SavedModel.of(folder / f"{name}.model", content)
                _write(model.path, content)
            named.append(evolve(fitted, point=evolve(fitted.point, name=name), model=model))
        return named

    def _free_names(self, label: str) -> Iterator[str]:
        label = file_name(label)
        if not self._names:
            self._names.update(fitted.point.name for fits in self.all().values() for fitted in fits)
        for number in itertools.count(1):
            if (name := f"{label}-{number}") not in self._names:
                self._names.add(name)
                yield name


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomically(path, content)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error
