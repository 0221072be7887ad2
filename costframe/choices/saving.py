"""Saving of frontiers to folders: each point with its own model, and nothing replaced that others rely on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from costframe.core.errors import CostframeError, ParameterError, StorageError, quote_names
from costframe.core.files import write_together
from costframe.study.fit_files import MODELS, file_name, is_plain, pack_fits, unpack_fits
from costframe.study.fitted import Fitted, SavedModel, StudyResult, model_content
from costframe.study.points import CONSTANT
from costframe.study.run_folder import FRONTIER, hold_alone, holds_run
from costframe.study.store import Store


def save_result(folder: Path, result: StudyResult, *, overwrite: bool) -> None:
    """Write a frontier's points and models to a folder; models of kinds that cannot be saved are left out.

    Raises
    ------
    StorageError
        If a file cannot be written, or one of the frontier's own models cannot be read.
    ParameterError
        If the folder has other files in their places and is not to be overwritten, if it is that of a run that did not
        fit the models, if another process writes to it, or if two points have one name.
    """
    try:
        with hold_alone(folder):
            _check_run(folder, result.fits)
            _save(folder, result, overwrite=overwrite)
    except CostframeError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{folder}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def load_result(folder: Path) -> StudyResult:
    """Read what `save_result` wrote; errors are those of `unpack_fits`."""
    fits, header = unpack_fits(folder / FRONTIER, folder / MODELS)
    return StudyResult(fits, header["score_name"], header["unit"], header["full_cost"], tuple(header["notes"]))


def remove_other_models(directory: Path) -> None:
    """Delete a run's models that are neither of its frontier nor of a finished fit."""
    named = {path.name for path in (*_models_of_run(directory), *_models_of(directory))}
    for file in (directory / MODELS).glob("*.model"):
        if file.name not in named:
            file.unlink()


def _save(folder: Path, result: StudyResult, *, overwrite: bool) -> None:
    contents: dict[Path, bytes] = {}
    saved = []
    names = _model_names([fitted.point.name for fitted in result.fits])
    for fitted, name in zip(result.fits, names, strict=True):
        path, model = folder / MODELS / name, fitted.model
        if not (isinstance(model, SavedModel) and model.path.resolve() == path.resolve()):
            content = model_content(model)
            model = None if content is None else SavedModel.of(path, content)
            if content is not None:
                contents[path] = content
        saved.append(evolve(fitted, model=model))
    header = {"score_name": result.score, "unit": result.unit, "full_cost": result.full_cost}
    header["notes"] = list(result.notes)
    contents[folder / FRONTIER] = pack_fits(saved, header)
    changed = {path: content for path, content in contents.items() if _differs(path, content)}
    taken = [path for path in changed if path.exists()]
    if of_run := sorted({path.absolute() for path in taken} & {*_models_of_run(folder)}):
        raise ParameterError(f"directory: {of_run[0]} is the model of a run; give another directory")
    if taken and not overwrite:
        what = "holds another frontier" if (folder / FRONTIER).exists() else f"has other files, such as {taken[0].name}"
        raise ParameterError(f"directory: {folder} {what}; give another directory, or overwrite=True")
    before = {*_models_of(folder)} if changed else set()
    (folder / MODELS).mkdir(parents=True, exist_ok=True)
    write_together(changed)  # the frontier last: it names no model that is not there
    for path in before - {*_models_of(folder), *_models_of_run(folder)}:
        path.unlink(missing_ok=True)


def _check_run(folder: Path, fits: Sequence[Fitted]) -> None:
    """Refuse the folder of a run that fitted other models: it may have models of the same names."""
    if not holds_run(folder):
        return
    models = (folder / MODELS).resolve()
    of_run = {fitted.point.name for fits_of_run in Store(folder).all().values() for fitted in fits_of_run}
    for fitted in fits:
        is_here = isinstance(fitted.model, SavedModel) and fitted.model.path.parent.resolve() == models
        is_made_anew = fitted.point.is_first_look or fitted.point.algorithm == CONSTANT
        if not (is_here or is_made_anew or (model_content(fitted.model) is None and fitted.point.name in of_run)):
            raise ParameterError(
                f"directory: {folder} holds a run, which did not fit {fitted.point.name}; give another directory"
            )


def _model_names(names: Sequence[str]) -> list[str]:
    """Return a file's name for each point: its own where a file system may have it, and no other has it in capitals."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ParameterError(f"points: expected distinct names, {quote_names(twice)} is of several")
    alike = Counter(map(str.lower, names))
    plain = [name.isascii() and is_plain(name.lower()) and alike[name.lower()] == 1 for name in names]
    return [f"{name if fits else file_name(name)}.model" for name, fits in zip(names, plain, strict=True)]


def _differs(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size != len(content) or path.read_bytes() != content
    except FileNotFoundError:
        return True


def _models_of_run(folder: Path) -> list[Path]:
    """Return the files of models of a run's finished fits; none without a run."""
    by_algorithm = Store(folder).all() if holds_run(folder) else {}
    models = [fitted.model for fits in by_algorithm.values() for fitted in fits]
    return [model.path for model in models if isinstance(model, SavedModel)]


def _models_of(folder: Path) -> list[Path]:
    """Return the files of models of the frontier in a folder; none without one that can be read."""
    try:
        fits = load_result(folder).fits
    except StorageError:
        return []
    return [fitted.model.path for fitted in fits if isinstance(fitted.model, SavedModel)]
