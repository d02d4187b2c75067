"""Answers over HTTP: who may give them, what they may say, and that nothing else decides."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from callslip.answering.server import AHEAD
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.standing import Delegated, PrincipalRevoked
from callslip.errors import NotAuthorised, UsageError, WaitConflict
from callslip.runtime.parts import Data

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("APPR-08")]


async def decided(world, session="s"):
    return [
        stored.record.event
        for stored in await world.runtime.parts.ledger.read(session)
        if isinstance(stored.record.event, ApprovalDecided)
    ]


class TestLooking:
    async def test_what_waits(self, world):
        wait = await world.ask()
        response = await world.get("/v1/waits")
        assert response.status_code == 200
        (told,) = response.json()["waits"]
        assert (told["id"], told["kind"], told["tool"], told["session"]) == (wait, "approval", "pay", "s")
        assert "arguments" not in told

    async def test_one_question_whole(self, world):
        wait = await world.ask()
        told = (await world.get(f"/v1/waits/{wait}")).json()
        assert told["arguments"] == {"amount": 100, "to": "shop"}
        assert told["schema"]["properties"]["amount"]["type"] == "integer"
        assert (told["rules"], told["advisory"], told["again"]) == (["risk.dangerous"], True, [])
        assert len(told["binding"]) == 64

    async def test_large_numbers_come_through(self, world):
        asked = await world.question(await world.ask())
        assert asked.arguments == {"amount": 100, "to": "shop"}
        await world.decide(asked, "approved", arguments={"amount": 10**40, "to": "shop"})
        assert "paid 1" + "0" * 40 in await world.outcome()

    async def test_no_link_decides(self, world):
        wait = await world.ask()
        for path in (
            f"/v1/waits/{wait}/decision",
            f"/v1/waits/{wait}/decision?decision=approved",
            f"/v1/waits/{wait}/",
        ):
            assert (await world.get(path)).status_code in {404, 405}
        assert await world.open_waits() == [wait]
        assert (await world.post(wait, {"decision": "approved"})).status_code == 200  # and this does

    async def test_what_is_turned_away_is_told_why(self, world):
        wait = await world.ask()
        told = [
            (response.status_code, response.json()["error"]["message"])
            for response in (
                await world.get("/v1/waits", Authorization="Bearer wrong"),
                await world.get("/v2"),
                await world.get(f"/v1/waits/{wait}/decision"),
            )
        ]
        assert told == [
            (401, "No valid token. Nothing was done. It stands in answers.token, new at every start."),
            (404, "There is no such path. Nothing was done. What waits stands at /v1/waits."),
            (405, "This path takes POST only. Nothing was done."),
        ]

    async def test_of_what_is_not_there(self, world):
        wait = await world.ask()
        response = await world.get("/v1/waits/appr_none")
        assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
        assert (await world.get(f"/v1/waits/{wait}")).status_code == 200

    async def test_a_question_that_was_altered_is_not_shown(self, world, monkeypatch):
        wait = await world.ask()
        assert (await world.get(f"/v1/waits/{wait}")).status_code == 200
        load = world.runtime.approvals.question

        async def altered(name):
            return msgspec.structs.replace(await load(name), arguments={"amount": 1, "to": "shop"})

        monkeypatch.setattr(world.runtime.approvals, "question", altered)
        response = await world.get(f"/v1/waits/{wait}")
        assert (response.status_code, response.json()["error"]["code"]) == (500, "log_broken")
        assert (await world.post(wait, {"decision": "approved"})).status_code == 500
        assert await world.open_waits() == [wait]


@pytest.mark.requirement("APPR-01")
class TestAdvisory:
    async def test_the_answer_is_the_servers_account(self, world, monkeypatch):
        wait = await world.ask()
        response = await world.post(wait, {"decision": "approved", "reason": "looked"})
        me = world.runtime.identity().name
        assert response.json() == {"wait": wait, "session": "s", "decision": "approved", "by": me, "enough": True}
        (event,) = await decided(world)
        assert (event.via, event.reason, event.proof.principal, event.proof.signature) == ("http", "looked", me, "")
        assert "paid 100 to shop" in await world.outcome()
        assert world.effects == {(100, "shop"): 1}

    @pytest.mark.requirement("APPR-04")
    async def test_a_denial_reaches_the_model(self, world):
        wait = await world.ask()
        assert (await world.post(wait, {"decision": "denied", "reason": "too much"})).json()["decision"] == "denied"
        assert "too much" in await world.outcome()
        assert world.effects == {}

    async def test_a_proof_proves_nothing_there(self, world):
        wait = await world.ask()
        body = await world.body(wait, by=world.ada)
        response = await world.post(wait, body)
        assert (response.status_code, "Leave `proof` out" in response.json()["error"]["message"]) == (422, True)
        assert await world.open_waits() == [wait]


@pytest.mark.requirement("APPR-04")
class TestWhatItSays:
    @pytest.mark.parametrize(
        "body",
        [
            {}, {"decision": None}, {"decision": ""}, {"decision": "yes"}, {"decision": True}, {"decision": "Approved"},
            {"decision": "approved", "tool": "other"}, {"decision": "approved", "binding": "0" * 64},
            {"decision": "approved", "edited_arguments": None}, {"decision": "approved", "edited_arguments": [1]},
            {"decision": "approved", "reason": 1}, {"decision": "approved", "grant": "grant_1"},
            {"decision": "denied", "edited_arguments": {"amount": 1, "to": "shop"}}, [], "approved", None,
        ],
    )  # fmt: skip
    async def test_anything_else_is_no_answer(self, world, body):
        """Cases 1 and 7: a missing, null or unknown word; a field that would change more than the arguments."""
        wait = await world.ask()
        response = await world.post(wait, body)
        assert response.status_code == 422
        assert "Nothing was written" in response.json()["error"]["message"]
        assert await world.open_waits() == [wait]
        assert await decided(world) == []
        assert (await world.post(wait, {"decision": "approved"})).status_code == 200

    @pytest.mark.parametrize(
        "text", [b"", b"{", b"approved", b'{"decision": "denied", "decision": "approved"}', b"\xff", b"[" * 10**5]
    )
    async def test_what_is_no_json(self, world, text):
        wait = await world.ask()
        response = await world.post(wait, text)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request")
        assert await world.open_waits() == [wait]

    @pytest.mark.parametrize("by", [None, "ada"])
    async def test_an_edit_is_used_and_the_model_is_told(self, world, by):
        if by:
            world.enrol()
        asked = await world.question(await world.ask())
        who = getattr(world, by).identity if by else None
        taken = await world.decide(asked, "approved", by=who, arguments={"amount": 5, "to": "shop"}, reason="less")
        assert taken.decision == "edited"
        (event,) = await decided(world)
        assert event.changes == ("amount: 100 → 5",)
        assert "amount: 100 → 5" in await world.outcome()
        assert world.effects == {(5, "shop"): 1}

    @pytest.mark.parametrize("by", [None, "ada"])
    async def test_a_large_edit_is_kept_beside_the_log(self, world, by):
        if by:
            world.enrol()
        asked = await world.question(await world.ask())
        long = "x" * 10_000
        who = getattr(world, by).identity if by else None
        await world.decide(asked, "approved", by=who, arguments={"amount": 5, "to": long})
        await world.outcome()
        assert world.effects == {(5, long): 1}

    @pytest.mark.parametrize("by", [None, "ada"])
    async def test_an_edit_that_breaks_the_schema_leaves_it_open(self, world, by):
        """Case 5."""
        if by:
            world.enrol()
        wait = await world.ask()
        body = {"decision": "approved", "edited_arguments": {"amount": "much", "to": "shop"}}
        response = await world.post(wait, body)
        error = response.json()["error"]
        assert (response.status_code, error["field_errors"][0]["path"]) == (422, "amount")
        assert error["field_errors"][0]["rule"] == "type"
        assert await world.open_waits() == [wait]
        taken = await world.decide(
            await world.question(wait), "approved", by=world.ada.identity if by else None,
            arguments={"amount": 1, "to": "shop"},
        )  # fmt: skip
        assert taken.enough

    async def test_an_edit_of_nothing(self, world):
        wait = await world.ask()
        response = await world.post(wait, {"decision": "approved", "edited_arguments": {"to": "shop", "amount": 100}})
        assert (response.status_code, "as such" in response.json()["error"]["message"]) == (422, True)

    async def test_too_large(self, world):
        wait = await world.ask()
        body = {"decision": "denied", "reason": "x" * 300_000}
        assert (await world.post(wait, body)).status_code == 413
        assert await world.open_waits() == [wait]
        assert (await world.post(wait, body | {"reason": "x" * 200_000})).status_code == 200

    @pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
    async def test_another_type(self, world, kind):
        wait = await world.ask()
        assert (await world.post(wait, {"decision": "approved"}, **{"Content-Type": kind})).status_code == 415
        assert await world.open_waits() == [wait]
        assert (
            await world.post(wait, {"decision": "approved"}, **{"Content-Type": "application/json; charset=utf-8"})
        ).status_code == 200


class TestSigned:
    async def test_an_approver_decides(self, staffed):
        asked = await staffed.question(await staffed.ask())
        taken = await staffed.decide(asked, "approved", by=staffed.bob.identity, reason="looked")
        assert (taken.by, taken.enough) == ("bob", True)
        (event,) = await decided(staffed)
        assert (event.via, event.proof.principal, event.proof.uid) == ("http", "bob", None)
        assert "paid 100" in await staffed.outcome()  # T1 has verified it again

    async def test_the_token_alone_is_not_enough(self, staffed):
        wait = await staffed.ask()
        response = await staffed.post(wait, {"decision": "approved"})
        assert (response.status_code, "needs `proof`" in response.json()["error"]["message"]) == (403, True)
        assert await staffed.open_waits() == [wait]

    async def test_nor_is_a_role_that_only_looks(self, staffed):
        asked = await staffed.question(await staffed.ask())
        with pytest.raises(NotAuthorised, match="no approver"):
            await staffed.decide(asked, "approved", by=staffed.eve.identity)
        assert (await staffed.decide(asked, "approved", by=staffed.bob.identity)).enough

    async def test_somebody_unknown(self, staffed):
        wait = await staffed.ask()
        body = await staffed.body(wait, by=staffed.bob)
        for name in ("zoe", "", "ada"):
            forged = body | {"proof": body["proof"] | {"principal": name}}
            assert (await staffed.post(wait, forged)).status_code == 403
        assert await staffed.open_waits() == [wait]
        assert (await staffed.post(wait, body)).status_code == 200

    async def test_somebody_revoked(self, staffed):
        wait = await staffed.ask()
        body = await staffed.body(wait, by=staffed.bob)
        staffed.trust.state(PrincipalRevoked(name="bob"), staffed.ada.identity)
        response = await staffed.post(wait, body)
        assert (response.status_code, "'bob' was revoked" in response.json()["error"]["message"]) == (403, True)
        assert await staffed.open_waits() == [wait]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("decision", "denied"), ("reason", "because"), ("edited_arguments", {"amount": 1, "to": "shop"}),
            ("signature", "0" * 128), ("signature", ""), ("signature", "x"), ("key", "0" * 64), ("key", ""),
            ("at", 1), ("on_behalf_of", "ada"),
        ],
    )  # fmt: skip
    async def test_one_that_was_altered_on_its_way(self, staffed, field, value):
        wait = await staffed.ask()
        body = await staffed.body(wait, by=staffed.bob)
        forged = json.loads(json.dumps(body))
        (forged if field in {"decision", "reason", "edited_arguments"} else forged["proof"])[field] = value
        assert (await staffed.post(wait, forged)).status_code == 403
        assert await staffed.open_waits() == [wait]
        assert await decided(staffed) == []
        assert (await staffed.post(wait, body)).status_code == 200

    async def test_one_for_another_session(self, staffed):
        one, other = await staffed.ask(session="a"), await staffed.ask(session="b")
        body = await staffed.body(one, by=staffed.bob)
        response = await staffed.post(other, body)
        assert (response.status_code, "signature" in response.json()["error"]["message"]) == (403, True)
        assert (await staffed.post(one, body)).status_code == 200
        assert await staffed.open_waits() == [other]

    async def test_one_that_was_used(self, staffed):
        wait = await staffed.ask()
        body = await staffed.body(wait, by=staffed.bob)
        assert (await staffed.post(wait, body)).status_code == 200
        response = await staffed.post(wait, body)
        assert (response.status_code, "approved by bob" in response.json()["error"]["message"]) == (409, True)
        await staffed.outcome()
        assert (await staffed.post(wait, body)).status_code == 409
        again = await staffed.ask()  # the same call, asked about anew
        assert (await staffed.post(again, body)).status_code == 403
        assert staffed.effects == {(100, "shop"): 1}
        assert (await staffed.post(again, await staffed.body(again, by=staffed.bob))).status_code == 200

    async def test_the_time_of_a_signature(self, staffed):
        """However old, since the log's order decides; but not far ahead of the clock here."""
        now = staffed.clock.now()
        wait = await staffed.ask()
        body = await staffed.body(wait, by=staffed.bob, at=now + AHEAD + 1)
        response = await staffed.post(wait, body)
        assert (response.status_code, "24 hours ahead" in response.json()["error"]["message"]) == (403, True)
        for at, session in ((now + AHEAD, "s"), (now - 30 * AHEAD, "t")):
            if session != "s":
                wait = await staffed.ask(session=session)
            assert (await staffed.post(wait, await staffed.body(wait, by=staffed.bob, at=at))).status_code == 200

    @pytest.mark.requirement("APPR-07")
    async def test_handed_on(self, staffed):
        now = staffed.clock.now()
        wait, later = await staffed.ask(session="a"), await staffed.ask(session="b")
        none = await staffed.body(wait, by=staffed.eve, on_behalf_of="ada")
        assert (await staffed.post(wait, none)).status_code == 403
        staffed.clock.advance(10)
        staffed.trust.state(Delegated(to="eve", until=now + 60_000), staffed.ada.identity)
        good = await staffed.body(wait, by=staffed.eve, on_behalf_of="ada")
        assert (await staffed.post(wait, good)).json()["by"] == "eve"
        assert "paid 100" in await staffed.outcome("a")
        dated_back = await staffed.body(later, by=staffed.eve, on_behalf_of="ada")
        staffed.clock.advance(120)
        response = await staffed.post(later, dated_back)
        assert (response.status_code, "handed this on" in response.json()["error"]["message"]) == (403, True)

    @pytest.mark.requirement("APPR-07")
    async def test_four_eyes(self, staffed):
        staffed.carl.enrol(staffed.trust, by=staffed.ada)
        async with staffed.open(policy={"dangerous": "ask_two"}, identity=staffed.ada.identity) as runtime:
            staffed.serve(runtime, staffed.made)
            wait = await staffed.ask()
            asked = await staffed.question(wait)
            assert asked.approvers == 2
            body = {"decision": "approved", "edited_arguments": {"amount": 1, "to": "x"}}
            response = await staffed.post(wait, body)
            assert (response.status_code, "can't be edited" in response.json()["error"]["message"]) == (422, True)
            with pytest.raises(NotAuthorised, match="is whoever asks"):
                await staffed.decide(asked, "approved", by=staffed.ada.identity)
            first = await staffed.body(wait, by=staffed.bob)
            assert (await staffed.post(wait, first)).json()["enough"] is False
            assert (await staffed.question(wait)).approved_by == ("bob",)
            for again in (first, await staffed.body(wait, by=staffed.bob)):
                assert (await staffed.post(wait, again)).status_code == 403
            assert await staffed.open_waits() == [wait]
            assert (await staffed.decide(asked, "approved", by=staffed.carl.identity)).enough
            assert "paid 100" in await staffed.outcome()

    @pytest.mark.requirement("LEDG-08")
    async def test_arguments_that_are_kept_encrypted_cant_be_edited_from_elsewhere(self, staffed):
        runtime = staffed.open()
        runtime.configure(data=Data(encrypt=True))
        async with runtime:
            staffed.serve(runtime, staffed.made)
            wait = await staffed.ask()
            asked = await staffed.question(wait)
            assert asked.arguments == {"amount": 100, "to": "shop"}
            with pytest.raises(UsageError, match="payloads of this session are encrypted"):
                await staffed.decide(asked, "approved", by=staffed.bob.identity, arguments={"amount": 1, "to": "shop"})
            assert await staffed.open_waits() == [wait]
            assert (await staffed.decide(asked, "approved", by=staffed.bob.identity)).enough
            assert "paid 100" in await staffed.outcome()


