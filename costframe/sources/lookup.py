"""A lookup: a source with the features that it serves, and the policy for its failures."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from costframe.core.checks import check_choice, check_number
from costframe.core.errors import ParameterError, printable, quote_names, shown
from costframe.sources.fields import Field, as_fields
from costframe.sources.source import Source

ON_FAILURE = ("raise", "missing", "without")
ON_ABSENT = ("fail", "missing")


@frozen
class Policy:
    """What to do when a source fails.

    Parameters
    ----------
    on_failure : {"raise", "missing", "without"}
        What a row does without the values that did not come. "raise" ends the row with an error; other rows go on.
        "missing" takes them as missing, so trees send the row their default way. "without" goes without them: a plan
        plans around them, a stage tree answers with the best that the rest allows. A trip that fails as a whole is
        first made again in parts, since one key may have spoiled it; not if the source itself is down.
    absent : {"fail", "missing"}
        Whether a key that the source has no row for is a failure, or a row of missing values that was paid for.
    timeout : float
        Seconds that one trip may take, and that the wait for a busy service (`Retry-After`) may take.
    retries : int
        Further trips for keys that failed, unless the source answered and its answer was wrong, or asks to wait longer
        than the time limit or the deadline allow. They need the extra "retries".
    backoff : float
        Seconds before the first retry, at most; each further one waits up to twice as long. The wait is drawn at
        random, so that many clients do not come back at once.
    """

    on_failure: str = "raise"
    absent: str = "fail"
    timeout: float = 10.0
    retries: int = 0
    backoff: float = 0.1

    def __attrs_post_init__(self) -> None:
        check_choice("on_failure", self.on_failure, ON_FAILURE)
        check_choice("absent", self.absent, ON_ABSENT)
        check_number("timeout", self.timeout, strict=True)
        check_number("retries", self.retries, whole=True, high=1000)
        check_number("backoff", self.backoff)


@frozen
class Lookup:
    """A source with the features that it serves; in prices, often a resource.

    Parameters
    ----------
    source : Source
    features : iterable of str, or mapping of str to str, mapping or Field
        The features it serves, with their places; see `Field`.
    key : str, optional
        Where keys of rows are mappings: the entry that is the key at this source.
    policy : Policy
    """

    source: Source
    features: dict[str, Field] = field(converter=as_fields)
    key: str | None = None
    policy: Policy = field(factory=Policy)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.source, Source):
            raise ParameterError(f"source: expected a Source, got {shown(self.source)}")
        if not isinstance(self.policy, Policy):
            raise ParameterError(f"policy: expected a Policy, got {shown(self.policy)}")
        if self.key is not None and not isinstance(self.key, str):
            raise ParameterError(f"key: expected the name of a key, got {shown(self.key)}")


def check_served(lookups: Mapping[str, Lookup]) -> dict[str, str]:
    """Return the lookup of each feature, or refuse a feature that two lookups serve."""
    served: dict[str, str] = {}
    for name, lookup in lookups.items():
        if twice := [feature for feature in lookup.features if feature in served]:
            raise ParameterError(
                f"sources {printable(name)} and {printable(served[twice[0]])}: both serve {quote_names(twice)}"
            )
        served |= dict.fromkeys(lookup.features, name)
    return served
