"""The service over HTTP: routes of a Starlette application, each a few lines over conversations and sources."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from costframe.core.errors import CostframeError, InquiryError, SourceError, TotalCostError
from costframe.serve.hosts import KnownHosts
from costframe.serve.json_reply import JSON, reply
from costframe.serve.meters import Meters
from costframe.serve.openapi import openapi
from costframe.serve.replies import describe_answer, describe_bill
from costframe.serve.requests import RowRequest
from costframe.serve.service import Service
from costframe.serve.values import as_known, as_row, row_source
from costframe.sources import predict_one, predict_one_async

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_BYTES = 1 << 20  # of a request
MOST_SECONDS = 20.0  # until all of a request is there
T = TypeVar("T")
_LOG = logging.getLogger("costframe.serve")
_CLOSE = {"connection": "close"}  # the rest of the body is not read


def make_app(service: Service) -> Starlette:
    """Return the application."""
    meters = Meters()

    async def next_step(request: Request) -> Response:
        return reply(service.step(await _unless_it_ends(read_body(request))))

    async def predict(request: Request) -> Response:
        body = await _unless_it_ends(read_body(request))
        return await _unless_it_ends(_predict(service, request.app.state, body))

    async def health(_request: Request) -> Response:
        problem = service.models.problem
        told = {"status": "ok" if problem is None else "degraded", "model": service.models.model.description["name"]}
        return reply(told if problem is None else told | {"problem": problem})

    async def describe(_request: Request) -> Response:
        return reply(service.models.model.description)

    async def schema(_request: Request) -> Response:
        return reply(openapi(service.models.model.description, has_sources=service.open_sources is not None))

    async def metrics(_request: Request) -> Response:
        return Response(meters.text(), media_type="text/plain; version=0.0.4")

    async def page(_request: Request) -> Response:
        return HTMLResponse(
            service.models.model.page, headers={"referrer-policy": "no-referrer", "x-frame-options": "DENY"}
        )

    routes = [
        Route("/", page), Route("/next", next_step, methods=["POST"]), Route("/predict", predict, methods=["POST"]),
        Route("/model", describe), Route("/health", health), Route("/metrics", metrics), Route("/openapi.json", schema),
    ]  # fmt: skip
    errors: Any = dict.fromkeys((CostframeError, HTTPException, ClientDisconnect), _refuse) | {Exception: _fail}
    app = Starlette(
        routes=routes,
        middleware=[Middleware(meters.middleware), Middleware(KnownHosts, names=service.hosts)],
        exception_handlers=errors,
        lifespan=lambda app: _open(service, meters, app),
    )
    app.router.redirect_slashes = False  # an address has one form
    return app


@contextlib.asynccontextmanager
async def _open(service: Service, meters: Meters, app: Starlette) -> AsyncIterator[None]:
    """Open the sources in the loop that uses them, and close them at the end."""
    app.state.sources, app.state.in_flight, app.state.observe = None, 0, None
    if service.open_sources is None:
        yield
        return
    async with service.open_sources() as sources:
        await sources.aopen(service.models.model.fitted)  # connects before anybody waits
        app.state.sources, app.state.observe = sources, meters.count_rows(sources)
        yield


async def _predict(service: Service, state: Any, body: bytes) -> Response:
    """Predict one row, of its values or of the sources; reply its answer."""
    asked, model = RowRequest.read(body), service.models.model
    terms = asked.terms | {"known": as_known(asked.terms.get("known", ()), model.predictor)}
    if asked.values is not None:
        if "deadline" in asked.terms:
            raise InquiryError("deadline: goes with 'key', for values at hand take no time")
        row = row_source(as_row(asked.values, model.predictor))
        end = predict_one(model.fitted, row, model.prices, **terms)
        return reply(describe_answer(model.fitted, end))
    if state.sources is None:
        raise InquiryError("key: this service has no sources; give 'values'")
    if state.in_flight >= service.in_flight:
        raise HTTPException(503, "too many rows at once", {"retry-after": "1"})
    deadlines = [time for time in (service.deadline, terms.pop("deadline", None)) if time is not None]
    state.in_flight += 1
    try:
        end = await predict_one_async(
            model.fitted, state.sources, model.prices, key=asked.key, observe=state.observe,
            deadline=min(deadlines, default=None), **terms,
        )  # fmt: skip
    finally:
        state.in_flight -= 1
    if end.failures and not end.acquired:
        return reply({"error": "no source gave anything about this row"} | describe_bill(end), 503)
    return reply(describe_answer(model.fitted, end))


async def read_body(request: Request) -> bytes:
    """Return the body of a request of JSON, of a size that is allowed."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise HTTPException(415, f"expected content-type {JSON}")  # pages of other sites can send no such request
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MOST_BYTES:
        raise _too_large()
    content = bytearray()
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for part in request.stream():
                content += part
                if len(content) > MOST_BYTES:
                    raise _too_large()
    except TimeoutError:
        raise HTTPException(408, f"expected the whole body within {MOST_SECONDS:g} s", _CLOSE) from None
    return bytes(content)


async def _unless_it_ends(work: Coroutine[Any, Any, T]) -> T:
    """Await the work of a request, which the server cancels when its time to end is over."""
    try:
        return await work
    except asyncio.CancelledError:
        raise HTTPException(503, "the service ends", _CLOSE) from None


def _too_large() -> HTTPException:
    return HTTPException(413, f"expected at most {MOST_BYTES:,} bytes", _CLOSE)


async def _refuse(_request: Request, error: Exception) -> Response:
    """Reply to what the caller could have done better, or what a source did not do."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    if isinstance(error, HTTPException):
        response = reply({"error": error.detail}, error.status_code)
        response.headers.update(error.headers or {})
        return response
    if isinstance(error, SourceError):
        _LOG.warning("a row ended without an answer: %s", error)
        status, what = 502, "a source gave no value, and the row cannot do without it"
        if isinstance(error, TotalCostError):
            status, what = 503, "the next call of a source could pass what the service may pay in all"
        return reply({"error": what} | describe_bill(error), status)
    return reply({"error": str(error)}, 400)


async def _fail(request: Request, error: Exception) -> Response:
    """Reply to a fault of ours, without its traceback."""
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return reply({"error": "internal error; the log of the service tells more"}, 500)
