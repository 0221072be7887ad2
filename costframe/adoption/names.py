"""Names of a model's columns: given ones, its own, or f0, f1, ..."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import count

from costframe.core.errors import AdoptionError
from costframe.core.learners.bank import WeakLearnerBank


def choose_names(
    given: Sequence[str] | None, known: Sequence[str] | None, n_features: int, model: str
) -> tuple[str, ...]:
    """Return names of the columns: the given ones, else the model's own, else f0, f1, ...

    `model` is its name in errors, `n_features` the number of columns that it reads.

    Raises
    ------
    AdoptionError
        If their number differs from the model's, or a name is repeated; the text names both sides.
    """
    if given is None and known is None:
        return tuple(f"f{column}" for column in range(n_features))
    if isinstance(given, str):
        raise AdoptionError(f"{model}: feature_names must be a sequence of names, got the single text {given!r}")
    chosen = known if given is None else given
    names = () if chosen is None else tuple(str(name) for name in chosen)
    theirs = f"{n_features} features" + (f" ({_shorten(known)})" if known is not None else "")
    if len(names) != n_features:
        raise AdoptionError(f"{model}: it has {theirs}, but got {len(names)} feature names ({_shorten(names)})")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise AdoptionError(
            f"{model}: it has {theirs}, but these feature names come more than once: {', '.join(twice)}"
        )
    return names


def is_unnamed(names: Sequence[str]) -> bool:
    """Return whether these are the names of a model trained without names: f0, f1, ..., LightGBM's Column_0, ..."""
    return any(tuple(names) == tuple(f"{start}{f}" for f in range(len(names))) for start in ("f", "Column_"))


def match_columns(bank: WeakLearnerBank, names: Sequence[str]) -> WeakLearnerBank:
    """Let a bank read columns: by name, or by position if its model had no names and there are as many columns."""
    read = bank.feature_names
    if is_unnamed(read) and len(read) == len(names) and not set(read) <= set(names):
        bank = bank.renamed(names)
    return bank.with_features(names)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the given one, or "name 2" and so on."""
    titles = (name if number == 1 else f"{name} {number}" for number in count(1))
    return next(title for title in titles if title not in taken)


def _shorten(names: Sequence[str], most: int = 8) -> str:
    shown = [str(name) for name in names[:most]]
    return ", ".join(shown + ["..."] * (len(names) > most)) or "none"
