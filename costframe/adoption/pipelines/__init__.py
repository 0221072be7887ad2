"""Pipelines and scikit-learn's transformers as data: what they do to columns, and a predictor of the raw ones.

A transformer that is not known here is called, as an opaque operation of all its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from costframe.adoption.examples import known_values
from costframe.adoption.foreign import OpaqueOnlyError, is_unfitted
from costframe.adoption.names import choose_names
from costframe.adoption.own import is_own
from costframe.adoption.pipelines.recipe import Recipe
from costframe.adoption.pipelines.sparse import absent_is_missing, over_sparse
from costframe.adoption.pipelines.steps import active, is_pipeline, read_transformer, refuse_as, refuse_lists
from costframe.adoption.pipelines.table import Came, Table
from costframe.core.errors import AdoptionError, CostModelError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.entries import FeaturePrice
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.preparation import Preparation


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
    own = own_names(pipeline, names)
    known = _renamed_values(known_values(pipeline, own), own, names)
    given: set[int] = set()
    while True:
        recipe = Recipe(names, given, known)
        found = _adopt_steps(pipeline, steps, last, recipe, adopt)
        if recipe.given <= given:  # else some of them are read as numbers, too
            return found
        given |= recipe.given


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
            return _over(tree, names)
    inner: Any = adopt(last, feature_names=made)
    if table.form is not None:
        inner = over_sparse(inner, table.form, hidden=hidden)
    if labels := inner.categories:
        outputs = _renumbered(table, outputs, [labels.get(name) for name in made], recipe, pipeline)
        inner = inner.with_categories({})
    if not is_own(last):
        refuse_as(last, "predict", table.values if hidden else outputs, table.form, recipe)
    preparation = recipe.finish(outputs, made)
    return PreparedPredictor(inner, preparation, _raw_prices(inner, preparation))


def _renumbered(table: Table, outputs: list[int], labels: Sequence[Any], recipe: Recipe, pipeline: Any) -> list[int]:
    """Return columns with the numbers that a model reads: of its labels, or of values as they came."""
    if AsGiven() in labels and not table.is_float:
        if table.came.steps:
            raise _opaque_only(pipeline, "makes columns whose kinds of values its last step may tell")
        return recipe.give(table.came.raw)
    pairs = zip(outputs, labels, strict=True)
    is_read = [each is not None and each != AsGiven() for each in labels]
    names = (f"column {number}" for number in range(len(labels)))
    return [
        recipe.renumber(column, each, what) if renumbered else column
        for (column, each), renumbered, what in zip(pairs, is_read, names, strict=True)
    ]


def _opaque_only(pipeline: Any, why: str) -> OpaqueOnlyError:
    return OpaqueOnlyError(f"{type(pipeline).__name__}: cannot be adopted step by step: it {why}")


def _raw_prices(inner: Predictor, preparation: Preparation) -> CostModel | None:
    """Return prices of raw columns at which a predictor of made columns pays, and answers, as at its own prices.

    None if there are none such, and no answer depends on prices.
    """
    own = inner.costs
    if own is None:
        return None
    price: dict[str | None, Any] = {each.name: each for each in own.features}
    price |= {each.name: each for each in own.resources}
    names = CostModel.uniform(preparation.feature_names).trace(preparation.made_from).names
    raw = {name: price.get(names.get(name), FeaturePrice(name, 1.0)) for name in preparation.feature_names}
    try:
        own = evolve(own, features=tuple(price[name] for name in preparation.names))
        others = tuple(each for each in own.resources if each not in raw.values())
        found = evolve(own, features=tuple(_as_feature(*each) for each in raw.items()), resources=others)
        through = found.trace(preparation.made_from).costs
        if {*through.resources} == {*own.resources} and evolve(through, resources=own.resources) == own:
            return found
    except CostModelError:  # such as a need of a raw column
        pass
    if own.errors is None and not isinstance(inner, PlannedPredictor):  # no answer depends on them
        return None
    raise AdoptionError(
        f"{type(inner).__name__}: its answers depend on its prices, which are not those of raw columns; train it with "
        "costs.through(...) of the steps before it"
    )


def _as_feature(name: str, price: Any) -> FeaturePrice:
    """Return the price of a made column, or of the resource that several need, as that of their raw column."""
    if isinstance(price, FeaturePrice):
        return evolve(price, name=name)
    return FeaturePrice(name, price.cost, price.needs, time=price.time)


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


def _over(tree: StageTree, names: tuple[str, ...]) -> StageTree:
    """Return a tree for rows of all raw columns."""
    if tree.feature_names == names:
        return tree
    costs = tree.costs
    if costs is not None:
        others = (FeaturePrice(name, 1.0) for name in names if name not in set(costs.names))
        costs = evolve(costs, features=(*costs.features, *others))
    return evolve(tree, bank=tree.bank.with_features(names), costs=costs, fallbacks=tree.fallbacks)


def is_transformer(value: object) -> bool:
    """Return whether a value has the interface of scikit-learn's transformers."""
    return hasattr(value, "fit") and hasattr(value, "transform") and not isinstance(value, type)


