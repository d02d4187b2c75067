"""One signed POST over a real connection."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from callslip.errors import NotAuthorised, StateRefused
from callslip.notify.backoff import GIVE_UP
from callslip.notify.channel import Delivered, Failed, Gone, Parcel
from callslip.notify.deadline import within
from callslip.notify.dial import SystemResolver
from callslip.notify.endpoint import WebhookEndpoint
from callslip.notify.signing import new_secret
from callslip.notify.verify import verify
from callslip.notify.webhook import MOST_READ, Webhook
from callslip.testing.clock import FakeClock
from callslip.testing.webhook_server import Answers, Drops, Hangs, WebhookServer

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-07")]

PARCEL = Parcel(id="ntc_1", body=b'{"type":"call_parked"}')
CERTIFICATE = Path(__file__).parent / "hooks.test.pem"
"""Of hooks.test, with its key; made for these tests, trusted by nobody."""


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def secret(monkeypatch):
    made = new_secret()
    monkeypatch.setenv("HOOK", made)
    return made


@pytest.fixture
def hook(clock, secret):
    def make(url, *, allow_hosts=("127.0.0.1",), resolve=None, tls=None, **changes):
        endpoint = WebhookEndpoint(url=url, allow_hosts=allow_hosts, **({"secret_env": "HOOK"} | changes))
        return Webhook(endpoint, clock, resolve=resolve or SystemResolver(), tls=tls)

    return make


def leading_to(*addresses):
    async def resolve(host, port):
        resolve.asked.append(host)
        return addresses

    resolve.asked = []
    return resolve


async def test_what_arrives_is_signed_and_genuine(hook, clock, secret):
    with WebhookServer() as server:
        assert await hook(server.url + "?room=1").send(PARCEL) == Delivered()
    (got,) = server.requests
    assert (got.path, got.body) == ("/hook?room=1", PARCEL.body)
    assert got.headers["content-type"] == "application/json"
    assert got.headers["host"] == f"127.0.0.1:{server.port}"
    assert verify(secret, got.headers, got.body, clock.now() / 1000) == "ntc_1"
    with pytest.raises(NotAuthorised):
        verify(secret, got.headers, got.body.replace(b"parked", b"closed"), clock.now() / 1000)


async def test_each_attempt_is_signed_for_its_own_time_under_one_id(hook, clock, secret):
    with WebhookServer([Answers(500), Answers(204)]) as server:
        webhook = hook(server.url)
        assert await webhook.send(PARCEL) == Failed(reason="it answered 500")
        clock.advance(3600)
        assert await webhook.send(PARCEL) == Delivered()
    first, second = server.requests
    with pytest.raises(NotAuthorised, match="replay"):
        verify(secret, first.headers, first.body, clock.now() / 1000)
    assert verify(secret, second.headers, second.body, clock.now() / 1000) == "ntc_1"


async def test_a_secret_may_be_replaced_while_it_runs(hook, clock, tmp_path):
    old, new = new_secret(), new_secret()
    path = tmp_path / "secrets"
    path.touch(0o600)
    path.write_text(old)
    with WebhookServer() as server:
        webhook = hook(server.url, secret_env="", secret_file=str(path))
        await webhook.send(PARCEL)
        path.write_text(f"{new}\n{old}\n")
        await webhook.send(PARCEL)
        path.write_text(new)
        await webhook.send(PARCEL)
        path.chmod(0o644)
        refused = await webhook.send(PARCEL)
        assert isinstance(refused, Failed)
        assert "open to others" in refused.reason
    now = clock.now() / 1000
    believed = [[fits(secret, got, now) for secret in (old, new)] for got in server.requests]
    assert believed == [[True, False], [True, True], [False, True]]


def fits(secret, got, now):
    try:
        return verify(secret, got.headers, got.body, now) == "ntc_1"
    except NotAuthorised:
        return False


@pytest.mark.requirement("GATE-09")
async def test_a_secret_that_others_can_read_refuses_the_start(hook, tmp_path):
    path = tmp_path / "secrets"
    path.write_text(new_secret())
    path.chmod(0o644)
    with pytest.raises(StateRefused):
        hook("https://hooks.example.com/", secret_env="", secret_file=str(path))


class TestAnswers:
    @pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
    async def test_any_status_from_200_is_a_success(self, hook, status):
        with WebhookServer([Answers(status)]) as server:
            assert await hook(server.url).send(PARCEL) == Delivered()

    @pytest.mark.parametrize("status", [400, 401, 404, 422, 500, 502, 503, 599])
    async def test_others_are_tried_again(self, hook, status):
        with WebhookServer([Answers(status)]) as server:
            assert await hook(server.url).send(PARCEL) == Failed(reason=f"it answered {status}")

    async def test_410_wants_no_more(self, hook):
        with WebhookServer([Answers(410)]) as server:
            assert await hook(server.url).send(PARCEL) == Gone()

    @pytest.mark.parametrize(("header", "asked"), [("120", 120_000), ("99999999", GIVE_UP), ("soon", 0)])
    async def test_retry_after_is_heard(self, hook, header, asked):
        with WebhookServer([Answers(429, headers={"retry-after": header})]) as server:
            outcome = await hook(server.url).send(PARCEL)
        assert outcome == Failed(reason="it answered 429", retry_after_ms=asked)

    async def test_a_connection_that_is_dropped_is_a_failure(self, hook):
        with WebhookServer([Drops()]) as server:
            outcome = await hook(server.url).send(PARCEL)
        assert isinstance(outcome, Failed)
        assert outcome.reason.startswith("no answer")

    async def test_nobody_there(self, hook):
        with WebhookServer() as server:
            url = server.url
        outcome = await hook(url).send(PARCEL)
        assert isinstance(outcome, Failed)
        assert outcome.reason.startswith("no connection")

    async def test_a_flood_is_not_read_to_its_end(self, hook):
        with WebhookServer([Answers(200, floods=1 << 30)]) as server:
            assert await hook(server.url).send(PARCEL) == Delivered()
            assert server.sent < 64 * MOST_READ  # what the system's buffers take

    @pytest.mark.parametrize("begins", [False, True])
    async def test_one_that_hangs_can_be_cancelled(self, hook, clock, begins):
        with WebhookServer([Hangs(begins=begins)]) as server:
            sending = asyncio.create_task(within(clock, 10, hook(server.url).send(PARCEL)))
            await asyncio.to_thread(server.wait_for, 1)
            assert not sending.done()
            clock.advance(10)
            with pytest.raises(TimeoutError):
                await sending


@pytest.mark.requirement("GATE-04")
class TestWhereItGoes:
    @pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
    async def test_a_redirect_to_the_metadata_service_is_not_followed(self, hook, status):
        with WebhookServer() as inside:
            there = [f"http://127.0.0.1:{inside.port}/latest", "http://169.254.169.254/latest/meta-data/"]
            with WebhookServer([Answers(status, headers={"location": where}) for where in there]) as server:
                for _ in there:
                    outcome = await hook(server.url).send(PARCEL)
                    assert outcome == Failed(reason=f"it answered {status}: redirects are not followed")
                assert len(server.requests) == 2
            assert inside.requests == []

    async def test_a_name_that_resolves_to_loopback_is_not_dialled(self, hook):
        with WebhookServer(tls=serving()) as server:
            url = f"https://hooks.test:{server.port}/hook"
            resolve = leading_to("127.0.0.1")
            refused = await hook(url, allow_hosts=(), resolve=resolve, tls=trusting()).send(PARCEL)
            assert isinstance(refused, Failed)
            assert "not a public one" in refused.reason
            assert (server.names, server.requests) == ([], [])
            # The control: the same address, listed, is dialled.
            assert (
                await hook(url, allow_hosts=("hooks.test",), resolve=resolve, tls=trusting()).send(PARCEL)
                == Delivered()
            )
            assert len(server.requests) == 1

    async def test_the_address_that_was_checked_is_dialled_under_the_name_that_was_meant(self, hook, monkeypatch):
        """``hooks.test`` has no address here: only what the resolver said can have been dialled."""
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")  # and no proxy looks the name up again
        resolve = leading_to("127.0.0.1")
        with WebhookServer(tls=serving()) as server:
            url = f"https://hooks.test:{server.port}/hook"
            outcome = await hook(url, allow_hosts=("hooks.test",), resolve=resolve, tls=trusting()).send(PARCEL)
        assert outcome == Delivered()
        assert resolve.asked == ["hooks.test"]
        assert server.names == ["hooks.test"]
        assert server.requests[0].headers["host"] == f"hooks.test:{server.port}"

    async def test_a_name_that_answers_differently_the_second_time_is_not_asked_again(self, hook):
        answers = [["127.0.0.1"], ["169.254.169.254"]]

        async def rebinding(host, port):
            return answers.pop(0)

        with WebhookServer(tls=serving()) as server:
            url = f"https://hooks.test:{server.port}/hook"
            webhook = hook(url, allow_hosts=("hooks.test",), resolve=rebinding, tls=trusting())
            assert await webhook.send(PARCEL) == Delivered()
        assert answers == [["169.254.169.254"]]

    async def test_a_certificate_of_another_name_is_not_believed(self, hook):
        with WebhookServer(tls=serving()) as server:
            url = f"https://other.test:{server.port}/hook"
            resolve = leading_to("127.0.0.1")
            outcome = await hook(url, allow_hosts=("other.test",), resolve=resolve, tls=trusting()).send(PARCEL)
        assert isinstance(outcome, Failed)
        assert "certificate" in outcome.reason.lower()
        assert server.requests == []

    async def test_nor_one_that_nobody_vouches_for(self, hook):
        with WebhookServer(tls=serving()) as server:
            url = f"https://hooks.test:{server.port}/hook"
            outcome = await hook(url, allow_hosts=("hooks.test",), resolve=leading_to("127.0.0.1")).send(PARCEL)
        assert isinstance(outcome, Failed)
        assert server.requests == []

    async def test_the_next_address_is_tried_when_nobody_is_at_the_first(self, hook):
        with WebhookServer(tls=serving()) as server:
            url = f"https://hooks.test:{server.port}/hook"
            resolve = leading_to("127.0.0.2", "127.0.0.1")  # the server is at the second one only
            webhook = hook(url, allow_hosts=("hooks.test",), resolve=resolve, tls=trusting())
            assert await webhook.send(PARCEL) == Delivered()

    async def test_what_was_sent_once_is_not_sent_to_the_next_address(self, hook):
        with WebhookServer([Drops()], tls=serving()) as server:
            url = f"https://hooks.test:{server.port}/hook"
            resolve = leading_to("127.0.0.1", "::ffff:127.0.0.1")  # both lead to the server
            outcome = await hook(url, allow_hosts=("hooks.test",), resolve=resolve, tls=trusting()).send(PARCEL)
        assert isinstance(outcome, Failed)
        assert len(server.requests) == 1


def serving():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def trusting():
    return ssl.create_default_context(cafile=str(CERTIFICATE))
