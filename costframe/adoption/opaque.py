"""Adoption of any model or function as one opaque learner, which the core can only call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from costframe.adoption.callable_model import CallableModel, LabelFunction, Method
from costframe.adoption.classes import classes_of, fits_several
from costframe.adoption.foreign import is_unfitted
from costframe.adoption.inside import names_inside, prices_inside, reads_numbers
from costframe.adoption.names import choose_names
from costframe.adoption.probing import count_outputs, find_foreign, make_function, make_labelled, try_handings
from costframe.core.errors import AdoptionError, BankError, DataError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque_learner import OpaqueLearner
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import Blend, BlendPart
from costframe.core.stages.stages import Answer
from costframe.core.tables.as_given import AsGiven

_METHODS = ("predict_proba", "decision_function", "predict")


def opaque_tree(
    title: str,
    function: Callable[..., Any],
    names: Sequence[str],
    columns: Sequence[int],
    width: int,
    link: str = "identity",
    **options: Any,
) -> StageTree:
    """Return a model of one opaque learner, called `title`, of some columns, whose outputs are the scores."""
    learner = OpaqueLearner(title, function, tuple(columns), width)
    bank = WeakLearnerBank.opaque(names, [learner])
    if not reads_numbers(find_foreign(function)):
        bank = evolve(bank, categories={names[f]: AsGiven() for f in columns})
    return StageTree(bank, (Answer([0], np.eye(width), np.zeros(width), link, **options),))


def adopt_opaque(
    model: Any, features: Sequence[str] | None = None, feature_names: Sequence[str] | None = None
) -> StageTree:
    """Adopt any fitted classifier or regressor, or a function of rows, as one opaque learner, called as its class.

    A row buys all features before the model is called, which gets them as they came: in a table with the dtype of each
    column, in a frame if the model has names of columns, else in an array. It decides about texts that it has not seen.
    Labels are those that the model itself predicts, and prices those of costframe's models in it. A file holds the
    model's name only: `cf.load` takes `opaque={name: function}`, a function such as that of the learner,
    `predictor.bank.opaques[0]`.

    Parameters
    ----------
    model : object with predict_proba, decision_function or predict, or a callable
        Of a classifier with probabilities the predictions are these, of class 1 for two classes; of another one its
        scores, and for two classes, or without scores, 1 for its label and 0 for others. A callable takes an array
        (rows, d) as NumPy makes it of the columns, such as float64, int64 of whole numbers alone, and objects if there
        are texts; it returns (rows,) or (rows, K).
    features : sequence of str, optional
        The columns that the model reads, in its order, or as it names them. By default all.
    feature_names : sequence of str, optional
        Columns of the rows. By default the features, else the names from the model's fit, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the model is none of these, or is not fitted, or the features are unknown, or of another number than the
        model's.
    """
    title = getattr(model, "__name__", type(model).__name__)
    if isinstance(model, type):
        raise AdoptionError(f"{title}: expected a fitted model, got the class; call it and fit it")
    if is_unfitted(model):
        raise AdoptionError(f"{title}: is not fitted; fit it before adopting it")
    if not any(hasattr(model, name) for name in _METHODS) and not (callable(model) and not hasattr(model, "fit")):
        raise AdoptionError(
            f"{title}: expected a fitted classifier or regressor, with predict_proba or predict, a function of rows, "
            "or the path of a model file"
        )
    read = _choose_read(model, features, feature_names, title)
    names = read if feature_names is None else choose_names(feature_names, None, len(feature_names), title)
    unknown = [name for name in read if name not in set(names)]
    if unknown:
        raise AdoptionError(f"{title}: features: {unknown[0]!r} is none of the columns {', '.join(names)}")
    columns = [names.index(name) for name in read]
    try:
        tree = _build_tree(model, title, read, names, columns)
    except (BankError, DataError) as error:
        raise AdoptionError(f"{title}: {error}") from error
    return tree.with_costs(prices_inside(model, tree.feature_names))


def _build_tree(
    model: Any, title: str, read: tuple[str, ...], names: Sequence[str], columns: Sequence[int]
) -> StageTree:
    classes = classes_of(model)
    if isinstance(classes, list):
        raise AdoptionError(f"{title}: several labels a row cannot be adopted; adopt one classifier for each")
    if not hasattr(model, "predict"):
        return opaque_tree(title, model, names, columns, count_outputs(model, read, title))
    method = next((name for name in _METHODS[:2] if classes is not None and hasattr(model, name)), "predict")
    if fits_several(model):
        called, width = try_handings(CallableModel.of(model, read, method), read, title)  # type: ignore[arg-type]
        return opaque_tree(title, called, names, columns, width)
    if classes is None or len(classes) < 2:
        function, width = make_function(model, read, "predict" if classes is None else method)  # type: ignore[arg-type]
        return opaque_tree(title, function, names, columns, width)
    values, n_values = (None, 0) if method == "predict" else make_function(model, read, method)  # type: ignore[arg-type]
    if n_values != (1 if len(classes) == 2 else len(classes)):
        values, n_values = None, 0  # such as decisions between pairs of classes
    predict = make_labelled(model, read)
    labels = LabelFunction(predict, tuple(classes.tolist()), values)
    by_label = method != "predict_proba" and labels.n_scores == 1
    width, options = labels.n_scores + n_values, {}
    if values is not None:
        picked = np.arange(width)[:1] if by_label else np.arange(labels.n_scores, width)
        options["blends"] = [Blend([BlendPart("identity", width)], np.eye(width)[:, picked], np.zeros(len(picked)))]
    link = "step" if by_label or (values is None and labels.n_scores == 1) else "identity"
    return opaque_tree(title, labels, names, columns, width, link, by_scores=True, **options).with_classes(classes)


def _choose_read(
    model: Any, features: Sequence[str] | None, feature_names: Sequence[str] | None, title: str
) -> tuple[str, ...]:
    """Return the columns that a model reads, in its order."""
    count, known = getattr(model, "n_features_in_", None), names_inside(model)
    if known is not None and count not in {None, len(known)}:  # of some columns
        known = None
    given = feature_names if features is None else tuple(features)
    if known is not None and given is not None:
        missing = set(known).difference(given)
        if not missing and (features is None or len(known) == len(given)):
            return known
    if known is None and given is None and count is None:
        raise AdoptionError(f"{title}: does not say what it reads; name its features, features=[...]")
    if count is None:
        count = len(given if known is None else known)  # type: ignore[arg-type] # one of them is there
    return choose_names(given, known, count, title)


def opaque_member(model: Any, names: tuple[str, ...], method: Method) -> StageTree:
    """Return a model of one method of a fitted estimator, which reads the columns `names`."""
    function, width = make_function(model, names, method)
    return opaque_tree(type(model).__name__, function, names, range(len(names)), width)
