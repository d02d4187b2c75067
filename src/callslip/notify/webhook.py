"""A signed POST, once: no redirect is followed, no proxy asked, and nothing of the answer believed but its status.

Imported only where there is a webhook, since its HTTP client costs a start 40 ms.
"""

from __future__ import annotations

import ssl
from contextlib import aclosing
from functools import cache
from typing import Any

import httpx2

from callslip.errors import ConfigError, StateRefused
from callslip.notify import signing
from callslip.notify.backoff import asked_pause
from callslip.notify.channel import Delivered, Failed, Gone, Outcome, Parcel
from callslip.notify.dial import Resolve, Target, checked, target_of
from callslip.notify.endpoint import WebhookEndpoint
from callslip.notify.secret import keys_of
from callslip.ports.clock import Clock

MOST_READ = 64 * 1024
"""Bytes of an answer that are read, and thrown away."""
_GONE = 410


class Webhook:
    """Implements ``Channel``. ``resolve`` and ``tls`` stand in for the system's own.

    Raises:
        ConfigError, StateRefused: the address or the secret can't be used.
    """

    def __init__(
        self, endpoint: WebhookEndpoint, clock: Clock, *, resolve: Resolve, tls: ssl.SSLContext | None = None
    ) -> None:
        self._endpoint = endpoint
        self._target = target_of(endpoint.url, endpoint.allow_hosts)
        self._clock = clock
        self._resolve = resolve
        self._tls = tls
        keys_of(endpoint)

    async def send(self, parcel: Parcel) -> Outcome:
        try:
            keys = keys_of(self._endpoint)
        except (ConfigError, StateRefused) as error:
            return Failed(reason=str(error))
        found = await checked(self._target, self._resolve)
        if found.refusal:
            return Failed(reason=found.refusal)
        headers = {
            "host": self._target.authority,
            "content-type": "application/json",
            "accept-encoding": "identity",
            "user-agent": "callslip",
            # The time of this attempt: a receiver refuses what is older than a few minutes.
            **signing.headers(keys, parcel.id, self._clock.now() // 1000, parcel.body),
        }
        # Variables of the environment name proxies, which would look up the name once more by themselves.
        async with httpx2.AsyncClient(
            verify=self._tls or _trusted(), trust_env=False, follow_redirects=False, timeout=None
        ) as client:
            outcome: Outcome = Failed(reason="no address was tried")
            for address in found.addresses:
                try:
                    return await self._post(client, address, headers, parcel.body)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    outcome = Failed(reason=f"no connection: {_said(error)}")  # nothing was sent: try the next one
                except httpx2.RequestError as error:
                    return Failed(reason=f"no answer: {_said(error)}")
            return outcome

    async def _post(self, client: httpx2.AsyncClient, address: str, headers: dict[str, str], body: bytes) -> Outcome:
        request = client.build_request(
            "POST",
            self._target.at(address),
            content=body,
            headers=headers,
            extensions=_certified_for(self._target),
        )
        response = await client.send(request, stream=True)
        try:
            await _read_away(response)
        finally:
            await response.aclose()
        return self._outcome(response)

    def _outcome(self, response: httpx2.Response) -> Outcome:
        status = response.status_code
        if 200 <= status < 300:
            return Delivered()
        if status == _GONE:
            return Gone()
        more = ": redirects are not followed" if 300 <= status < 400 else ""
        pause = asked_pause(response.headers.get("retry-after", ""), now=self._clock.now())
        return Failed(reason=f"it answered {status}{more}", retry_after_ms=pause)


def _certified_for(target: Target) -> dict[str, Any]:
    """The connection goes to a number; the certificate must be of the name."""
    return {"sni_hostname": target.host} if target.scheme == "https" else {}


async def _read_away(response: httpx2.Response) -> None:
    received = 0
    try:
        async with aclosing(response.aiter_raw()) as pieces:
            async for piece in pieces:
                received += len(piece)
                if received >= MOST_READ:
                    return
    except httpx2.RequestError:
        return  # the status has come, and says everything


@cache
def _trusted() -> ssl.SSLContext:
    # Reading the system's certificates takes 20 ms: once a process.
    return httpx2.create_ssl_context()


def _said(error: httpx2.RequestError) -> str:
    return str(error) or type(error).__name__
