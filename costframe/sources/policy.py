"""Policies: what happens when a source is slow, down or wrong."""

from __future__ import annotations

from attrs import fields, frozen

from costframe.core.checks import check_choice, check_number

__all__ = ["Policy"]

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
        plans around them, a stage tree answers with the best that the rest allows.
    absent : {"fail", "missing"}
        Whether a key that the source has no row for is a failure, or a row of missing values that was paid for.
    timeout : float
        Seconds that one trip may take, and that the wait for a busy service (`Retry-After`) may take.
    retries : int
        Further trips for keys that failed, unless the source answered and its answer was wrong, or asks to wait longer
        than the time limit or the deadline allow.
    backoff : float
        Seconds before the first retry, at most; each further one waits up to twice as long. The wait is drawn at
        random, so that many clients do not come back at once.
    breaker : int
        Failed trips in a row after which the source is left alone. A trip that its caller cut short, by a deadline or
        by going away, counts neither for nor against the source, and so does the answer of a service that is busy.
    rest : float
        Seconds that a source is left alone; then one trip tries it again.
    """

    on_failure: str = "raise"
    absent: str = "fail"
    timeout: float = 10.0
    retries: int = 0
    backoff: float = 0.1
    breaker: int = 5
    rest: float = 30.0

    def __attrs_post_init__(self) -> None:
        check_choice("on_failure", self.on_failure, ON_FAILURE)
        check_choice("absent", self.absent, ON_ABSENT)
        check_number("timeout", self.timeout, strict=True)
        check_number("retries", self.retries, whole=True, high=1000)
        check_number("backoff", self.backoff)
        check_number("breaker", self.breaker, whole=True, low=1)
        check_number("rest", self.rest)


POLICY_NAMES = tuple(each.name for each in fields(Policy))
