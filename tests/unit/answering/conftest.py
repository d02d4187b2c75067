"""A server over a runtime whose calls ask, with people who may answer, and a client that speaks plain HTTP to it."""

from __future__ import annotations

from collections import Counter

import httpx2
import msgspec
import pytest

from callslip import Runtime, tool
from callslip.answering import client
from callslip.answering.guard import Bound, Guard
from callslip.answering.server import Server
from callslip.answering.token import token
from callslip.core.message import UserText
from callslip.core.principal import Role
from callslip.providers.scripted import Scripted, calling, saying
from callslip.testing.clock import FakeClock
from callslip.testing.people import Person

PORT = 8765
URL = f"http://127.0.0.1:{PORT}"


class World:
    """A runtime, what its tools did, a server over it, and a way to speak to that."""

    def __init__(self, folder):
        self.effects = Counter()
        self.clock = FakeClock()
        self.folder = folder
        self.seen = []
        self.ada = Person("ada", Role.OPERATOR, Role.APPROVER, Role.CALLER)
        self.bob = Person("bob", Role.APPROVER, uid=4001)
        self.carl = Person("carl", Role.APPROVER, uid=4002)
        self.eve = Person("eve", Role.VIEWER)

    def open(self, **changes):
        effects = self.effects

        @tool(risk="dangerous")
        async def pay(amount: int, to: str) -> str:
            """Pay."""
            effects[amount, to] += 1
            return f"paid {amount} to {to}"

        def obey(request):
            last = request.messages[-1]
            if isinstance(last, UserText):
                return calling(("pay", {"amount": 100, "to": last.text}))
            return saying(last.results[0].content)

        settings = {"policy": {"dangerous": "ask"}, "model": Scripted([obey] * 50)} | changes
        return Runtime(tools=[pay], state=self.folder / "state", clock=self.clock, **settings)

    def serve(self, runtime, made, **changes):
        self.runtime, self.made = runtime, made
        bound = Bound("127.0.0.1", "127.0.0.1", PORT)._replace(**changes)
        self.server = Server(runtime, Guard(made, bound, self.clock), self.seen.append)
        self.http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.server), base_url=URL)
        return self

    @property
    def trust(self):
        return self.runtime.parts.trust

    def enrol(self, *others):
        self.ada.enrol(self.trust)
        for one in others:
            one.enrol(self.trust, by=self.ada)

    async def ask(self, text="shop", session="s"):
        """Have the runtime ask; the wait's id."""
        run = await self.runtime.run(text, session=session)
        assert run.status == "waiting"
        return run.waits[0].id

    async def get(self, path, **headers):
        return await self.http.get(path, headers={"Authorization": f"Bearer {self.made.reveal()}"} | headers)

    async def post(self, wait, body, **headers):
        if not isinstance(body, bytes):
            body = msgspec.json.encode(body)
        usual = {"Authorization": f"Bearer {self.made.reveal()}", "Content-Type": "application/json"}
        sent = {name: value for name, value in (usual | headers).items() if value is not None}
        return await self.http.post(f"/v1/waits/{wait}/decision", content=body, headers=sent)

    async def question(self, wait):
        return await client.question(URL, self.made.reveal(), wait, http=self.http)

    async def decide(self, asked, word, **said):
        return await client.decide(URL, self.made.reveal(), asked, word, http=self.http, clock=self.clock, **said)

    async def body(self, wait, word="approved", by=None, at=None, **said):
        """What a client would send, to be altered; ``by`` signs it."""
        sent = []

        class Caught(httpx2.AsyncClient):
            async def request(self, method, url, *, content, **rest):
                sent.append(msgspec.json.decode(content))
                return httpx2.Response(503, json={})

        asked = await self.question(wait)
        clock = FakeClock(now=at) if at is not None else self.clock
        with pytest.raises(Exception, match="503"):
            await client.decide(
                URL, "", asked, word, http=Caught(), clock=clock, by=by.identity if by is not None else None, **said
            )
        return sent[0]

    async def outcome(self, session="s"):
        """The last thing that a run of the session says."""
        return (await self.runtime.resume(session)).text

    async def open_waits(self):
        return [wait.id for wait in await self.runtime.waits()]


@pytest.fixture
async def world(tmp_path):
    made = World(tmp_path)
    async with made.open() as runtime:
        assert runtime.parts is not None
        with token(tmp_path / "state") as one:
            yield made.serve(runtime, one)
            await made.http.aclose()


@pytest.fixture
async def staffed(world):
    """Keys are enrolled: ada and bob may approve, eve may look."""
    world.enrol(world.bob, world.eve)
    return world
