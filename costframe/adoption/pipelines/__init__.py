"""Pipelines and scikit-learn's transformers as data: what they do to columns, and a predictor of the raw ones.

A transformer that is not known here is called, as an opaque operation of all its columns.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.adoption.adopted import choose_names, is_of
from costframe.adoption.opaque import describe_error, is_unfitted
from costframe.adoption.pipelines.sparse import CallableTransformer, Table, absent_is_missing, framed, over_sparse
from costframe.adoption.pipelines.transformers import READERS, Recipe
from costframe.core.errors import AdoptionError, CostModelError
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.entries import FeaturePrice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costframe.core.tables.preparation import Preparation

_FLOAT32 = float(np.nextafter(2.0**128 - 2.0**103, 0.0))
_HIGHEST = ((np.inf, np.inf), (1e39, float(np.finfo(np.float64).max)), (_FLOAT32, _FLOAT32))
"""Numbers to try, and the highest one that is taken where it is: any, any double, any that rounds to a float32."""


def is_pipeline(model: object) -> bool:
    """Return whether a model is scikit-learn's Pipeline, or a search that chose one, without importing it."""
    return is_of(getattr(model, "best_estimator_", model), "sklearn", "Pipeline")


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
    recipe, table = Recipe(names), Table.dense(list(range(len(names))))
    for title, step in steps:
        table = read_transformer(step, table, recipe, title)
    hidden = table.form is not None and absent_is_missing(last)
    outputs = table.stored if hidden else table.values
    made = name_columns(_without_last(pipeline), names, len(outputs)) if steps else names
    preparation = recipe.finish(outputs, made)
    if preparation.is_plain:
        tree = _adopt_last(last, [names[f] for f in outputs], adopt)
        if isinstance(tree, StageTree) and (tree.costs is None or tree.costs.errors is None):
            return _over(tree, names)
    inner: Any = _adopt_last(last, made, adopt)
    if table.form is not None:
        inner = over_sparse(inner, table.form, hidden=hidden)
    if labels := inner.categories:
        for place, name in enumerate(made):
            if name in labels:
                outputs[place] = recipe.renumber(outputs[place], labels[name], f"column {name!r}")
        inner = inner.with_categories({})
    if not isinstance(getattr(last, "predictor_", None), Predictor):
        refuse_as(last, "predict", table.values if hidden else outputs, table.form, recipe)
    preparation = recipe.finish(outputs, made)
    return PreparedPredictor(inner, preparation, _raw_prices(inner, preparation))


def _raw_prices(inner: Predictor, preparation: Preparation) -> CostModel | None:
    """Return prices of raw columns at which a predictor of made columns answers as at its own prices.

    None if no answer depends on prices.
    """
    own = inner.costs
    if own is None or (own.errors is None and not isinstance(inner, PlannedPredictor)):
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
    costs = None
    if predictor.costs is not None and predictor.costs.errors is not None:  # they decide its labels
        price = {each.name: each for each in predictor.costs.features}
        pairs = zip(predictor.feature_names, names, strict=True)
        costs = evolve(predictor.costs, features=tuple(evolve(price[old], name=new) for old, new in pairs))
    return evolve(predictor, bank=predictor.bank.renamed(names), costs=costs)


def _over(tree: StageTree, names: tuple[str, ...]) -> StageTree:
    """Return a tree for rows of all raw columns."""
    if tree.feature_names == names:
        return tree
    costs = tree.costs if tree.costs is not None and set(names) <= set(tree.costs.names) else None
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
    recipe = Recipe(names)
    outputs = read_transformer(transformer, Table.dense(list(range(len(names)))), recipe).values
    return recipe.finish(outputs, name_columns(transformer, names, len(outputs)))


