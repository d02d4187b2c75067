"""The endpoint for answers: what waits, one question whole, and a decision on it (``docs/reference/http.md``).

Only an authenticated POST decides; everything that a link can do is look. Once keys are enrolled the token opens the
door and no more: the decision itself must be signed, and the signature is over exactly what will stand in the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from callslip import build
from callslip.answering.body import MOST, Body, read_body
from callslip.answering.decision import Made, decision
from callslip.answering.faults import Refused, document_of, status_of
from callslip.answering.guard import HEADERS, Guard, read
from callslip.answering.question import described
from callslip.core import canon
from callslip.core.principal import Role
from callslip.core.wait import Wait
from callslip.errors import NotAuthorised, UsageError
from callslip.outside import Outside
from callslip.runtime import payloads
from callslip.runtime.parts import Parts

AHEAD = 24 * 3600 * 1000
"""How many milliseconds a signature's time may lie ahead of the clock here."""
_PATIENCE = 30.0
"""Seconds for a body to come."""


class Seen(NamedTuple):
    """A request, for the log of requests: never its query, its headers or its body."""

    method: str
    path: str
    status: int
    client: str
    what: str
    """What came of it."""


Tell = Callable[[Seen], None]


class Server:
    """The application. ``tell`` is told of each request once it is answered."""

    def __init__(self, runtime: Outside, guard: Guard, tell: Tell) -> None:
        self._runtime = runtime
        self._guard = guard
        self._tell = tell
        self._app = Starlette(
            routes=[
                Route("/v1/waits", self._answered(self._waits), methods=["GET"]),
                Route("/v1/waits/{wait}", self._answered(self._question), methods=["GET"]),
                Route("/v1/waits/{wait}/decision", self._answered(self._decide), methods=["POST"]),
            ],
            exception_handlers={HTTPException: self._unrouted},  # type: ignore[dict-item]
        )
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Guard first: whoever may not ask is not even told which paths there are."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive, send)
        try:
            self._guard.check(request)
        except Refused as refused:
            await self._fault(request, refused)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _answered(self, handle: Callable[[Request], Awaitable[dict[str, Any]]]) -> Callable[[Request], Any]:
        """Turn what the handler gives or raises into a response."""

        async def endpoint(request: Request) -> Response:
            try:
                document = await handle(request)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception as error:  # noqa: BLE001 - whatever went wrong, the answer is a document and no traceback
                return self._fault(request, error)
            self._note(request, 200, str(document.get("decision", "")))
            return _response(document, 200)

        return endpoint

    async def _unrouted(self, request: Request, error: HTTPException) -> Response:
        """No such path, or another method."""
        takes = (error.headers or {}).get("Allow", "another method")
        kind, why = {
            404: ("not_found", "There is no such path. Nothing was done. What waits stands at /v1/waits."),
            405: ("wrong_method", f"This path takes {takes} only. Nothing was done."),
        }.get(error.status_code, ("bad_request", "The request can't be understood. Nothing was done."))
        return self._fault(request, Refused(error.status_code, kind, why, error.headers))

    def _fault(self, request: Request, error: Exception) -> Response:
        document = document_of(error)
        status = status_of(error)
        self._note(request, status, document["error"]["code"])
        return _response(document, status, error.headers if isinstance(error, Refused) else {})

    def _note(self, request: Request, status: int, what: str) -> None:
        client = request.client.host if request.client is not None else "?"
        self._tell(Seen(request.method, request.url.path, status, client, what))

    # What can be asked

    async def _waits(self, request: Request) -> dict[str, Any]:
        return {"waits": [_summary(one) for one in await self._runtime.waits()]}

    async def _question(self, request: Request) -> dict[str, Any]:
        asked = await self._runtime.approvals.question(request.path_params["wait"])
        found: dict[str, Any] = msgspec.to_builtins(await described(self._runtime.parts, asked))
        return found

    async def _decide(self, request: Request) -> dict[str, Any]:
        try:
            async with asyncio.timeout(_PATIENCE):
                text = await read(request, MOST)
        except TimeoutError:
            raise Refused(408, "too_slow", "The body did not come. Nothing was written.") from None
        body = read_body(text)
        runtime, parts = self._runtime, self._runtime.parts
        asked = await runtime.approvals.question(request.path_params["wait"])
        shown = await described(parts, asked)
        edited = None if body.edited_arguments is msgspec.UNSET else body.edited_arguments
        made = decision(shown, body.decision, reason=body.reason, arguments=edited)
        if shown.advisory:
            by, enough = await self._advisory(body, made, shown.id)
        else:
            event = msgspec.structs.replace(made.event, proof=self._proof(body, shown.tool))
            await _keep(parts.of(shown.session), made)
            enough = await runtime.approvals.take(asked, event)
            by = event.proof.principal
        word = body.decision if edited is None else "edited"
        return {"wait": shown.id, "session": shown.session, "decision": word, "by": by, "enough": enough}

    async def _advisory(self, body: Body, made: Made, wait: str) -> tuple[str, bool]:
        """While no key is enrolled: the word of the account that runs the server, which proves nothing."""
        if body.proof is not msgspec.UNSET:
            raise UsageError(
                "No key is enrolled here, so nothing can be proved. Nothing was written. Leave `proof` out, or enrol."
            )
        by, approvals = build.requester(), self._runtime.approvals
        if body.decision != "approved":
            await approvals.deny(wait, by=by, reason=body.reason, via="http")
            return by.name, True
        edited = None if made.text is None else canon.parse(made.text)
        return by.name, await approvals.approve(wait, by=by, note=body.reason, arguments=edited, via="http")

    def _proof(self, body: Body, tool: str) -> Any:
        if body.proof is msgspec.UNSET:
            raise NotAuthorised("Keys are enrolled here, so an answer needs `proof`. Nothing was written.")
        proof, now = body.proof.proof(), self._runtime.parts.clock.now()
        if proof.at > now + AHEAD:
            raise NotAuthorised(
                "The signature's time lies more than 24 hours ahead. Nothing was written. Set the clock it was made by."
            )
        standing = self._runtime.parts.trust.standing()
        handed = proof.on_behalf_of and not standing.may(proof.principal, Role.APPROVER)
        if handed and not standing.delegated(proof.on_behalf_of, proof.principal, tool, at=now):
            # A signature's time is its maker's word: it must not bring back what has ended by the clock here.
            raise NotAuthorised(
                f"{proof.on_behalf_of!r} has not handed this on to {proof.principal!r} now. Nothing was written."
            )
        return proof


async def _keep(parts: Parts, made: Made) -> None:
    """Make edited arguments durable before the event that names them.

    Raises:
        UsageError: they are kept encrypted here, under a name that nobody could have signed beforehand.
    """
    if made.text is not None and await payloads.store(parts.blobs, made.text) != made.event.edited:
        raise UsageError(
            "The payloads of this session are encrypted, so its arguments can be edited only where the state folder is "
            "(`callslip edit`). Nothing was written; the question stays open."
        )


def _summary(wait: Wait) -> dict[str, Any]:
    """An open wait in a list: without its arguments, which may be large."""
    found: dict[str, Any] = msgspec.to_builtins(wait)
    del found["arguments"]
    return found


def _response(document: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> Response:
    # The one spelling in which arguments of any size of number come back as they are.
    text = canon.canonical(document)
    return Response(text, status, {**HEADERS, **(headers or {})}, media_type="application/json")