@pytest.mark.requirement("APPR-01")
class TestRaces:
    async def test_one_wins_and_the_other_is_told_who(self, staffed):
        """Case 3."""
        wait = await staffed.ask()
        asked = await staffed.question(wait)
        people = [staffed.ada, staffed.bob] * 4
        said = [
            staffed.decide(asked, "approved" if one is staffed.ada else "denied", by=one.identity) for one in people
        ]
        answers = await asyncio.gather(*said, return_exceptions=True)
        (won,) = [one for one in answers if not isinstance(one, Exception)]
        lost = [one for one in answers if isinstance(one, Exception)]
        assert {type(one) for one in lost} == {WaitConflict}
        assert all(f"{won.decision} by {won.by}" in str(one) for one in lost)

    async def test_a_session_that_was_stopped_meanwhile(self, staffed):
        """Case 19."""
        wait = await staffed.ask()
        asked = await staffed.question(wait)
        assert await staffed.runtime.stop("s")
        with pytest.raises(WaitConflict, match="asked to stop"):
            await staffed.decide(asked, "approved", by=staffed.bob.identity)
        await staffed.runtime.resume("s")
        assert (await staffed.get(f"/v1/waits/{wait}")).status_code == 409
        assert staffed.effects == {}

    async def test_two_servers_on_one_state(self, staffed):
        async with staffed.open() as runtime:
            wait = await staffed.ask()
            first = await staffed.question(wait)
            staffed.serve(runtime, staffed.made)
            second = await staffed.question(wait)
            assert second == first
            await staffed.decide(second, "denied", by=staffed.ada.identity)