def raw_names(transformer: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns that a fitted transformer, or a pipeline, takes."""
    title = type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: is not fitted; fit it before its columns are read")
    _refuse_lists(transformer.steps[0][1] if hasattr(transformer, "steps") else transformer, title)
    own = getattr(transformer, "feature_names_in_", None)
    count = getattr(transformer, "n_features_in_", None)
    if count is None and feature_names is None:
        raise AdoptionError(f"{title}: does not tell the number of its columns; give feature_names")
    return choose_names(feature_names, own, len(list(feature_names or ())) if count is None else count, title)


def name_columns(transformer: Any, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the names of the columns that a transformer makes: its own if they are all different, else m0, m1, ..."""
    given = None if getattr(transformer, "feature_names_in_", None) is not None else np.array(names, object)
    try:
        found = tuple(map(str, transformer.get_feature_names_out(given)))
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step has no names to give
        found = ()
    return found if len(found) == len(set(found)) == count else tuple(f"m{place}" for place in range(count))


def read_transformer(transformer: Any, table: Table, recipe: Recipe, title: str = "") -> Table:
    """Add what a transformer does to a table to a recipe; return the table that it makes."""
    if transformer is None or isinstance(transformer, str):
        return table.take([]) if transformer == "drop" else table
    name = type(transformer).__name__ if type(transformer).__module__.split(".")[0] == "sklearn" else ""
    title = title or type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: {type(transformer).__name__} is not fitted")
    _refuse_lists(transformer, title)
    if name == "Pipeline":
        for step, part in transformer.steps:
            table = read_transformer(part, table, recipe, step)
        return table
    if name == "ColumnTransformer":
        return _read_columns(transformer, table, recipe)
    if name == "FeatureUnion":
        weights = transformer.transformer_weights or {}
        parts = [
            _weighted(read_transformer(one, table, recipe, part), weights.get(part), recipe)
            for part, one in transformer.transformer_list
        ]
        return Table.join(parts, recipe, as_sparse=any(part.form is not None for part in parts))
    if name and hasattr(transformer, "get_support"):
        refuse_as(transformer, "transform", table.values, table.form, recipe)
        return table.take(transformer.get_support(indices=True))
    made = None
    if name in READERS:
        if not hasattr(transformer, "categories_") and name != "MissingIndicator":
            refuse_as(transformer, "transform", table.values, table.form, recipe)
        made = table.made_by(name, lambda columns: _read(name, transformer, columns, recipe), transformer, recipe)
    return _call(transformer, table, recipe, title) if made is None else made


def _read(name: str, transformer: Any, columns: list[int], recipe: Recipe) -> list[int] | None:
    try:
        return READERS[name](transformer, columns, recipe)
    except AttributeError as error:  # some parts have no public name
        raise AdoptionError(f"{name}: {error}; this version of scikit-learn may keep it elsewhere") from error


def refuse_as(model: Any, method: str, columns: list[int], form: Callable[..., Any] | None, recipe: Recipe) -> None:
    """Refuse NaN, infinite and large numbers in the columns that a fitted model reads, as far as its method does.

    The method itself is asked, about rows of one number, sparse ones if it reads such.
    """

    def takes(value: float) -> bool:
        row: Any = np.full((1, len(columns)), value)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                getattr(model, method)(framed(model, row if form is None else form(row)))
        except Exception:  # noqa: BLE001 - whatever its class raises
            return False
        return True

    if not takes(1.0):
        return
    missing, high = takes(np.nan), next((high for tried, high in _HIGHEST if takes(tried)), np.inf)
    if high < np.inf or not missing:
        recipe.require_within(columns, -high, high, missing=missing)


def _refuse_lists(transformer: Any, title: str) -> None:
    """Refuse vectorizers, which take a list of texts or of dicts in place of a table."""
    known = (base for base in type(transformer).__mro__ if base.__module__.startswith("sklearn.feature_extraction"))
    if any("Vectorizer" in base.__name__ or base.__name__ == "FeatureHasher" for base in known):
        raise AdoptionError(
            f"{title}: {type(transformer).__name__} takes a list of texts or dicts, no table, and cannot be adopted; "
            "make its columns of numbers yourself, and adopt the steps that read these"
        )


def _read_columns(transformer: Any, table: Table, recipe: Recipe) -> Table:
    made, weights = list[Table](), transformer.transformer_weights or {}
    names = list(getattr(transformer, "feature_names_in_", ()))
    for name, part, chosen in transformer.transformers_:
        some = table.take(_places(chosen, names, len(table.values)))
        _refuse_lists(part.steps[0][1] if hasattr(part, "steps") else part, name)
        if some.values and isinstance(chosen, str | int) and not isinstance(part, str):
            raise AdoptionError(
                f"ColumnTransformer: {name!r} takes {chosen!r} as a list of values; it must be a table, [{chosen!r}]"
            )
        if some.values:
            made.append(_weighted(read_transformer(part, some, recipe, name), weights.get(name), recipe))
    return Table.join(made, recipe, as_sparse=transformer.sparse_output_)


def _places(chosen: Any, names: list[str], count: int) -> list[int]:
    """Return the places of columns that are chosen by names, numbers, a mask, or a slice of names or numbers."""
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        first = names.index(start) if isinstance(start, str) else start
        end = names.index(stop) + 1 if isinstance(stop, str) else stop
        return list(range(count)[first : end : chosen.step])
    listed = [chosen] if isinstance(chosen, str) or np.ndim(chosen) == 0 else list(chosen)
    if listed and all(isinstance(each, bool | np.bool_) for each in listed):
        return np.flatnonzero(listed).tolist()
    return [names.index(each) if isinstance(each, str) else range(count)[each] for each in listed]


def _weighted(table: Table, weight: float | None, recipe: Recipe) -> Table:
    return table if weight is None else table.each(lambda columns: recipe.apply_each("multiply", columns, weight))


def _call(transformer: Any, table: Table, recipe: Recipe, title: str) -> Table:
    recipe.refuse_texts(table.values, title)
    try:
        width = len(transformer.get_feature_names_out())
    except (AttributeError, ValueError, TypeError, NotImplementedError):
        width = _count_made(transformer, table, title)
    return table.called(title, transformer, width, recipe)


def _count_made(transformer: Any, table: Table, title: str) -> int:
    """Return the number of columns that a transformer makes of a row of zeros."""
    function, count = CallableTransformer(transformer, table.form), len(table.values) * (1 + (table.form is not None))
    try:
        return len(function(np.zeros((1, count))).T)
    except Exception as error:
        raise AdoptionError(f"{title}: cannot be called with a row of numbers: {describe_error(error)}") from error
