"""A key for each session, and the boxes they open: implements ``Vault`` and ``Keyring`` over a place for keys."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Protocol

from callslip.blobs import box
from callslip.errors import Erased, LogBroken, UsageError
from callslip.ports.vault import Keys


class KeyPlace(Protocol):
    """Where keys lie, by whose they are and their number. A destroyed one is empty, and stays."""

    def read(self, of: bytes) -> dict[int, bytes]: ...
    def add(self, of: bytes, number: int, key: bytes) -> bytes:
        """Keep it, durably, unless there is one of that number: the one that is there now."""
        ...

    def blank(self, of: bytes, number: int) -> None: ...


class KeyVault:
    """``encrypts``: whether sessions that have no key get one. Keys are read anew each time: another process may have
    destroyed them.
    """

    def __init__(self, place: KeyPlace, *, encrypts: bool) -> None:
        self._place = place
        self._encrypts = encrypts

    @property
    def encrypts(self) -> bool:
        return self._encrypts

    def protects(self, session: str) -> bool:
        return self._encrypts or bool(self.keys(session))

    def seal(self, session: str, data: bytes) -> bytes:
        number, key = self._latest(session)
        return box.seal(key, box.whose(session), number, data)

    def open(self, boxed: bytes, keys: Keys | None = None) -> bytes:
        of, number = box.label(boxed)
        found = (self._place.read(of) if keys is None else keys).get(number)
        if found is None:
            raise LogBroken(
                f"Key {number} of the session is gone, and it was not destroyed. Nothing was executed. Restore the "
                "folder `keys` of the state folder from a backup."
            )
        if not found:
            raise Erased("This was erased: its key was destroyed.")
        return box.open_box(found, boxed)

    def tag(self, session: str, text: str) -> str:
        live = {number: key for number, key in self.keys(session).items() if key}
        key = live[min(live)] if live else self._latest(session)[1]
        return box.tag(key, text)

    def keys(self, session: str) -> dict[int, bytes]:
        return self._place.read(box.whose(session))

    def take(self, session: str, keys: Keys) -> None:
        there = self.keys(session)
        if any(there.get(number, key) != key for number, key in keys.items()) or set(there) - set(keys):
            raise UsageError(
                f"There are other keys of a session {session!r} here. Nothing was written. They are all that is left "
                "of one that was here before; move the folder `keys` away if you are sure."
            )
        for number, key in keys.items():
            if self._place.add(box.whose(session), number, key) != key:
                raise UsageError(f"Somebody else brings session {session!r} here at this moment. Try again.")

    def renew(self, session: str) -> tuple[int, ...]:
        before = self.keys(session)
        self._begin(session, max(before, default=0) + 1)
        return tuple(number for number, key in before.items() if key)

    def destroy(self, session: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._place.blank(box.whose(session), number)

    def _latest(self, session: str) -> tuple[int, bytes]:
        there = self.keys(session)
        number = max(there, default=0)
        if number and there[number]:
            return number, there[number]
        return number + 1, self._begin(session, number + 1)

    def _begin(self, session: str, number: int) -> bytes:
        return self._place.add(box.whose(session), number, secrets.token_bytes(box.KEY_BYTES))


class MemoryKeys:
    """Keys that end with the process."""

    def __init__(self) -> None:
        self._keys: dict[bytes, dict[int, bytes]] = {}

    def read(self, of: bytes) -> dict[int, bytes]:
        return dict(self._keys.get(of, {}))

    def add(self, of: bytes, number: int, key: bytes) -> bytes:
        return self._keys.setdefault(of, {}).setdefault(number, key)

    def blank(self, of: bytes, number: int) -> None:
        self._keys[of][number] = b""
