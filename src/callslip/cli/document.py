"""Answers in JSON: one document, or one a line, stable keys, safe to look at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from callslip.cli.causes import Said
from callslip.cli.safe_text import visible_json
from callslip.core.wait import Wait
from callslip.ports.ledger import Head


def print_document(value: Any, *, line: bool = False) -> None:
    """Print a JSON document; as one ``line`` where several follow each other."""
    text = json.dumps(value, ensure_ascii=False, indent=None if line else 2, default=_plain)
    click.echo(visible_json(text))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, msgspec.Struct):
        return json.loads(msgspec.json.encode(value))
    return str(value)


def head_document(head: Head, standing: str) -> dict[str, Any]:
    """A session as it stands."""
    return {
        "session": head.session,
        "status": standing,
        "records": head.seq,
        "digest": head.digest.hex(),
        "epoch": head.epoch,
        "woken": head.woken,
        "updated_at": head.updated_at,
        "owner": _plain(head.owner) if head.owner is not None else None,
    }


def wait_document(wait: Wait, said: Mapping[str, Said]) -> dict[str, Any]:
    """An open wait; ``error`` is the last line of what its call's latest attempt failed with, and ``error_of`` the tool
    whose attempt that was.
    """
    found = said.get(wait.id)
    error = {"error": None, "error_of": None} if found is None else {"error": found.words, "error_of": found.tool}
    return {**{name: getattr(wait, name) for name in Wait.__struct_fields__}, **error}
