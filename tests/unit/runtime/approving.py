"""A bank, a policy that can be changed, people with keys, and a forger: what the tests of approvals are played with."""

from __future__ import annotations

from callslip import Context, tool
from callslip.core.event import draft
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.principal import Principal, Role
from callslip.core.standing import Enrolled
from callslip.ports.policy import Verdict
from callslip.ports.trust import Identity
from callslip.trust.keys import PrivateKey

ME = Identity(name="requester", uid=1)


class Rules:
    """A policy that can be changed while a call waits."""

    def __init__(self) -> None:
        self.decision, self.rules, self.approvers = "ask", ("rule-1",), 1

    def decide(self, question):
        if question.arguments.get("cents") == 666:
            return Verdict(decision="deny", rules=("no-666",), reason="the amount is cursed")
        decision = "allow" if question.tool.risk == "read" else self.decision
        return Verdict(decision=decision, rules=self.rules, reason="money leaves", approvers=self.approvers)


class Bank:
    def __init__(self, version: str = "") -> None:
        self.paid: list[tuple[str, int]] = []
        self.keys: list[str] = []
        self.document = "v1"
        self.tag = version
        self.looks = []
        """What happens each time the target is looked at."""

    def tools(self):
        bank = self

        @tool(risk="write", recovery="never", tag=self.tag, local_effect=True, quiet=0)
        async def pay(to: str, cents: int, context: Context, note: str = "") -> str:
            """Pay somebody."""
            bank.paid.append((to, cents))
            bank.keys.append(context.idempotency_key)
            if cents == 13:
                raise RuntimeError("lost")
            return f"paid {cents} to {to}"

        @tool(risk="read")
        async def balance() -> int:
            """What is left."""
            return 100

        async def prepare(name: str, text: str) -> Evidence:
            if bank.looks:
                bank.looks.pop()()
            return Evidence(target=f"doc:{name}", before=bank.document, after=text)

        async def digest(target: str) -> str:
            return bank.document

        @tool(risk="write", recovery="evidence", prepare=prepare, digest=digest, local_effect=True)
        async def write(name: str, text: str) -> str:
            """Write a document."""
            bank.document = text
            return "written"

        return [pay, balance, write]


def pay(cents=100, to="anna", **more):
    return {"name": "pay", "arguments": {"to": to, "cents": cents, **more}}


async def dispatch(runtime, *calls, step="1"):
    return await runtime.dispatch(calls or (pay(),), session="s", step=step)


async def asked(runtime, *calls, step="1"):
    """Dispatch, and give the one wait it ends in."""
    (wait,) = (await dispatch(runtime, *calls, step=step)).waits
    return wait.id


async def events(runtime, kind):
    return [one.record.event for one in await runtime.parts.ledger.read("s") if isinstance(one.record.event, kind)]


def enrol(runtime, *people):
    """Enrol each (name, roles, uid); gives their identities. The first must be an operator."""
    made = {}
    root = None
    for name, roles, uid in people:
        key = PrivateKey.fresh()
        me = Identity(name=name, uid=uid, signer=key)
        root = root or me
        principal = Principal(name=name, roles=tuple(map(Role, roles)), key=key.key, uid=uid)
        runtime.parts.trust.state(Enrolled(principal=principal), root)
        made[name] = me
    return made


async def forge(runtime, *made):
    """Put records into the log as somebody could who can write the file: chain and order are right."""
    (head,) = await runtime.parts.ledger.heads("s")
    drafts = [draft(event, at=1, by="forger", epoch=0, run="") for event in made]
    await runtime.parts.ledger.decide("s", drafts, expected=head.seq)
