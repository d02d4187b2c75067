"""A trust file with people in it, and a way to alter it behind everybody's back."""

import os

import msgspec
import pytest

from callslip.core import canon, standing as core
from callslip.core.grant import Grant
from callslip.core.principal import Role
from callslip.core.standing import Granted, PrincipalRevoked, Statement
from callslip.testing.clock import FakeClock
from callslip.testing.people import Person
from callslip.trust.file import FileTrust


class Installation:
    """anna (root: operator, approver), bob (approver), carl (operator, revoked), and a grant of bob's up to 100."""

    def __init__(self, folder):
        folder.mkdir(mode=0o700)
        self.folder = folder
        self.path = folder / "trust.log"
        self.clock = FakeClock()
        self.anna = Person("anna", Role.OPERATOR, Role.APPROVER)
        self.bob = Person("bob", Role.APPROVER)
        self.carl = Person("carl", Role.OPERATOR)

    def opened(self, **settings):
        """As a process that has just started has it."""
        return FileTrust(self.folder, clock=self.clock, **settings)

    def fill(self):
        trust = self.opened()
        self.anna.enrol(trust)
        self.bob.enrol(trust, by=self.anna)
        self.carl.enrol(trust, by=self.anna)
        trust.state(Granted(grant=self.grant()), self.bob.identity)
        trust.state(PrincipalRevoked(name="carl", reason="left"), self.anna.identity)
        return self

    def grant(self, name="g1", **changes):
        plain = Grant(
            id=name, tool="pay", tool_version="v1", executor="app:pay", requester="anna", rules=("risk",),
            equal={"to": "shop"}, at_most={"amount": 100},
        )  # fmt: skip
        return msgspec.structs.replace(plain, **changes)

    @property
    def lines(self):
        return self.path.read_bytes().splitlines(keepends=True)

    @lines.setter
    def lines(self, lines):
        self.path.touch(0o600)
        self.path.write_bytes(b"".join(lines))

    def forge(self, body, *, by, key=None, at=None, after=None, **changes):
        """A line as Callslip would spell it, put after ``after`` lines (at the end), with whatever signature."""
        lines = self.lines if self.path.exists() else []
        place = len(lines) if after is None else after
        prev = canon.digest(lines[place - 1].rstrip(b"\n")) if place else "0" * 64
        facts = {"seq": place + 1, "prev": prev, "at": at or self.clock.now(), "by": by, "uid": os.getuid()}
        made = Statement(body=body, **facts | changes)
        if key is not None:
            made = msgspec.structs.replace(made, signature=key.sign(core.message(made)))
        self.lines = [*lines[:place], core.encode(made) + b"\n", *lines[place:]]


@pytest.fixture
def bare(tmp_path):
    return Installation(tmp_path / "state")


@pytest.fixture
def installation(bare):
    return bare.fill()
