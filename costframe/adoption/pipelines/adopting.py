"""A fitted pipeline as a predictor of its raw columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve

from costframe.adoption.foreign import OpaqueOnlyError
from costframe.adoption.own import is_own
from costframe.adoption.pipelines.preparing import name_columns, raw_names, raw_table, read_raw
from costframe.adoption.pipelines.raw_prices import raw_prices
from costframe.adoption.pipelines.recipe import Recipe
from costframe.adoption.pipelines.sparse import absent_is_missing, read_sparse
from costframe.adoption.pipelines.steps import active, is_pipeline, read_transformer, refuse_as
from costframe.adoption.pipelines.table import StepTable
from costframe.core.errors import AdoptionError
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.entries import FeaturePrice
from costframe.core.tables.as_given import AsGiven


def adopt_pipeline(pipeline: Any, feature_names: Sequence[str] | None, adopt: Callable[..., Predictor]) -> Predictor:
    """Adopt a fitted pipeline: a predictor of its raw columns.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline, or a search that chose one
        Its last step is a model that `costframe.adopt` takes, or a fitted estimator of costframe, or again a pipeline.
    feature_names : sequence of str, optional
        Raw columns by position. By default the names from its fit, else f0, f1, ...
    adopt : callable
        `costframe.adopt`, for the last step.

    Returns
    -------
    Predictor
        A `PreparedPredictor`; a `StageTree` of raw columns where the last step reads raw columns as they are.

    Raises
    ------
    AdoptionError
        If it is not fitted, or a step cannot be adopted; the text names the step.
    """
    pipeline = getattr(pipeline, "best_estimator_", pipeline)
    names = raw_names(pipeline, feature_names)
    steps, last = _flatten(pipeline)
    return read_raw(pipeline, names, lambda recipe: _adopt_steps(pipeline, steps, last, recipe, adopt))


def _adopt_steps(
    pipeline: Any, steps: list[tuple[str, Any]], last: Any, recipe: Recipe, adopt: Callable[..., Predictor]
) -> Predictor:
    """Adopt a pipeline of some steps and a model at its end, with a recipe for the columns between."""
    names, table = recipe.names, raw_table(pipeline, recipe)
    for title, step in steps:
        table = read_transformer(step, table, recipe, title)
    if table.is_pending:
        raise _opaque_only(pipeline, "makes other values than numbers, or float32, of its columns")
    hidden = table.form is not None and absent_is_missing(last)
    outputs = table.stored if hidden else table.values
    made = name_columns(_without_last(pipeline), names, len(outputs)) if steps else names
    preparation = recipe.finish(outputs, made)
    if preparation.is_plain:
        tree = adopt(last, feature_names=[names[f] for f in outputs])
        if isinstance(tree, StageTree) and (tree.costs is None or tree.costs.errors is None):
            return _widen(tree, names)
    inner: Any = adopt(last, feature_names=made)
    if table.form is not None:
        inner = read_sparse(inner, table.form, hidden=hidden)
    if labels := inner.categories:
        outputs = _renumber(table, outputs, [labels.get(name) for name in made], recipe, pipeline)
        inner = inner.with_categories({})
    if not is_own(last):
        refuse_as(last, "predict", table.values if hidden else outputs, table.form, recipe)
    preparation = recipe.finish(outputs, made)
    return PreparedPredictor(inner, preparation, raw_prices(inner, preparation))


def _renumber(table: StepTable, outputs: list[int], labels: Sequence[Any], recipe: Recipe, pipeline: Any) -> list[int]:
    """Return columns with the numbers that a model reads: of its labels, or of values as they came."""
    if AsGiven() in labels and not table.is_float:
        if table.came.steps:
            raise _opaque_only(pipeline, "makes columns whose kinds of values its last step may tell")
        return recipe.give(table.came.raw)
    pairs = zip(outputs, labels, strict=True)
    is_read = [known is not None and known != AsGiven() for known in labels]
    names = (f"column {number}" for number in range(len(labels)))
    return [
        recipe.renumber(column, known, what) if renumbered else column
        for (column, known), renumbered, what in zip(pairs, is_read, names, strict=True)
    ]


def _opaque_only(pipeline: Any, why: str) -> OpaqueOnlyError:
    return OpaqueOnlyError(f"{type(pipeline).__name__}: cannot be adopted step by step: it {why}")


def _flatten(pipeline: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Return the transformers of a pipeline, also of one that is its last step, by name; and the model at its end."""
    *steps, (title, last) = pipeline.steps
    steps = active(steps)
    if is_pipeline(last):
        further, last = _flatten(last)
        steps += further
    if last is None or isinstance(last, str) or not hasattr(last, "predict"):
        raise AdoptionError(f"{type(pipeline).__name__}: expected a model as its last step, {title!r} predicts nothing")
    return steps, last


def _without_last(pipeline: Any) -> Any:
    """Return the transformers of a pipeline as one."""
    from sklearn.pipeline import Pipeline

    *steps, (_, last) = pipeline.steps
    further = _without_last(last).steps if is_pipeline(last) else []
    return Pipeline([*active(steps), *((f"then {name}", step) for name, step in further)])


def _widen(tree: StageTree, names: tuple[str, ...]) -> StageTree:
    """Return a tree for rows of all raw columns."""
    if tree.feature_names == names:
        return tree
    costs = tree.costs
    if costs is not None:
        others = (FeaturePrice(name, 1.0) for name in names if name not in set(costs.names))
        costs = evolve(costs, features=(*costs.features, *others))
    return tree.over(names, costs)
