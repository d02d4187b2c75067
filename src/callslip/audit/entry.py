"""An entry of the audit, and the line that binds it to all before it.

A line is one JSON object: ``n``, ``prev``, ``entry`` and, last, ``detail``. What is hashed is the line without its
detail; the entry names the detail's size and SHA-256. So a detail, which may hold what was handed to a tool, can be
erased later, and the chain still verifies. ``digest(n) = SHA-256(digest(n-1) || core(n))`` with raw 32-byte digests.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from callslip.core import canon
from callslip.errors import LogBroken

GENESIS = hashlib.sha256(b"callslip audit 1\n").digest()
"""The digest before the first entry."""
READ = "payload_read"
"""The one kind of entry that stands for no record of the log."""
TURNING = "session_imported"
"""Of a log that was put back to an earlier state: entries before it may tell of records that are there no more."""
_JOINT = b',"detail":'
_ERASED = b"null"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact, as it stands in the log: who, what, when, why. Times are milliseconds since 1970, UTC; what does not
    apply is left out.
    """

    at: int
    kind: str
    """The event's type; or ``payload_read``."""
    session: str
    seq: int = 0
    """Position of the record in the session's log; 0: none."""
    digest: str = ""
    """Of that record, hex: it binds the entry to the log as it was."""

    requester: str = ""
    """In whose name the session runs."""
    actor: str = ""
    """Who did it: the principal or account that answered or asked; of what a run did itself, its owner's id."""
    on_behalf_of: str = ""
    key: str = ""
    """Public key that the actor's answer names as the signer's; empty: it was not signed."""
    uid: int | None = None
    """The operating system's account that the actor answered from."""
    process: str = ""
    """Where the run takes place: host and process."""

    call: str = ""
    parent: str = ""
    """The call whose program made this one."""
    undoes: str = ""
    """The earlier call that this one undoes."""
    step: str = ""
    tool: str = ""
    version: str = ""
    attempt: int | None = None
    arguments_digest: str = ""
    """SHA-256, hex, of the exact arguments."""
    arguments_blob: str = ""
    """Their address, where they are kept beside the log."""
    rules: tuple[str, ...] = ()
    approval: str = ""
    """The approval, or the grant, that is asked for, given or used up."""
    grant: str = ""
    """The grant that was given together with an approval."""
    approved_by: tuple[str, ...] = ()
    wait: str = ""
    decision: str = ""
    """What was answered: ``approved``, ``denied``, a verdict, how a wait ended."""
    message: tuple[int, ...] = ()
    """Positions of the user messages that the step answers."""

    status: str = ""
    effect: str = ""
    code: str = ""
    said: str = ""
    """The reason given, or the error as it was told."""
    output: str = ""
    """Address (SHA-256) of the result, or of the user's words; also when it stands in the log itself."""
    output_size: int | None = None
    """Bytes of it."""
    evidence: tuple[str, ...] = ()
    """Addresses of what else was kept of the call."""
    duration_ms: int | None = None

    protected: bool = False
    """The session's words and payloads are encrypted, and are not in the audit."""
    detail_sha256: str = ""
    detail_size: int = 0


WORDS = ("requester", "actor", "on_behalf_of", "step", "tool", "code", "said", "decision", "process")
"""Fields that hold words of people, models or tools, and are cleaned of secrets."""
LISTS_OF_WORDS = ("rules", "approved_by")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line as it is read."""

    n: int
    prev: str
    entry: Entry
    detail: msgspec.Raw = msgspec.Raw(b"")
    v: int = 1


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A line that has been taken apart."""

    line: Line
    core: bytes
    detail: bytes

    @property
    def digest(self) -> bytes:
        """Of the chain up to this line."""
        return hashlib.sha256(bytes.fromhex(self.line.prev) + self.core).digest()

    @property
    def erased(self) -> bool:
        """There was a detail, and it has been taken away on purpose."""
        return bool(self.line.entry.detail_size) and self.detail.strip() == _ERASED

    @property
    def detail_altered(self) -> bool:
        return not self.erased and canon.digest(self.detail) != (self.line.entry.detail_sha256 or canon.digest(b""))

    def values(self) -> dict[str, Any]:
        """The detail's values; none when it was erased."""
        return dict(canon.parse(self.detail) or {}) if self.detail else {}


class _Core(msgspec.Struct, frozen=True, kw_only=True):
    n: int
    prev: str
    entry: Entry
    v: int = 1


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


def write(entry: Entry, detail: bytes, *, n: int, prev: bytes) -> tuple[bytes, bytes]:
    """The line, without its end, and the digest of the chain with it. ``detail`` is JSON text, or empty."""
    if detail:
        entry = msgspec.structs.replace(entry, detail_sha256=canon.digest(detail), detail_size=len(detail))
    core = _encoder.encode(_Core(n=n, prev=prev.hex(), entry=entry))
    digest = hashlib.sha256(prev + core).digest()
    return (core[:-1] + _JOINT + detail + b"}" if detail else core), digest


def read(text: bytes) -> Read:
    """Take a line apart.

    Raises:
        LogBroken: it is none.
    """
    line = _decode(text)
    size = line.entry.detail_size
    if not size:
        return Read(line=line, core=text, detail=b"")
    begin = len(text) - 1 - size
    joint = begin - len(_JOINT)
    if joint < 1 or text[joint:begin] != _JOINT:
        raise LogBroken(f"Line {line.n} of the audit has another detail than it says.")
    core = text[:joint] + b"}"
    # What is not hashed must not be able to say anything of the entry.
    if _decode(core).entry != line.entry:
        raise LogBroken(f"Line {line.n} of the audit says two things at once.")
    return Read(line=line, core=core, detail=text[begin:-1])


def _decode(text: bytes) -> Line:
    try:
        line = _decoder.decode(text)
        bytes.fromhex(line.prev)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise LogBroken(f"A line of the audit can't be read ({error}).") from error
    return line


def blank(size: int) -> bytes:
    """What takes the place of an erased detail of that size."""
    return _ERASED + b" " * (size - len(_ERASED))
