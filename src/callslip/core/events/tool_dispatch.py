"""T1: committed before the effect may begin."""

from __future__ import annotations

import msgspec

from callslip.core.instead import Instead
from callslip.core.payload import Payload
from callslip.core.tool import Recovery, Risk
from callslip.core.version import Version


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the target looked like before, and what it will look like if the effect takes place."""

    target: str
    before: str
    after: str


class ToolDispatch(msgspec.Struct, frozen=True, kw_only=True, tag="tool_dispatch", tag_field="type"):
    """Everything that recovery needs to judge the call after a crash, as it was at the moment of dispatch."""

    call_id: str
    attempt: int
    nonce: str
    tool: str
    """The tool's own name, after lookup."""
    tool_version: str
    arguments: Payload
    """The final arguments."""
    arguments_digest: str
    idempotency_key: str
    risk: Risk
    recovery: Recovery
    rules: tuple[str, ...]
    """Which policy rules allowed it."""
    approval: str = ""
    """The approval that this T1 uses up, or the grant that covers the call; empty: nobody needed asking."""
    deadline: int
    """Milliseconds since 1970, UTC."""
    quiet_ms: int
    local_effect: bool = False
    client_owned: bool = False
    asks_user: bool = False
    """With ``client_owned``: it is a question to the user."""
    background: bool = False
    """It starts a job: what the attempt gives is the job's handle, and not the call's result."""
    claims: tuple[str, ...] = ()
    waited_ms: int = 0
    """How long it waited for them."""
    waited_for: tuple[str, ...] = ()
    """The calls that held them, or stood in the line before."""
    evidence: Evidence | None = None
    version: Version | None = None
    """Of what its tool says has one: the version that is changed, and which a repeat keeps."""
    instead: Instead | None = None
    """This tool answers in the place of the one that was called."""
    changed: tuple[str, ...] = ()
    """How the proposed arguments were changed before use: repairs of their text by name (``empty``, ``fence``), changed
    values as ``days: "5" → 5``, cut short. The raw text stands in the proposal."""
