"""Values that a fitted model's columns had in training, as far as it tells, and rows of them to try it with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, combinations, islice, product
from typing import Any

import numpy as np

from costframe.adoption.foreign import is_of, is_unfitted
from costframe.adoption.inside import categories_inside, everything_inside
from costframe.core.arrays import F8
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import is_missing

_DAY = datetime(2024, 1, 31)  # noqa: DTZ001 - as tables have them
KINDS: tuple[Any, ...] = (0.0, 1.0, 1, "0", True, _DAY, None)
"""Values of the kinds that columns of which nothing is told may have."""
_FEW = 4  # texts of an attribute, or of all
_TRIED = 1000  # rows in which some columns are of other kinds than most


def collect_values(model: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return values of columns, by name: categories that encoders and boosters inside a fitted model have met."""
    known_by_name = {names[f]: list(known) for f, known in categories_inside(model, names).items()}
    texts = set(known_by_name)  # names of columns of which texts are told, not only the numbers that stand for them
    for part in everything_inside(model):
        for name, values in _list_known(part):
            present = [value for value in values if not is_missing(value)]
            is_text = any(isinstance(value, str) for value in present)
            if name in names and present and (name not in known_by_name or (is_text and name not in texts)):
                known_by_name[name] = present
                texts |= {name} if is_text else set()
    return known_by_name


def _list_known(model: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the columns whose categories a fitted estimator stores, each with its categories."""
    categories, names = getattr(model, "categories_", None), getattr(model, "feature_names_in_", None)
    if isinstance(categories, list) and names is not None and len(categories) == len(names):
        yield from ((str(name), np.asarray(known).tolist()) for name, known in zip(names, categories, strict=True))
    if isinstance(tables := getattr(model, "encoder_dict_", None), Mapping):  # of feature_engine
        yield from ((str(name), list(known)) for name, known in tables.items() if isinstance(known, Mapping | list))
    for table in listed if isinstance(listed := getattr(model, "mapping", None), list) else ():  # of category_encoders
        if isinstance(table, Mapping) and hasattr(table.get("mapping"), "index"):
            yield str(table.get("col")), list(table["mapping"].index)
    if is_of(model, "catboost", "CatBoost") and not is_unfitted(model):
        coded, read = set(model.get_cat_feature_indices()), set(model.get_text_feature_indices())
        for f, name in enumerate(model.feature_names_):
            yield name, ["0" if f in coded else "a text" if f in read else 0.0]
    if isinstance(kinds := getattr(model, "kind_to_columns_", None), Mapping):  # of skrub
        yield from ((str(name), [_DAY]) for name in kinds.get("datetime", ()))


def may_crash(model: Any) -> bool:
    """Return whether a model, or a part of it, can end the process: CatBoost does so at vectors of another size."""
    fitted = (
        part for part in everything_inside(model) if is_of(part, "catboost", "CatBoost") and not is_unfitted(part)
    )
    return any(len(part.get_embedding_feature_indices()) for part in fitted)


def collect_texts(model: Any) -> list[str]:
    """Return some texts from the fitted attributes of a model and of its parts, of any column."""
    texts: list[str] = []
    for part in everything_inside(model):
        for name, value in vars(part).items() if hasattr(part, "__dict__") else ():
            if name.endswith("_") and name != "feature_names_in_":
                texts += islice(_list_texts(value), _FEW)
    return list(dict.fromkeys(texts))[:_FEW]


def _list_texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) or (hasattr(value, "index") and hasattr(value, "iloc")):
        yield from (key for key in islice(value.keys(), _FEW) if isinstance(key, str))
        values = value.values() if isinstance(value, Mapping) else ()
        for inner in islice(values, _FEW) if depth < 2 else ():
            yield from _list_texts(inner, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset | np.ndarray) and depth < 2:
        is_one = isinstance(value, np.ndarray) and not value.ndim
        for inner in islice(() if is_one else value, _FEW):
            yield from _list_texts(inner, depth + 1)


def find_accepted_row(
    call: Callable[[F8], Any],
    columns: Sequence[str],
    known: Sequence[Mapping[str, list[Any]]],
    texts: Sequence[str] = (),
) -> tuple[tuple[Any, ...], Any]:
    """Return the first row that a function takes, as values by column, and what it makes of it, as numbers of one row.

    A column with known values has the first of them; the others have values of one kind, but for up to three columns.
    `known` holds guesses of what is known, tried in turn: an encoder inside a model stores categories of the columns
    that it reads, which steps before it may have made. `texts` are among the texts that are tried.

    Raises
    ------
    Exception
        That of the first row, if the function takes none of those tried.
    """
    failed: Exception | None = None
    for values in chain.from_iterable(_list_rows(columns, guess, (*KINDS, *texts)) for guess in known):
        row = np.array([[AsGiven().number(value) for value in values]])
        try:
            return values, call(row)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - of any library; another row may do
            failed = failed or error
    assert failed is not None  # noqa: S101 - there are rows
    raise failed


def _list_rows(
    columns: Sequence[str], known: Mapping[str, list[Any]], kinds: Sequence[Any]
) -> Iterator[tuple[Any, ...]]:
    first = {name: known[name][0] for name in columns if name in known}
    for kind in kinds:
        yield tuple(first.get(name, kind) for name in columns)
    others = [name for name in columns if name not in first]
    rows = ({**first, **dict.fromkeys(others, base), **odd} for base, odd in _mix_kinds(others, kinds))
    yield from (tuple(row[name] for name in columns) for row in islice(rows, _TRIED))


def _mix_kinds(columns: Sequence[str], kinds: Sequence[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield a value for most columns, and other ones for one to three of them."""
    for kind, column in product(kinds[2:], columns):
        yield 1.0, {column: kind}
        yield kind, {column: 1.0}
        yield 1, {column: kind}
    text = next((kind for kind in reversed(kinds) if isinstance(kind, str)), "0")
    for count in (2, 3):
        for some in combinations(columns, count):
            for odd in product((text, _DAY, True), repeat=count):
                yield 1.0, dict(zip(some, odd, strict=True))
                yield 1, dict(zip(some, odd, strict=True))
