"""Adoption of pipelines: the transformers as a preparation, the last step as a predictor of the columns they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from costframe.adoption.pipelines.preparing import name_columns, raw_names, read_transformer, refuse_as
from costframe.adoption.pipelines.recipe import Recipe
from costframe.adoption.pipelines.sparse import Table, absent_is_missing, over_sparse
from costframe.core.errors import AdoptionError
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["adopt_pipeline", "is_pipeline"]


def is_pipeline(model: object) -> bool:
    """Return whether a model is scikit-learn's Pipeline, or a search that chose one, without importing it."""
    bases = type(getattr(model, "best_estimator_", model)).__mro__
    return any(base.__name__ == "Pipeline" and base.__module__.split(".")[0] == "sklearn" for base in bases)


def adopt_pipeline(
    pipeline: Any, feature_names: Sequence[str] | None = None, adopt: Callable[..., Predictor] | None = None
) -> Predictor:
    """Adopt a fitted pipeline: a predictor of its raw columns.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline, or a search that chose one
        Its last step is a model that `adopt` takes, or a fitted estimator of costframe, or again a pipeline.
    feature_names : sequence of str, optional
        Raw columns by position. By default the names from its fit, else f0, f1, ...
    adopt : callable
        Adopts the last step, given it and the names of its columns; by default `costframe.adopt`.

    Returns
    -------
    Predictor
        A `PreparedPredictor`; a `StageTree` of raw columns where the last step reads raw columns as they are.

    Raises
    ------
    AdoptionError
        If it is not fitted, or a step cannot be adopted; the text names the step.
    """
    take: Callable[..., Predictor] = _public_adopt if adopt is None else adopt
    pipeline = getattr(pipeline, "best_estimator_", pipeline)
    names = raw_names(pipeline, feature_names)
    steps, last = _flatten(pipeline)
    recipe, table = Recipe(names), Table.dense(list(range(len(names))))
    for title, step in steps:
        table = read_transformer(step, table, recipe, title)
    hidden = table.form is not None and absent_is_missing(last)
    outputs = table.stored if hidden else table.values
    made = name_columns(_without_last(pipeline), names, len(outputs)) if steps else names
    preparation = recipe.finish(outputs, made)
    if preparation.is_plain:
        tree = _adopt_last(last, [names[f] for f in outputs], take)
        if isinstance(tree, StageTree):
            return _over(tree, names)
    inner: Any = _adopt_last(last, made, take)
    if table.form is not None:
        inner = over_sparse(inner, table.form, hidden=hidden)
    if labels := inner.categories:
        for place, name in enumerate(made):
            if name in labels:
                outputs[place] = recipe.renumber(outputs[place], labels[name], f"column {name!r}")
        inner = inner.with_categories({})
    if not isinstance(getattr(last, "predictor_", None), Predictor):
        refuse_as(last, "predict", table.values if hidden else outputs, table.form, recipe)
    return PreparedPredictor(inner, recipe.finish(outputs, made))


def _public_adopt(model: Any, feature_names: Sequence[str] | None) -> Predictor:
    from costframe.adoption import adopt

    return adopt(model, feature_names)


def _flatten(pipeline: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Return the transformers of a pipeline, also of one that is its last step, by name; and the model at its end."""
    *steps, (title, last) = pipeline.steps
    if is_pipeline(last):
        further, last = _flatten(last)
        steps += further
    if last is None or isinstance(last, str) or not hasattr(last, "predict"):
        raise AdoptionError(f"{type(pipeline).__name__}: expected a model as its last step, {title!r} predicts nothing")
    return steps, last


def _without_last(pipeline: Any) -> Any:
    """Return the transformers of a pipeline as one."""
    last = pipeline.steps[-1][1]
    if not is_pipeline(last):
        return pipeline[:-1]
    before, after = pipeline[:-1], _without_last(last)
    return type(before)([*before.steps, *((f"then {name}", step) for name, step in after.steps)])


def _adopt_last(model: Any, names: Sequence[str], adopt: Callable[..., Predictor]) -> Predictor:
    """Adopt the last step over columns with these names; a fitted estimator of costframe has its predictor."""
    fitted = getattr(model, "predictor_", None)
    return _renamed(fitted, names) if isinstance(fitted, Predictor) else adopt(model, feature_names=names)


def _renamed(predictor: Predictor, names: Sequence[str]) -> Predictor:
    """Return a predictor for columns with other names, in the same order."""
    if predictor.feature_names == tuple(names):
        return predictor
    if not isinstance(predictor, StageTree) or len(predictor.feature_names) != len(names):
        raise AdoptionError(
            f"{type(predictor).__name__}: its features are {predictor.feature_names}, but the steps before it make "
            f"{tuple(names)}; train it with costs.through(...) of these steps"
        )
    return evolve(predictor, bank=predictor.bank.renamed(names), costs=None)


def _over(tree: StageTree, names: tuple[str, ...]) -> StageTree:
    """Return a tree for rows of all raw columns."""
    if tree.feature_names == names:
        return tree
    costs = tree.costs if tree.costs is not None and set(names) <= set(tree.costs.names) else None
    return evolve(tree, bank=tree.bank.with_features(names), costs=costs, fallbacks=tree.fallbacks)
