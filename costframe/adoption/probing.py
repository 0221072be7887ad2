"""Methods of foreign models as functions of rows, tried with a row to learn how they take it and what they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve

from costframe.adoption.callable_model import CallableModel, ClassOneFunction, LabelFunction, Method
from costframe.adoption.classes import classes_of
from costframe.adoption.examples import collect_texts, collect_values, find_accepted_row, may_crash
from costframe.adoption.foreign import describe_error
from costframe.core.errors import AdoptionError, quote_names
from costframe.core.tables.restored_rows import call_as_given


def make_function(model: Any, names: Sequence[str], method: Method) -> tuple[Callable[..., Any], int]:
    """Return a method as a function of rows, with the number of its outputs, one for probabilities of two classes.

    Of a classifier it is a method that gives numbers.
    """
    function, classes = CallableModel.of(model, names, method), classes_of(model)
    if may_crash(model):  # so that it is not tried
        single = classes is None or (method == "decision_function" and len(classes) == 2)
        width = 1 if single else len(classes)
    else:
        function, width = try_handings(function, names, type(model).__name__)
    return (ClassOneFunction(function), 1) if method == "predict_proba" and width == 2 else (function, width)


def make_labelled(model: Any, names: Sequence[str]) -> CallableModel:
    """Return a classifier as one that predicts a row's label, perhaps a text."""
    function, labels = CallableModel.of(model, names, "predict"), tuple(classes_of(model).tolist())
    if may_crash(model):
        return function
    return try_handings(function, names, type(model).__name__, lambda way: LabelFunction(way, labels, None))[0]


def find_foreign(function: Any) -> Any:
    """Return the model within a function of rows, another function as it is."""
    while (inner := getattr(function, "function", getattr(function, "model", None))) is not None:
        function = inner
    return function


def try_handings(
    function: CallableModel,
    names: Sequence[str],
    title: str,
    as_numbers: Callable[[CallableModel], Callable[..., Any]] = lambda way: way,
) -> tuple[CallableModel, int]:
    """Return a model as a function that takes a row, and the number of its outputs, as numbers.

    It is handed frames of polars if it takes no others, and frames if it has no names but takes no array.
    """
    failed: AdoptionError | None = None
    for handing in function.handing.ways(names):
        way = evolve(function, handing=handing)
        try:
            return way, count_outputs(as_numbers(way), names, title)
        except AdoptionError as error:
            failed = failed or error
    assert failed is not None  # noqa: S101 - there is a way
    raise failed


def count_outputs(function: Callable[..., Any], names: Sequence[str], title: str) -> int:
    """Return the number of outputs of a function, for the first row that it takes."""
    model = find_foreign(function)
    if may_crash(model):
        raise AdoptionError(f"{title}: reads vectors, of a size that it does not tell, and is not tried")
    known, texts = collect_values(model, names), collect_texts(model)
    try:
        _, values = find_accepted_row(
            lambda row: call_as_given(function, row), names, [known, {}] if known else [{}], texts
        )
    except Exception as failed:
        raise AdoptionError(
            f"{title}: refuses all rows that were tried, of numbers, texts, dates and missing values in "
            f"{quote_names(names, 6)}: {describe_error(failed).rstrip('.')}. Adopt a function that calls it, and "
            "answers where it refuses a row, with features=[...]"
        ) from failed
    if values.ndim not in {1, 2} or len(values) != 1 or not values.size:
        raise AdoptionError(f"{title}: expected one prediction a row, got shape {values.shape} for one row")
    return int(values.size)
