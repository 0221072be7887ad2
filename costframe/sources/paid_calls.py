"""Functions that cost money as a source, such as answers of a model: what each call was paid is billed exactly."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from attrs import define, field

from costframe.core.checks import as_path, check_number
from costframe.core.errors import InquiryError, ParameterError, quote_names, shown
from costframe.sources.call_book import Call, CallBook
from costframe.sources.call_prices import CallPrices
from costframe.sources.calls import check_takes, is_async
from costframe.sources.paid_answers import PaidAnswers
from costframe.sources.source import KeyRefusedError, PricedSource, Receipts, Reply, Wanted, answer_each
from costframe.sources.threads import Threads
from costframe.sources.total_cost import TotalCost


@define(eq=False)
class PaidCall(PricedSource):
    """Values from a function of a paid service, such as a model; what its calls cost is known exactly, and limited.

    Prices of a `CostModel` are what a model knows before it asks: give it the mean price of a call. What calls were
    really paid is in `Prediction.paid` and `Sources.paid`, beside the cost. Retries are those of `Policy`; each pays.

    Parameters
    ----------
    function : callable
        ``function(key) -> output``, sync or async; sync ones run in threads. The output is the value, or a mapping of
        places to values. It may raise `KeyRefusedError` for a key that it did not ask for: nothing is paid.
    price : float, Decimal, Fraction, or callable
        Of a call, or ``price(key, output)``, for example of tokens.
    max_price : float, Decimal, Fraction, or callable
        The most that a call can cost, or ``max_price(key)``; needed where `price` is a function, else the price itself.
    total_cost : float, Decimal, Fraction, or TotalCost, optional
        The most that the run may pay, failed calls and retries included; a `TotalCost` is shared by several sources. A
        call that could pass it is not made, and its row ends with a `TotalCostError` whatever the policy says: rows
        that end so are left for a later run. What the file of `answers` says was paid before counts. It holds within
        one process; drivers refuse it where keys are of dask.
    failures : {"paid", "free"}, or callable
        Whether a call that failed was paid, at its maximal price, or ``failures(error)``, which returns whether it was.
        For a row, a call that is still under way when its time is over was paid, unless "free".
    answers : str or path, optional
        A file that keeps each output by key as soon as it came: a key in it is not paid again, also in a later run. It
        is of one function, and of one process at a time. Without a file, but with `total_cost`, outputs are kept in
        memory; else they are not kept.
    workers : int
        Most calls that run side by side.
    """

    function: Callable[[Any], Any]
    price: Any
    max_price: Any = field(default=None, kw_only=True)
    total_cost: Any = field(default=None, kw_only=True)
    failures: Any = field(default="paid", kw_only=True)
    answers: Any = field(default=None, kw_only=True)
    workers: int = field(default=16, kw_only=True)

    _book: CallBook = field(init=False, repr=False)
    _locks: WeakValueDictionary[Hashable, asyncio.Lock] = field(factory=WeakValueDictionary, init=False, repr=False)
    _threads: Threads | None = field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(f"function: expected a function of a key, got {shown(self.function)}")
        check_takes(self.function, ("key",), "function")
        check_number("workers", self.workers, low=1, whole=True)
        prices = CallPrices(self.price, self.max_price, self.failures)
        total = self.total_cost if isinstance(self.total_cost, TotalCost) else TotalCost(self.total_cost)
        answers = None
        if self.answers is not None or total.limit is not None:
            path = None if self.answers is None else as_path(self.answers)
            answers = PaidAnswers(path, getattr(self.function, "__qualname__", type(self.function).__name__))
            total.add_paid(answers.paid)
        self._book = CallBook(prices, total, answers)

    @property
    def total(self) -> TotalCost:
        """What the run has paid so far, and may pay."""
        return self._book.total

    @property
    def is_limited(self) -> bool:
        """Whether the run may pay a limited sum."""
        return self.total.limit is not None

    async def connect(self, places: Collection[str]) -> None:  # noqa: ARG002 - a function has no places to look for
        """Open the file of answers."""
        if self._book.answers is not None:
            self._book.answers.open()

    async def fetch_paid(self, wanted: Wanted, receipts: Receipts) -> Reply:
        """Call the function for each key that has no answer yet, side by side."""
        asks = {key: partial(self._ask, key, tuple(places), receipts) for key, places in wanted.items()}
        return await answer_each(asks, asyncio.Semaphore(self.workers))

    async def close(self) -> None:
        """Close the file of answers, and let go of the threads; calls under way end by themselves."""
        if self._book.answers is not None:
            self._book.answers.close()
        if self._threads is not None:
            self._threads.close()
            self._threads = None

    async def _ask(self, key: Hashable, places: tuple[str, ...], receipts: Receipts) -> Mapping[str, Any]:
        if (answers := self._book.answers) is None:
            return _by_place(await self._buy(key, receipts), places)
        if not answers.can_hold(key):
            raise KeyRefusedError(f"answers: expected keys that are texts or numbers, got {shown(key)}")
        if (lock := self._locks.get(key)) is None:  # so that trips side by side pay for a key once
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            if key not in answers.outputs:
                await self._buy(key, receipts)
            return _by_place(answers.outputs[key], places)

    async def _buy(self, key: Hashable, receipts: Receipts) -> Any:
        """Make one call within the limit, and settle its price; return its output."""
        call, is_here = await self._book.open_call(key, receipts), False  # else its thread sees its end
        try:
            if is_async(self.function):
                call.begin()
                output = self.function(key)
            else:
                self._threads = self._threads or Threads(self.workers)
                output = await self._threads.call(self._run, call)
            if inspect.isawaitable(output):
                is_here = True
                output = call.end(await output)
        except asyncio.CancelledError as error:
            if is_here:
                call.fail(error)
            call.abandon()
            raise
        except BaseException as error:  # also an interrupt is paid
            call.fail(error)
            raise
        return output

    def _run(self, call: Call) -> Any:
        """Make a call in a thread, which settles it at its end, also if nobody waits for it any more."""
        call.begin()
        try:
            output = self.function(call.key)
        except BaseException as error:
            call.fail(error)
            raise
        return output if inspect.isawaitable(output) else call.end(output)


def _by_place(output: Any, places: tuple[str, ...]) -> Mapping[str, Any]:
    """Return an output as values by place."""
    if isinstance(output, Mapping):
        return output
    if len(places) > 1:
        raise InquiryError(
            f"expected a mapping of {quote_names(places)} to values, got an output of type {type(output).__name__}"
        )
    return {places[0]: output}
