"""Records of a comparison: what one side's models scored and cost on one split of a table, and what made them."""

from __future__ import annotations

import math
from types import UnionType
from typing import Any, Self, get_args, get_type_hints

from attrs import Attribute, asdict, evolve, field, fields, frozen

from costframe.core.errors import ParameterError, shown
from costframe.training.error_costs import ERROR_COST

FORMAT = 1  # of lines
_CHECKS: dict[Any, Any] = {str: str, int: int, float: (int, float), bool: bool, dict: dict}


class _OfJson:
    """Reads a record, or a part of one, from JSON values; refuses what lacks a field, or has one of another type."""

    @classmethod
    def of_json(cls, value: object, where: str) -> Self:
        """Return the record of a mapping; `where` begins errors. Further keys have no effect."""
        if not isinstance(value, dict):
            raise ParameterError(f"{where}: expected a mapping, got {shown(value)}")
        hints, given = get_type_hints(cls), dict[str, Any]()
        for attribute in fields(cls):  # type: ignore[arg-type]  # of attrs
            if attribute.name not in value:
                raise ParameterError(f"{where}: there is no {attribute.name!r}")
            given[attribute.name] = _read(value[attribute.name], hints[attribute.name], f"{where}, {attribute.name}")
        return cls(**given)


def _read(value: object, kind: Any, where: str) -> Any:
    """Return a JSON value as a type of a field has it."""
    if isinstance(kind, UnionType):
        (kind,) = (part for part in get_args(kind) if part is not type(None))
        return None if value is None else _read(value, kind, where)
    if isinstance(kind, type) and issubclass(kind, _OfJson):
        return kind.of_json(value, where)
    if args := get_args(kind):
        if kind.__origin__ is dict:
            return _read(value, dict, where)
        if not isinstance(value, list):
            raise ParameterError(f"{where}: expected a list, got {shown(value)}")
        return tuple(_read(item, args[0], f"{where} {number}") for number, item in enumerate(value, 1))
    if isinstance(value, str) and not _is_utf8(value):
        raise ParameterError(f"{where}: expected a text without lone surrogates, got {value!a}")
    is_flag = isinstance(value, bool)
    if not isinstance(value, _CHECKS[kind]) or is_flag != (kind is bool) or (kind is float and not _is_finite(value)):
        raise ParameterError(f"{where}: expected {_NOUNS[kind]}, got {shown(value)}")
    return float(value) if kind is float else value


_NOUNS = {str: "a text", int: "a whole number", float: "a finite number", bool: "true or false", dict: "a mapping"}


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _above_zero(_: Any, attribute: Attribute[Any], value: float) -> None:
    if not value > 0:
        raise ParameterError(f"{attribute.name}: expected a number > 0, got {value}")


def _not_negative(_: Any, attribute: Attribute[Any], value: float) -> None:
    if value < 0:
        raise ParameterError(f"{attribute.name}: expected a number >= 0, got {value}")


def _not_blank(_: Any, attribute: Attribute[Any], value: str) -> None:
    if not value.strip():
        raise ParameterError(f"{attribute.name}: expected a name, got {value!r}")


@frozen
class TableFacts(_OfJson):
    """A table without its prices: name, digest of its content, and size; `classes` is 0 without any."""

    name: str = field(validator=_not_blank)
    digest: str
    rows: int = field(validator=_above_zero)
    features: int = field(validator=_above_zero)
    task: str
    classes: int = field(validator=_not_negative)


@frozen
class SplitFacts(_OfJson):
    """A split: number of the repeat, seed (None of the table's own parts), digest, and rows of its parts."""

    repeat: int
    seed: int | None
    digest: str
    train: int = field(validator=_above_zero)
    valid: int = field(validator=_above_zero)
    test: int = field(validator=_above_zero)


@frozen
class PriceFacts(_OfJson):
    """Prices: digest, unit, price of all features for one row, and whether wrong answers have prices."""

    digest: str
    unit: str
    full_cost: float = field(validator=_above_zero)
    errors: bool


