"""The cost model: prices of features and resources, checked when it is made."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from costframe.core.checks import as_path
from costframe.core.display import html_table
from costframe.core.errors import CostModelError, brief, format_count, shown, suggestion
from costframe.core.prices import costs_io
from costframe.core.prices.entries import FeaturePrice, ResourcePrice
from costframe.core.prices.entry_checks import as_hashable_names, as_names, as_price, as_table, as_text, entry_error
from costframe.core.prices.error_entries import ColumnPrice
from costframe.core.prices.error_prices import ErrorPrices
from costframe.core.prices.given_prices import as_entries, as_format, as_prices, check_array, of_series, to_plain
from costframe.core.prices.needs import Needs
from costframe.core.prices.panels import Panel, mark_answers, mark_not_made, panels_of
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.prices.price_checks import check_needs, check_sum
from costframe.core.prices.price_table import dearest, dearest_rows, total_price
from costframe.core.prices.through import list_raw_columns, price_through, trace_columns

__all__ = ["ColumnPrice", "CostModel", "ErrorPrices", "FeaturePrice", "ResourcePrice", "ThroughPrices"]


@attrs.frozen(cache_hash=True, repr=False)
class CostModel:
    """The price of every feature and resource, of evaluating learners and of errors; immutable, compared by value.

    Parameters
    ----------
    features : tuple of FeaturePrice
        At least one.
    resources : tuple of ResourcePrice
        Resources that features and other resources may need.
    unit : str
        Unit of all prices.
    split : float
        Per comparison inside a tree, for features without a `split` of their own.
    learner : float
        Per evaluation of a weak learner, times its own e_t.
    reuse : float
        Per further use of an acquired feature (footnote 1 of Cronus).
    trip_time : float
        Milliseconds of the client's own work for each trip of a round, which do not run side by side. Features that
        need the same resources come in one trip.
    ignore : tuple of str
        Columns of a table that are no features; they need no price.
    errors : ErrorPrices or None
        Prices of wrong answers.

    Raises
    ------
    CostModelError
        If a price is not a finite number >= 0, a name occurs twice, a need is unknown or part of a circle, or the sum
        of all prices exceeds the largest float; the error names the entry.
    """

    features: tuple[FeaturePrice, ...]
    resources: tuple[ResourcePrice, ...] = ()
    unit: str = "unit"
    split: float = 0.0
    learner: float = 0.0
    reuse: float = 0.0
    trip_time: float = 0.0
    ignore: tuple[str, ...] = ()
    errors: ErrorPrices | None = None

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "features", as_prices(self.features, FeaturePrice, "features"))
        object.__setattr__(self, "resources", as_prices(self.resources, ResourcePrice, "resources"))
        object.__setattr__(self, "unit", as_text(self.unit, "unit"))
        for key in ("split", "learner", "reuse", "trip_time"):
            object.__setattr__(self, key, as_price(getattr(self, key), key))
        object.__setattr__(self, "ignore", as_names(self.ignore, "ignore"))
        if not self.features:
            raise CostModelError("features: expected the price of at least one feature, got none")
        check_needs(self.features, self.resources)
        settings = {key: getattr(self, key) for key in ("split", "learner", "reuse")}
        check_sum(settings, self.features, self.resources)
        if self.errors is not None:
            object.__setattr__(self, "errors", ErrorPrices.of(self.errors))
            self._check_error_columns(self.errors.columns)

    def _check_error_columns(self, columns: tuple[str, ...]) -> None:
        """Refuse a price of errors that is no free feature: its value must be known to decide."""
        prices = {feature.name: feature for feature in self.features}
        for name in columns:
            if name not in prices:
                raise CostModelError(
                    f"errors: expected a feature as column, got {shown(name)}{suggestion(name, prices)}"
                )
            if prices[name].cost or prices[name].once or prices[name].needs:
                raise CostModelError(f"errors: expected a free feature without needs as column, got {shown(name)}")

    def __repr__(self) -> str:
        """Name its size, the cost of all features and the highest prices; all of them would fill pages."""
        counts = format_count(len(self.features), "feature"), format_count(len(self.resources), "resource")
        together = f"all together {self.full_cost():g} {self.unit}"
        others = {name: getattr(self, name) for name in ("split", "learner", "reuse", "trip_time")}
        further = [f"{name} {price:g}" for name, price in others.items() if price]
        highest = dearest([*self.features, *self.resources])
        return brief(self, *counts[: 1 + bool(self.resources)], together, *further, highest)

    def _repr_html_(self) -> str:
        return html_table(repr(self), *self.table())

    def table(self, names: Iterable[str] | None = None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return a header, and name, price and needs of the dearest features, of all or of `names`, with resources."""
        wanted = set(self.names if names is None else names)
        features = [feature for feature in self.features if feature.name in wanted]
        return ("", self.unit, "needs"), dearest_rows(features, self.resources)

    @property
    def names(self) -> tuple[str, ...]:
        """The features, in the order given."""
        return tuple(feature.name for feature in self.features)

    @property
    def resource_names(self) -> tuple[str, ...]:
        """The resources, in the order given."""
        return tuple(resource.name for resource in self.resources)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CostModel:
        """Read a ``.toml``, ``.json`` or ``.csv`` file; a `CostModelError` names the file and the entry that is wrong.

        A CSV has two columns, a feature and its price in each line, with a header or without; decimal commas and signs
        between thousands are read where they are clear. A file of prices alone needs no line ``[features]``. Tables
        ``[sources.NAME]`` in other files are left unread; see `Sources.load`.
        """
        file = as_path(path)
        table = costs_io.read_prices(file)
        if isinstance(table, dict) and isinstance(table.get("sources"), dict):
            del table["sources"]
        try:
            if isinstance(table, dict) and table:
                table = as_format(table, keys=[field.name for field in attrs.fields(cls)])
            return cls.from_dict(table)
        except CostModelError as error:
            raise CostModelError(f"{file}: {error}") from error

    @classmethod
    def from_dict(cls, mapping: object) -> CostModel:
        """Make a cost model from a mapping with the keys of the file format.

        These are ``features`` and, optionally, ``resources``, ``unit``, ``split``, ``learner``, ``reuse``,
        ``trip_time``, ``ignore`` and ``errors``. An entry of the first two is a number, or a table with at least a
        ``cost``. A `CostModelError` names the entry that is missing, unknown or not allowed.
        """
        table = as_table(mapping, keys=[field.name for field in attrs.fields(cls)])
        features = as_entries(table.pop("features", None), FeaturePrice, "features")
        resources = as_entries(table.pop("resources", {}), ResourcePrice, "resources")
        errors = ErrorPrices.of(table.pop("errors")) if "errors" in table else None
        return cls(features, resources, **table, errors=errors)

    @classmethod
    def from_array(cls, costs: NDArray[Any] | Sequence[float], names: Iterable[str]) -> CostModel:
        """Price features by position, ``costs[i]`` per row for ``names[i]``; both have length d.

        A `CostModelError` refuses another shape or length, a dtype that does not hold numbers, and invalid prices.
        """
        names = as_names(names, "names")
        check_array(costs, names)
        return cls(tuple(FeaturePrice(name, cost) for name, cost in zip(names, costs, strict=True)))

    @classmethod
    def uniform(cls, names: Iterable[str], cost: float = 1.0) -> CostModel:
        """Price every feature at `cost` per row."""
        return cls(tuple(FeaturePrice(name, cost) for name in as_names(names, "names")))

    @classmethod
    def of(cls, costs: object, names: Iterable[str] | None = None, *, errors: object = None) -> CostModel:
        """Make a cost model from any value that estimators accept as `costs`.

        A mapping of features to prices, such as ``{"age": 1.0}``, or one with keys of the file format, as for
        `from_dict`; a pandas Series with features as its index; a text or path, a file to `load`; an array, sequence or
        other Series of numbers, the prices of `names` by position; None, which prices each of `names` at one. Anything
        else is a `CostModelError` that names ``costs``. `errors`, anything that `ErrorPrices.of` accepts,
        are prices of wrong answers in place of those that the value has.
        """
        if errors is not None:
            return attrs.evolve(cls.of(costs, names), errors=ErrorPrices.of(errors))
        if isinstance(costs, CostModel):
            return costs
        try:
            if type(costs).__name__ == "Series":
                costs = of_series(costs)
            if isinstance(costs, Mapping):
                return cls.from_dict(as_format(costs, keys=[field.name for field in attrs.fields(cls)]))
            if isinstance(costs, str | os.PathLike):
                return cls.load(costs)
            if costs is None:
                return _price_at_one(as_hashable_names(names))  # type: ignore[arg-type] # None is refused by name
            if isinstance(costs, np.ndarray | Sequence) and not isinstance(costs, bytes | bytearray | memoryview):
                return cls.from_array(costs, names)  # type: ignore[arg-type]
            raise entry_error(["costs"], "None, a CostModel, a mapping, a file or a row of numbers", costs)
        except CostModelError as error:
            text = str(error)
            raise CostModelError(text if text.startswith("costs") else f"costs: {text}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, texts and floats from which `from_dict` makes an equal cost model."""
        table: dict[str, Any] = {"unit": self.unit, "split": self.split, "learner": self.learner, "reuse": self.reuse}
        table |= {"trip_time": self.trip_time} if self.trip_time else {}
        table |= {"ignore": list(self.ignore)} if self.ignore else {}
        table["features"] = {feature.name: to_plain(feature) for feature in self.features}
        if self.resources:
            table["resources"] = {resource.name: to_plain(resource) for resource in self.resources}
        if self.errors is not None:
            table["errors"] = self.errors.to_dict()
        return table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.toml`` or ``.json`` file, whole or not at all; a `CostModelError` names a file it cannot write."""
        costs_io.write_prices(as_path(path), self.to_dict())

    def select(self, names: Iterable[str]) -> PriceArrays:
        """Return the prices of the features `names`, in that order, and of all resources.

        A name without a price, or a repeated name, is a `CostModelError`.
        """
        return _select_prices(self, as_hashable_names(names))

    def through(self, transformer: Any, feature_names: Sequence[str] | None = None) -> CostModel:
        """Price the columns that a fitted transformer makes of the priced ones.

        Scaling keeps a price; columns made of one raw column, such as one-hot columns, share it as a resource; an
        interaction needs both, and a principal component all.

        Parameters
        ----------
        transformer : fitted scikit-learn transformer, Preparation, or mapping of str to (tuple of) str
            A mapping says from which raw columns each column is made.
        feature_names : sequence of str, optional
            Raw columns of a transformer that was fitted without names; by default those of this cost model.

        Raises
        ------
        CostModelError
            If a raw column has no price, or prices cannot be shared exactly: once-per-batch prices, reuse, and prices
            of errors that are a column.
        """
        if self.errors is not None and self.errors.columns:
            raise CostModelError(
                f"errors: no column is a price of errors after a transformation: {self.errors.columns}"
            )
        return self.trace(trace_columns(transformer, self.names, feature_names)).costs

    def trace(self, made_from: Mapping[str, Sequence[str]], *, paid_apart: bool = False) -> ThroughPrices:
        """Return the prices of made columns by the raw columns of each, and where the raw ones went; see `through`."""
        self.select(list_raw_columns(made_from))  # refuses raw columns without a price
        features, resources, names = price_through(
            self.features, self.resources, made_from, split=self.split, reuse=self.reuse, paid_apart=paid_apart
        )
        by_column = self.errors is not None and self.errors.columns  # readers of raw columns have their prices
        errors = None if by_column else self.errors
        return ThroughPrices(attrs.evolve(self, features=features, resources=resources, errors=errors), names)

    @functools.cached_property
    def panels(self) -> tuple[Panel, ...]:
        """Features whose empty cells mean that a test was not made, those that are made together in one; often none."""
        return panels_of(self.features, self.resources)

    def as_records(self) -> CostModel:
        """Return the same prices for records in which somebody chose who was tested.

        Empty cells of all that costs something mean "not made", except where prices say "answer"; see docs/records.md.
        """
        features, resources = mark_not_made(self.features, self.resources)
        return attrs.evolve(self, features=features, resources=resources)

    def as_answers(self) -> CostModel:
        """Return the same prices for rows in which all tests were made: empty cells are what the sources answered."""
        features, resources = mark_answers(self.features, self.resources)
        return attrs.evolve(self, features=features, resources=resources)

    def without_errors(self) -> CostModel:
        """Return the same prices without those of errors, by which inquiries ask for what predictions need alone."""
        return self if self.errors is None else attrs.evolve(self, errors=None)

    @property
    def has_times(self) -> bool:
        """Whether anything takes time."""
        return (
            self.trip_time > 0.0
            or any(price.time for price in self.features)
            or any(price.time for price in self.resources)
        )

    def as_time(self, per_cost: float = 0.0) -> CostModel:
        """Price time: a cost model whose unit is milliseconds, to train or choose a model that answers soon.

        Every price becomes its time plus `per_cost` times its cost, so that a model can weigh both. Fetches of one
        round run side by side; the sum of their times is an upper bound on a row's latency, without `trip_time` and
        without further rounds, which are priced only where a resource has a `round_time` or a price of rounds.

        Parameters
        ----------
        per_cost : float
            Milliseconds that one unit of cost is worth.

        Raises
        ------
        CostModelError
            If nothing takes time.
        """
        worth = as_price(per_cost, "per_cost")
        if not self.has_times:
            raise CostModelError("time: expected the time of at least one feature or resource, in milliseconds")

        def timed(price: Any) -> Any:
            further = {"once": worth * price.once} if isinstance(price, FeaturePrice) else {}
            if further and price.split is not None:
                further["split"] = worth * price.split
            if isinstance(price, ResourcePrice):
                further["round"] = (price.round_time or 0.0) + worth * price.round
            return attrs.evolve(price, cost=price.time + worth * price.cost, **further)

        return CostModel(
            tuple(map(timed, self.features)),
            tuple(map(timed, self.resources)),
            "ms",
            **{key: worth * getattr(self, key) for key in ("split", "learner", "reuse")},
            trip_time=self.trip_time,
            ignore=self.ignore,
            errors=None if self.errors is None or not worth else self.errors.times(worth),
        )

    def full_cost(self, names: Iterable[str] | None = None) -> float:
        """Return the cost of a row that acquires all features, or all of `names`, with the resources they need.

        It leaves out prices per batch, comparison, learner and reuse.
        """
        if names is None:
            return total_price(self.features, self.resources)
        price = {feature.name: feature for feature in self.features}
        return total_price([price[name] for name in self.select(names).names], self.resources)


@attrs.frozen
class ThroughPrices:
    """Prices of made columns, and where the raw ones went."""

    costs: CostModel  # prices of the made columns
    # the feature or resource of `costs` that each raw column became, and the name of each raw resource there
    names: dict[str, str]


@functools.lru_cache(maxsize=64)  # every inquiry without prices asks for it
def _price_at_one(names: tuple[str, ...]) -> CostModel:
    return CostModel.uniform(names)


@functools.lru_cache(maxsize=64)  # every inquiry selects; the arrays are read-only, so all may share them
def _select_prices(model: CostModel, names: tuple[str, ...]) -> PriceArrays:
    wanted = as_names(names, "names")
    prices = {feature.name: feature for feature in model.features}
    missing = [name for name in wanted if name not in prices]
    if missing:
        tail = suggestion(missing[0], prices) + f", nor for {len(missing) - 1} more" * (len(missing) > 1)
        raise CostModelError(f"features: no price for {shown(missing[0])}{tail}")
    chosen = [prices[name] for name in wanted]
    place = {name: r for r, name in enumerate(model.resource_names)}
    return PriceArrays(
        names=wanted,
        cost=np.array([feature.cost for feature in chosen], dtype=np.float64),
        once=np.array([feature.once for feature in chosen], dtype=np.float64),
        split=np.array([model.split if f.split is None else f.split for f in chosen], dtype=np.float64),
        resource_names=model.resource_names,
        resource_cost=np.array([resource.cost for resource in model.resources], dtype=np.float64),
        direct_needs=Needs.of(
            *([[place[need] for need in price.needs] for price in prices] for prices in (chosen, model.resources))
        ),
        learner=model.learner,
        reuse=model.reuse,
        unit=model.unit,
        resource_round=np.array([resource.round for resource in model.resources], dtype=np.float64),
        resource_stays=np.array([resource.stays for resource in model.resources], dtype=np.bool_),
    )
