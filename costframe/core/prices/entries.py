"""The entries of a price table: the prices of one feature and of one resource."""

from __future__ import annotations

import attrs

from costframe.core.prices.entry_checks import as_name, as_names, as_price, entry_error

EPOCHS = {"days": 1, "seconds": 86_400, "milliseconds": 86_400_000, "microseconds": 86_400_000_000}
"""What numbers since 1970-01-01 may count, each with how many are in a day."""
DATE_PARTS = ("year", "month", "day", "weekday", "hour")
"""Parts of dates that may be features."""
ANSWER, NOT_MADE = "answer", "not made"
"""What an empty cell of a table may be."""


@attrs.frozen
class FeaturePrice:
    """The prices of one feature.

    Parameters
    ----------
    name : str
        The input column.
    cost : float
        Paid per row that acquires the feature.
    needs : tuple of str
        Resources that must be there first; resources that these need in turn are not repeated.
    once : float
        Paid per batch in which any row acquires the feature (gamma_m of CEGB).
    split : float or None
        Paid per comparison with the feature inside a tree (alpha of CEGB); None stands for the model's `split`.
    time : float
        Milliseconds that a fetch takes, after the resources that it needs are there.
    parts : tuple of str
        Parts of a feature of dates that models may read beside its days, all paid with the feature: some of "year",
        "month", "day", "weekday" (0 is Monday) and "hour".
    epoch : {"days", "seconds", "milliseconds", "microseconds"}, optional
        What numbers of a feature of dates count, since 1970-01-01 in UTC; None refuses them in place of dates.
    absent : {"answer", "not made"}, optional
        What an empty cell of labelled rows is: what the source answered, or a test that nobody made; see
        docs/records.md. None is what the resources that it needs say, and else an answer, until `as_records` says
        otherwise; "answer" stays one.

    Raises
    ------
    CostModelError
        If a price is not a finite number >= 0, a name is not a text, or a part, epoch or `absent` is unknown; the error
        names the entry.
    """

    name: str
    cost: float = 0.0
    needs: tuple[str, ...] = ()
    once: float = 0.0
    split: float | None = None
    time: float = 0.0
    parts: tuple[str, ...] = ()
    epoch: str | None = None
    absent: str | None = None

    def __attrs_post_init__(self) -> None:
        _check_entry(self, "features", "cost", "once", "time", *(() if self.split is None else ("split",)))
        if self.parts != () or self.epoch is not None:
            _check_date(self)

    @property
    def is_date(self) -> bool:
        """Whether the entry says that the feature is a date."""
        return bool(self.parts) or self.epoch is not None


@attrs.frozen
class ResourcePrice:
    """The price of one resource, paid once per row by the first feature that needs it.

    Parameters
    ----------
    name : str
        The resource; no feature has this name.
    cost : float
        Paid per row in which an acquired feature needs the resource, directly or through another one.
    needs : tuple of str
        Other resources that must be there first.
    time : float
        Milliseconds that it takes, after the resources that it needs are there, in the first round that goes to it.
    round_time : float or None
        Milliseconds that it takes in each further round with a feature that needs it; None stands for `time`, as of a
        service that every trip waits for. Zero is a resource that stays once it is there, like a sample: further rounds
        go neither to it nor to what only it needs, unless `round` is a price.
    round : float
        Paid per row for each further round that acquires a feature which needs the resource: a further visit, or day.
    absent : {"answer", "not made"}, optional
        What empty cells of all features that need it are, unless they say it themselves. If it is "not made", a row in
        which they all are empty has not had the resource; else an empty one is its answer. None is as for a feature.
    """

    name: str
    cost: float = 0.0
    needs: tuple[str, ...] = ()
    time: float = 0.0
    absent: str | None = None
    round_time: float | None = None
    round: float = 0.0

    def __attrs_post_init__(self) -> None:
        _check_entry(self, "resources", "cost", "time", "round", *(() if self.round_time is None else ("round_time",)))

    @property
    def further_time(self) -> float:
        """Milliseconds that it takes in each further round."""
        return self.time if self.round_time is None else self.round_time

    @property
    def stays(self) -> bool:
        """Whether it stays once it is there, so that no further round goes to it."""
        return self.round_time == 0.0 and self.round == 0.0


def _check_entry(price: FeaturePrice | ResourcePrice, table: str, *keys: str) -> None:
    """Check a frozen entry while it is being made, and convert its fields to plain values."""
    name = as_name(price.name, table)
    object.__setattr__(price, "name", name)
    object.__setattr__(price, "needs", as_names(price.needs, table, name, "needs"))
    for key in keys:
        object.__setattr__(price, key, as_price(getattr(price, key), table, name, key))
    if price.absent not in {None, ANSWER, NOT_MADE}:
        raise entry_error((table, name, "absent"), f"{ANSWER!r} or {NOT_MADE!r}", price.absent)


def _check_date(price: FeaturePrice) -> None:
    """Check the parts and the epoch of a frozen entry while it is being made."""
    parts = as_names(price.parts, "features", price.name, "parts")
    object.__setattr__(price, "parts", parts)
    if unknown := [part for part in parts if part not in DATE_PARTS]:
        raise entry_error(("features", price.name, "parts"), f"some of {', '.join(DATE_PARTS)}", unknown[0])
    if price.epoch is not None and (not isinstance(price.epoch, str) or price.epoch not in EPOCHS):
        raise entry_error(("features", price.name, "epoch"), f"one of {', '.join(EPOCHS)}", price.epoch)