@frozen
class SideFacts(_OfJson):
    """A side: name, kind ("algorithm", "estimator" or "outsider"), its distribution, settings, and their digest."""

    name: str = field(validator=_not_blank)
    kind: str
    plugin: str | None
    version: str | None
    settings: dict[str, Any]
    digest: str


@frozen
class ModelFigures(_OfJson):
    """Figures of one model.

    Attributes
    ----------
    name : str
    tradeoff : float
    rank : float
        What the side chooses by, higher is better: the lower end of the interval of the estimated score, or minus the
        upper end of that of the bill.
    score, score_error, cost, cost_error : float
        Its estimates for fresh rows, with standard errors.
    test_score, test_error, test_cost : float
        Score and exact mean cost per row on test; the score is minus the cost of errors where these have prices.
    features : int
        That it reads.
    rounds : float
        Mean number of trips to the sources.
    """

    name: str
    tradeoff: float
    rank: float
    score: float
    score_error: float = field(validator=_not_negative)
    cost: float = field(validator=_not_negative)
    cost_error: float = field(validator=_not_negative)
    test_score: float
    test_error: float = field(validator=_not_negative)
    test_cost: float = field(validator=_not_negative)
    features: int = field(validator=_not_negative)
    rounds: float = field(validator=_not_negative)

    @property
    def test_bill(self) -> float:
        """Cost of features and errors per row on test, where errors have prices."""
        return self.test_cost - self.test_score


@frozen
class Record(_OfJson):
    """A side on one split of a table: its models, or the error that left it without any.

    Attributes
    ----------
    format : int
    table : TableFacts
    split : SplitFacts
    prices : PriceFacts
    side : SideFacts
    score : str
        Name of the score.
    fit : mapping
        `points` and `cv` of each side's study.
    versions : mapping of str to str
        Of costframe, Python, and the libraries that fits depend on.
    seconds, processor_seconds : float
        Of the clock and of all processors together, for fits, estimates and tests.
    models : tuple of ModelFigures
        Empty where the side failed.
    error : str or None
    """

    format: int
    table: TableFacts
    split: SplitFacts
    prices: PriceFacts
    side: SideFacts
    score: str
    fit: dict[str, Any]
    versions: dict[str, Any]
    seconds: float
    processor_seconds: float
    models: tuple[ModelFigures, ...] = ()
    error: str | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        if self.format != FORMAT:
            raise ParameterError(f"format: expected {FORMAT}, got {self.format}, of another version of costframe")
        if bool(self.models) == (self.error is not None):
            raise ParameterError("models: expected models or else an error")

    @property
    def has_bills(self) -> bool:
        """Whether wrong answers have prices, and so bills are compared."""
        return self.score == ERROR_COST

    @property
    def subject(self) -> tuple[Any, ...]:
        """What was measured on: table, prices and score; records of one subject can be compared on equal splits."""
        return self.table.name, self.table.digest, self.prices.digest, self.score

    @property
    def maker(self) -> tuple[Any, ...]:
        """What was measured: the side with its settings and versions, and how it was fitted."""
        version = self.side.version or ""
        fit = tuple(sorted((name, str(value)) for name, value in self.fit.items()))
        return self.side.name, self.side.digest, version, str(self.versions.get("costframe")), fit

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from other records: what is equal has equal figures."""
        return self.subject, self.split.digest, self.maker

    @property
    def order(self) -> tuple[Any, ...]:
        """Its place among records, which does not depend on when it was made."""
        return self.subject, self.split.repeat, self.split.digest, self.maker, self.error is not None

    def with_outcome(
        self, models: tuple[ModelFigures, ...], error: str | None, seconds: float, processor_seconds: float
    ) -> Self:
        """Return it with the models of a fit, or its error, and the times that it took."""
        times = round(seconds, 3), round(processor_seconds, 3)
        return evolve(self, models=models, error=error, seconds=times[0], processor_seconds=times[1])

    def to_json(self) -> dict[str, Any]:
        """Return JSON values of all fields."""
        return asdict(self)
