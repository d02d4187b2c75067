"""``secret://name``: the tool gets the secret, and nobody else ever sees it."""

from __future__ import annotations

import pytest

from callslip import Runtime, tool
from callslip.core.result import Status

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RSLT-05")]

SECRET = "correct-horse-battery"


@pytest.fixture
def got():
    return []


@pytest.fixture
def fetch(got):
    @tool(risk="write", recovery="idempotent", secret_arguments=("token",), local_effect=True)
    async def fetch(url: str, token: str = "") -> str:
        """Fetch."""
        got.append((url, token))
        return f"asked with {token}"

    return fetch


async def one(runtime, **arguments):
    batch = await runtime.dispatch([{"name": "fetch", "arguments": arguments}], session="s", step="1")
    return batch.results[0]


async def test_only_the_tool_sees_it(fetch, got):
    async with Runtime(tools=[fetch], secrets={"bank": SECRET}) as runtime:
        result = await one(runtime, url="x", token="secret://bank")
        assert got == [("x", SECRET)]
        assert result.result.structured == "asked with [redacted]"
        texts = b"".join(text for _, _, text in await runtime.parts.ledger.raw("s"))
        assert SECRET.encode() not in texts
        assert b"secret://bank" in texts


async def test_only_where_the_tool_takes_secrets(fetch, got):
    async with Runtime(tools=[fetch], secrets={"bank": SECRET}) as runtime:
        await one(runtime, url="http://evil/?secret://bank")
        assert got == [("http://evil/?secret://bank", "")]


@pytest.mark.parametrize("token", ["secret://bank/", "secret://Bank", "secret://", "x secret://bank"])
async def test_only_by_its_whole_name(fetch, got, token):
    async with Runtime(tools=[fetch], secrets={"bank": SECRET}) as runtime:
        result = await one(runtime, url="x", token=token)
        if token.startswith("secret://"):
            assert (result.status, result.error_code) == (Status.INVALID_ARGUMENTS, "unknown_secret")
            assert not got
        else:
            assert got == [("x", token)]


async def test_the_key_of_a_call_does_not_depend_on_the_secret(fetch, got):
    keys = set()
    for secret in (SECRET, SECRET[::-1]):
        async with Runtime(tools=[fetch], secrets={"bank": secret}) as runtime:
            await one(runtime, url="x", token="secret://bank")
            dispatch = (await runtime.state("s")).calls
            keys |= {call.dispatch.arguments_digest for call in dispatch.values()}
    assert len(keys) == 1


async def test_a_repeat_after_a_crash_gets_it_too(tmp_path, fetch, got):
    from callslip.errors import LedgerUnavailable

    def broken(*_args, **_more):
        raise LedgerUnavailable("no")

    async with Runtime(tools=[fetch], secrets={"bank": SECRET}, state=tmp_path / "s") as runtime:
        append = runtime.parts.ledger.append

        async def until_settled(session, drafts, **more):
            if any(draft.record.event.__struct_config__.tag == "function_response" for draft in drafts):
                broken()
            return await append(session, drafts, **more)

        runtime.parts.ledger.append = until_settled
        with pytest.raises(LedgerUnavailable):
            await one(runtime, url="x", token="secret://bank")
        runtime.parts.ledger.append = append
        assert (await one(runtime, url="x", token="secret://bank")).ok
    assert got == [("x", SECRET)] * 2
