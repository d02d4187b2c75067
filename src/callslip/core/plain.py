"""Give any Python value a JSON form. Total: it never raises, whatever a tool returns.

What has no JSON form becomes tagged text (``{"$text": "…", "$type": "…"}``) or, for bytes, a blob; the log can then
always hold the fact that the effect happened. Every substitution is named in ``Plain.notes``.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import reprlib
import sys
import uuid
from collections.abc import Mapping, Set as AbstractSet
from typing import Any

import msgspec

from callslip.core import canon

MAX_DEPTH = 100
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 500
_TEXTUAL = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, uuid.UUID, pathlib.PurePath)


class Plain(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON value, the raw bytes found in it (referred to as ``{"$blob": "sha256:…"}``), and what was changed."""

    value: Any
    blobs: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()


def to_plain(value: Any) -> Plain:
    """The JSON form of any value at all."""
    walk = _Walk()
    plain = walk.visit(value, 0)
    return Plain(value=plain, blobs=tuple(walk.blobs), notes=tuple(sorted(walk.notes)))


class _Walk:
    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.notes: set[str] = set()
        self.open: set[int] = set()

    def visit(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self.text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if canon.integer_fits(value) else self.tagged(value, "integer over 1,000 digits")
        if kind is float:
            return value if math.isfinite(value) else self.tagged(value, "not a finite number")
        if depth > MAX_DEPTH:
            return self.tagged(value, "nested too deeply")
        if id(value) in self.open:
            return self.tagged(value, "refers to itself")
        self.open.add(id(value))
        try:
            return self.compound(value, depth)
        except Exception as error:  # noqa: BLE001 - a hostile __iter__ or property must not hide that the effect happened
            return self.tagged(value, f"unreadable: {type(error).__name__}")
        finally:
            self.open.discard(id(value))

    def compound(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
            return [self.visit(item, depth + 1) for item in value]
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.blob(bytes(value))
        if isinstance(value, enum.Enum):
            return self.visit(value.value, depth + 1)
        if isinstance(value, bool | int | float):
            return self.visit(int(value) if isinstance(value, int) else float(value), depth + 1)
        if isinstance(value, str):
            return self.text(str.__str__(value))
        if _is_model(value):
            return self.visit(value.model_dump(mode="python"), depth + 1)
        if isinstance(value, msgspec.Struct):
            return self.visit(msgspec.structs.asdict(value), depth + 1)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return self.visit(fields, depth + 1)
        if hasattr(value, "_asdict"):
            return self.visit(value._asdict(), depth + 1)
        if isinstance(value, _TEXTUAL):
            return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
        if isinstance(value, AbstractSet):
            return self.unordered(value, depth)
        return self.tagged(value, "no JSON form")

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, item in value.items():
            name = self.text(key if type(key) is str else str(key.value if isinstance(key, enum.Enum) else key))
            while name in plain:
                self.notes.add("keys that became equal were renamed")
                name += "'"
            plain[name] = self.visit(item, depth + 1)
        return plain

    def unordered(self, value: AbstractSet[Any], depth: int) -> list[Any]:
        # A set has no order of its own; its canonical text gives it one that two processes agree on.
        items = [self.visit(item, depth + 1) for item in value]
        return sorted(items, key=canon.canonical)

    def text(self, value: str) -> str:
        if canon.has_surrogate(value):
            self.notes.add("lone surrogates replaced")
            return canon.scrub(value)
        return value

    def blob(self, data: bytes) -> dict[str, Any]:
        self.blobs.append(data)
        return {"$blob": f"sha256:{canon.digest(data)}", "$size": len(data)}

    def tagged(self, value: Any, why: str) -> dict[str, Any]:
        self.notes.add(why)
        try:
            text = hex(value) if type(value) is int else _REPR.repr(value)
        except Exception:  # noqa: BLE001 - a hostile __repr__
            text = "?"
        return {"$text": canon.scrub(text), "$type": type(value).__name__}


def _is_model(value: Any) -> bool:
    """A pydantic model. Without pydantic loaded there is none, and this is no reason to load it."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(value, pydantic.BaseModel)