def prepare(transformer: Any, feature_names: Sequence[str] | None = None) -> Preparation:
    """Return a fitted transformer as data: the columns that it makes, and from which raw columns.

    It makes what the original makes of float64 and of texts, but for the rounding of linear maps, and refuses values
    that the original refuses. None and NaN are one missing value.

    Parameters
    ----------
    transformer : fitted scikit-learn transformer
    feature_names : sequence of str, optional
        Raw columns by position. By default the names from its fit, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If it is not fitted, or a part of it cannot be read; the text names the part.
    """
    names = raw_names(transformer, feature_names)
    own = own_names(transformer, names)
    known = _renamed_values(known_values(transformer, own), own, names)
    given: set[int] = set()
    while True:
        recipe = Recipe(names, given, known)
        table = read_transformer(transformer, raw_table(transformer, recipe), recipe)
        if table.is_pending:
            raise AdoptionError(f"{type(transformer).__name__}: makes other values than numbers, or float32")
        if recipe.given <= given:  # else some of them are read as numbers, too
            return recipe.finish(table.values, name_columns(transformer, names, len(table.values)))
        given |= recipe.given


def raw_names(transformer: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns that a fitted transformer, or a pipeline, takes."""
    title = type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: is not fitted; fit it before its columns are read")
    refuse_lists(transformer.steps[0][1] if hasattr(transformer, "steps") else transformer, title)
    own = getattr(transformer, "feature_names_in_", None)
    count = getattr(transformer, "n_features_in_", None)
    if count is None and feature_names is None:
        raise AdoptionError(f"{title}: does not tell the number of its columns; give feature_names")
    return choose_names(feature_names, own, len(list(feature_names or ())) if count is None else count, title)


def own_names(transformer: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names with which a transformer, or a pipeline, was fitted, else those given."""
    own = getattr(transformer, "feature_names_in_", ())
    return tuple(map(str, own)) if len(own) == len(names) else names


def _renamed_values(known: dict[str, list[Any]], own: tuple[str, ...], names: tuple[str, ...]) -> dict[str, list[Any]]:
    return {new: known[old] for old, new in zip(own, names, strict=True) if old in known}


def raw_table(transformer: Any, recipe: Recipe) -> Table:
    """Return the table of the raw columns, which a transformer, or a pipeline, takes with the names of its fit."""
    named = getattr(transformer, "feature_names_in_", None) is not None
    names = own_names(transformer, recipe.names) if named else None
    return evolve(Table.dense(recipe.raw), came=Came(tuple(range(len(recipe.names))), names))


def name_columns(transformer: Any, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the names of the columns that a transformer makes: its own if they are all different, else m0, m1, ..."""
    given = None if getattr(transformer, "feature_names_in_", None) is not None else np.array(names, object)
    try:
        found = tuple(map(str, transformer.get_feature_names_out(given)))
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step has no names to give
        found = ()
    return found if len(found) == len(set(found)) == count else tuple(f"m{place}" for place in range(count))
