"""Notes on errors: what a driver was doing, and what rows had paid."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from costframe.core.predictors.inquiry import Inquiry


class annotate_errors:  # noqa: N801 - a context manager, which begins in a tenth of a generator's time
    """Add to an exception a note of the current step, and of the features and cost of the inquiries so far."""

    def __init__(self, doing: Callable[[], str], inquiries: Iterable[Inquiry]) -> None:
        self._doing, self._inquiries = doing, inquiries

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if not isinstance(error, Exception):
            return
        so_far = list(self._inquiries)
        bought = [name for inquiry in so_far for name in inquiry.acquired]
        total = sum(inquiry.cost for inquiry in so_far)
        what = quote_things(bought) if len(so_far) == 1 else f"{len(bought)} values for {len(so_far)} rows"
        note = f"while {self._doing()}; acquired so far: {what or 'nothing'}; paid so far: {total:g}"
        error.add_note(f"costframe: {note}")


def quote_things(things: Iterable[object], most: int = 10) -> str:
    """Quote at most `most` things."""
    quoted = [repr(thing) for thing in things]
    return ", ".join(quoted[:most]) + (f" and {len(quoted) - most} more" if len(quoted) > most else "")


def describe_step(names: Iterable[object], values: Iterable[object] | None, row: str = "") -> str:
    """Tell of features that are fetched, or with values, of which an opaque learner may raise."""
    return f"fetching {quote_things(names)}" if values is None else f"predicting row{row} from {quote_things(values)}"
