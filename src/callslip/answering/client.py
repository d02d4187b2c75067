"""The other end of the endpoint: read a question from a server, and answer it with a key that never leaves here. ::

asked = await question(url, token, wait)
…                                            # show it; what is signed is what this value holds
await decide(url, token, asked, "approved", by=load_key(path, passphrase))
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import msgspec

from callslip.answering.decision import Word, decision
from callslip.answering.question import Question, check
from callslip.clocks.system import SystemClock
from callslip.core import canon
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.principal import Proof, message
from callslip.errors import CallslipError, LedgerUnavailable, NotAuthorised, NotFound, UsageError, WaitConflict
from callslip.ports.clock import Clock
from callslip.ports.trust import Identity

_ERRORS: Mapping[int, type[CallslipError]] = {
    401: NotAuthorised, 403: NotAuthorised, 404: NotFound, 409: WaitConflict, 422: UsageError, 503: LedgerUnavailable,
}  # fmt: skip
_TIMEOUT = 30.0


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an answer."""

    wait: str
    session: str
    decision: str
    by: str
    enough: bool
    """Nobody else needs to approve."""


async def waits(url: str, token: str, *, http: httpx2.AsyncClient | None = None) -> list[dict[str, Any]]:
    """What is waited for there, oldest first, without arguments."""
    found: list[dict[str, Any]] = (await _ask(http, "GET", f"{url}/v1/waits", token))["waits"]
    return found


async def question(url: str, token: str, wait: str, *, http: httpx2.AsyncClient | None = None) -> Question:
    """The question, whole, and checked to be what it binds to.

    Raises:
        NotFound, WaitConflict: it is not open, and why. NotAuthorised: not this token.
        LogBroken: it shows something else than it binds to. LedgerUnavailable: nobody answers there.
    """
    text = await _ask(http, "GET", f"{url}/v1/waits/{wait}", token)
    try:
        asked = msgspec.convert(text, Question)
    except msgspec.ValidationError as error:
        raise UsageError(f"The server of {url} speaks another version: {error}. Nothing was answered.") from error
    check(asked)
    return asked


async def decide(
    url: str,
    token: str,
    asked: Question,
    word: Word,
    *,
    by: Identity | None = None,
    reason: str = "",
    arguments: Mapping[str, Any] | None = None,
    on_behalf_of: str = "",
    clock: Clock | None = None,
    http: httpx2.AsyncClient | None = None,
) -> Taken:
    """Answer the question as it was shown; ``arguments`` are an edit.

    ``by``: the unlocked key to sign with, under the name it is enrolled by; ``None`` where no key is enrolled.

    Raises:
        NotAuthorised, NotFound, WaitConflict, UsageError: nothing was written there, and why.
        LedgerUnavailable: nobody answers there; look whether it was taken before you try again.
    """
    check(asked)
    made = decision(asked, word, reason=reason, arguments=arguments)
    body: dict[str, Any] = {"decision": word, "reason": made.event.reason}
    if made.text is not None:
        body["edited_arguments"] = canon.parse(made.text)
    if by is not None and by.signer is not None:
        at = (clock or SystemClock()).now()
        body["proof"] = _proof(asked, made.event, by, on_behalf_of, at)
    answer = await _ask(http, "POST", f"{url}/v1/waits/{asked.id}/decision", token, canon.canonical(body))
    return msgspec.convert(answer, Taken)


def _proof(asked: Question, event: ApprovalDecided, by: Identity, on_behalf_of: str, at: int) -> dict[str, Any]:
    assert by.signer is not None
    proof = Proof(principal=by.name, key=by.signer.key, on_behalf_of=on_behalf_of, at=at)
    signature = by.signer.sign(message(asked.session, asked.id, event, proof))
    return {
        "principal": proof.principal,
        "key": proof.key,
        "signature": signature,
        "on_behalf_of": on_behalf_of,
        "at": at,
    }


async def _ask(http: httpx2.AsyncClient | None, method: str, url: str, token: str, body: bytes | None = None) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    async with _client(http) as client:
        try:
            response = await client.request(method, url, content=body, headers=headers)
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise LedgerUnavailable(f"{url} does not answer ({type(error).__name__}: {error}).") from error
    try:
        document = canon.parse(response.content)
    except msgspec.DecodeError as error:
        raise LedgerUnavailable(f"{url} answers with something else than JSON ({response.status_code}).") from error
    if response.status_code != 200:
        raise _error(response.status_code, document)
    return document


def _error(status: int, document: Any) -> CallslipError:
    told = document.get("error", {}) if isinstance(document, dict) else {}
    said = str(told.get("message", f"The server answers with status {status}."))
    return _ERRORS.get(status, CallslipError)(said)


@contextlib.asynccontextmanager
async def _client(http: httpx2.AsyncClient | None) -> AsyncIterator[httpx2.AsyncClient]:
    if http is not None:
        yield http
        return
    # No proxy of the environment: the token is for that server alone.
    async with httpx2.AsyncClient(timeout=_TIMEOUT, trust_env=False) as client:
        yield client