class TestRequests:
    async def test_each_is_noted_and_nothing_secret_with_it(self, staffed):
        wait = await staffed.ask()
        secret = staffed.made.reveal()
        await staffed.get(f"/v1/waits?token={secret}")
        await staffed.get("/v1/waits", Authorization="Bearer wrong")
        await staffed.post(wait, {"decision": "approved", "reason": "private"})
        await staffed.post(wait, await staffed.body(wait, by=staffed.bob))
        noted = [(one.method, one.path.replace(wait, "W"), one.status, one.what) for one in staffed.seen]
        assert noted == [
            ("GET", "/v1/waits", 200, ""),
            ("GET", "/v1/waits", 401, "unauthorised"),
            ("POST", "/v1/waits/W/decision", 403, "not_authorised"),
            ("GET", "/v1/waits/W", 200, ""),
            ("POST", "/v1/waits/W/decision", 200, "approved"),
        ]
        assert secret not in str(staffed.seen)
        assert "private" not in str(staffed.seen)

    async def test_what_goes_wrong_here_tells_nothing(self, world, monkeypatch):
        async def broken(session=None):
            raise RuntimeError("at /secret/place")

        assert (await world.get("/v1/waits")).status_code == 200
        monkeypatch.setattr(world.runtime, "waits", broken)
        response = await world.get("/v1/waits")
        assert (response.status_code, "secret" in response.text) == (500, False)

    async def test_headers(self, world):
        for response in (await world.get("/v1/waits"), await world.get("/v1/x"), await world.get("/", Host="evil.com")):
            assert response.headers["cache-control"] == "no-store"
            assert response.headers["x-content-type-options"] == "nosniff"
            assert not [name for name in response.headers if name.startswith("access-control")]
            assert "server" not in response.headers
