"""What a tool is: everything that is known of it without running it (SPEC-01).

A :class:`ToolSpec` is data. What runs it stands beside it in ``sources/`` as an executor.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from callslip.core import canon


class Risk(StrEnum):
    """What a call can do to the world. Undeclared means dangerous."""

    READ = "read"
    WRITE = "write"
    DANGEROUS = "dangerous"


class Recovery(StrEnum):
    """How a call whose outcome is unknown may be concluded (docs/adr/0004). Undeclared means never."""

    IDEMPOTENT = "idempotent"
    """Calling again with the same idempotency key has the effect at most once."""
    PROBE = "probe"
    """The tool can be asked whether a call with a given key happened."""
    EVIDENCE = "evidence"
    """Digests of the target before and after, taken before the dispatch, tell whether it happened."""
    NEVER = "never"
    """Nothing can tell; a person decides."""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's declaration. Durations are in milliseconds."""

    name: str
    description: str = ""
    """What it does and when to use it."""
    when_not: str = ""
    """When *not* to use it; shown to the model after the description."""
    category: str = ""
    tags: tuple[str, ...] = ()
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None
    examples: tuple[dict[str, Any], ...] = ()
    """Example arguments; each must be valid by ``input_schema``."""
    tag: str = ""
    """Implementation tag: change it when the code changes so that old and new calls must not be mixed."""
    risk: Risk = Risk.DANGEROUS
    recovery: Recovery = Recovery.NEVER
    timeout_ms: int = 60_000
    quiet_ms: int = 30_000
    """How long after its caller's end a request that was already sent may still take effect."""
    local_effect: bool = False
    """The effect ends with the process (a file, not a network request): no quiet period is waited for."""
    callable_from: tuple[str, ...] = ("model",)
    """``model`` and, only if declared, ``program``."""
    requires: tuple[str, ...] = ()
    """Tools that must have succeeded earlier in the session."""
    claims: tuple[str, ...] = ()
    """Resources a call needs alone, as templates over its arguments, e.g. ``file:{path}``."""
    allowed_paths: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    identity_arguments: tuple[str, ...] = ()
    """Arguments that name whom or what the effect concerns: recipient, account, path, URL."""
    secret_arguments: tuple[str, ...] = ()
    """Arguments in which ``secret://name`` is replaced by that secret as the tool is run."""
    normalise: dict[str, str | dict[str, str]] = {}
    """How arguments are brought into form before they are judged: by name ``relative_date``, ``path``, ``list``, or a
    mapping from other words to values. An argument inside an object is ``stay.from``."""
    untrusted_fields: tuple[str, ...] = ("*",)
    """Fields of the result that a third party may have written."""
    sandbox: str = "none"
    """The least sandbox tier the tool needs."""
    deferred: bool = False
    """Found by search instead of shown from the start; a pinned tool is ``False``."""
    client_owned: bool = False
    """Runs at the client: the call is handed out and answered by ``submit``."""
    asks_user: bool = False
    """With ``client_owned``: its client is the user. The call is a question, and its result the user's own words."""
    background: bool = False
    """Running it starts a job and gives a handle, by which the job is asked after until it has ended (SPEC-06)."""
    background_timeout_ms: int | None = None
    """How long the job may take, from its start; ``None``: for ever. ``timeout_ms`` is the start's own."""
    poll_after_ms: int = 5_000
    """When the job is asked after for the first time; then after twice as long, unless its tool says when."""
    fallback: str | None = None
    """The tool that answers, to the same arguments, when this one fails without having had an effect (RESI-05)."""
    cached_fallback_ms: int | None = None
    """Of a tool that only reads: how old an earlier answer may be that is given when it fails; ``None``: none is."""
    hedge_after_ms: int | None = None
    """Of a tool that only reads: after how long without an answer it is executed a second time; ``None``: never."""
    breaker: bool = True
    """Whether nobody calls it for a while when it keeps failing (RESI-04)."""
    target: str = ""
    """What it reaches, as a template over its arguments, e.g. ``{host}``: each is left alone by itself."""
    compensation: str | None = None
    versioned: bool = False
    """What it changes has a version, which its executor can ask for (PARA-02)."""
    expects: str = ""
    """With ``versioned``: the argument in which the caller says which version it has seen."""

    @property
    def version(self) -> str:
        """Short SHA-256 of what a caller or a policy could notice: stands in every T1 (SPEC-05)."""
        relevant = {
            "allowed_hosts": list(self.allowed_hosts),
            "allowed_paths": list(self.allowed_paths),
            "asks_user": self.asks_user,
            "background": self.background,
            "callable_from": list(self.callable_from),
            "claims": list(self.claims),
            "client_owned": self.client_owned,
            "description": canon.scrub(self.description),
            "identity_arguments": list(self.identity_arguments),
            "input_schema": self.input_schema,
            "local_effect": self.local_effect,
            "name": self.name,
            "output_schema": self.output_schema,
            "quiet_ms": self.quiet_ms,
            "recovery": self.recovery.value,
            "requires": list(self.requires),
            "risk": self.risk.value,
            "sandbox": self.sandbox,
            "secret_arguments": list(self.secret_arguments),
            "tag": self.tag,
            "untrusted_fields": list(self.untrusted_fields),
            "when_not": canon.scrub(self.when_not),
        }
        if self.normalise:  # which most tools don't have: their versions are what they were before there was any
            relevant["normalise"] = self.normalise
        if self.versioned:
            relevant["versioned"] = self.expects
        return canon.digest(canon.canonical(relevant))[:16]
