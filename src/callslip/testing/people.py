"""People with keys, for tests: made at once, without files or passphrases. ::

anna = Person("anna", Role.OPERATOR, Role.APPROVER)
anna.enrol(trust)                   # the first one: the root
bob = Person("bob", Role.APPROVER)
bob.enrol(trust, by=anna)
trust.state(body, anna.identity)
"""

from __future__ import annotations

import os

from callslip.core.principal import Principal, Role
from callslip.core.standing import Enrolled, Statement
from callslip.ports.trust import Identity, Trust
from callslip.trust.keys import PrivateKey


class Person:
    """Somebody with a key of their own. ``uid``: of the account they use; this one unless said."""

    def __init__(self, name: str, *roles: Role, uid: int | None = None) -> None:
        self.key = PrivateKey.fresh()
        self.identity = Identity(name=name, uid=os.getuid() if uid is None else uid, signer=self.key)
        self.principal = Principal(name=name, roles=roles, key=self.key.key, uid=self.identity.uid)

    def enrol(self, trust: Trust, *, by: Person | None = None) -> Statement:
        """Bring the key into force, by an operator's word; the first one's by its own."""
        return trust.state(Enrolled(principal=self.principal), (by or self).identity)
