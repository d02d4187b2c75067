"""Make a good reply faulty, as the script says: first its events, then the bytes they are sent as."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec

from callslip.testing.contract.answers import Streams
from callslip.testing.contract.stream_places import PLACES, Places

Event = tuple[str, dict[str, Any] | str]


class NoSuchFault(ValueError):
    """The format has no place for a fault that the script asks for."""


class Bytes(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as it is sent: its writes, and how it stops."""

    writes: tuple[bytes, ...]
    then: str


def faulty(events: list[Event], faults: Streams, name: str, error: dict[str, Any]) -> Bytes:
    """The bytes of a stream of format ``name``. ``error`` is its body for an error in the middle.

    Raises:
        NoSuchFault: the format has no place for one of the faults.
    """
    places = PLACES[name]
    changed = _changed(copy.deepcopy(events), faults, name)
    if faults.final_twice:
        final = [event for event in changed if isinstance(event[1], dict) and places.is_final(event[1])][-1:]
        changed = [again for event in changed for again in ([event, event] if event in final else [event])]
    if faults.unknown_events:
        changed = [two for event in changed for two in (places.unknown(), event)]
    if faults.error_after is not None:
        changed = [*changed[: faults.error_after], places.error(error)]
    return _as_bytes(changed, faults)


def faulty_body(body: dict[str, Any], faults: Streams, name: str) -> dict[str, Any]:
    """A reply in one piece, with those faults that it has a place for.

    Raises:
        NoSuchFault: as for a stream.
    """
    changed = _changed([("", copy.deepcopy(body))], msgspec.structs.replace(faults, ids=_for_one_piece(faults)), name)
    inside = changed[0][1] if changed else {}
    return inside if isinstance(inside, dict) else {}


def _for_one_piece(faults: Streams) -> Any:
    return "" if faults.ids == "late" else faults.ids


def _changed(events: list[Event], faults: Streams, name: str) -> list[Event]:
    places = PLACES[name]
    if faults.ids == "late" and not places.late_ids:
        raise NoSuchFault(f"In {name} the id of a call stands in one event only, so it can't come late.")
    if faults.indices and not places.indexed:
        raise NoSuchFault(f"Calls of {name} have no index.")
    objects = [data for _, data in events if isinstance(data, dict)]
    if faults.ids == "late":
        _make_ids_late(objects, places)
    elif faults.ids:
        _change_ids(objects, faults.ids, places)
    if faults.indices:
        _change_indices(objects, faults.indices, places)
    if not faults.usage:
        for data in objects:
            for holder, key in list(places.usages(data)):
                holder.pop(key)
        events = [event for event in events if not _is_hollow(event[1])]
    if not faults.finish:
        events = [event for event in events if not isinstance(event[1], dict) or places.unfinish(event[1])]
    return events


def _is_hollow(data: dict[str, Any] | str) -> bool:
    """A chunk that had nothing but the usage."""
    return isinstance(data, dict) and data.get("choices") == []


def _change_ids(objects: list[dict[str, Any]], kind: str, places: Places) -> None:
    found = [place for data in objects for place in places.ids(data)]
    first = next((holder.get(key) for holder, key in found), "")
    value = {"blank": "", "null": "null", "repeated": first}[kind]
    for holder, key in found:
        holder[key] = value


def _make_ids_late(objects: list[dict[str, Any]], places: Places) -> None:
    seen: dict[Any, Any] = {}
    for data in objects:
        for call, value in list(seen.items()):
            place = places.later(data, call)
            if place is not None and value is not None:
                place[0][place[1]] = value
                seen[call] = None
        for holder, key in list(places.ids(data)):
            call = places.call_key(holder, data)
            if call not in seen:
                seen[call] = holder.pop(key)


def _change_indices(objects: list[dict[str, Any]], kind: str, places: Places) -> None:
    for data in objects:
        for holder, key in list(places.indices(data)):
            if kind == "missing":
                holder.pop(key)
            else:
                holder[key] = 0 if kind == "merged" else holder[key] + 1


def _as_bytes(events: list[Event], faults: Streams) -> Bytes:
    rendered = [_render(event, faults) for event in events]
    cut = faults.cut_after is not None or faults.cut_at is not None
    if faults.cut_after is not None:
        kept = rendered[: faults.cut_after]
        half = rendered[faults.cut_after : faults.cut_after + 1] if faults.cut_inside else []
        rendered = [*kept, *(event[: len(event) // 2] for event in half)]
    if faults.cut_at is not None:
        rendered = [b"".join(rendered)[: faults.cut_at]]
    if faults.split is not None:
        whole = b"".join(rendered)
        rendered = [whole[start : start + faults.split] for start in range(0, len(whole), faults.split)]
    return Bytes(writes=tuple(rendered), then=faults.then or ("lost" if cut else "ends"))


def _render(event: Event, faults: Streams) -> bytes:
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    lines = [f"event: {name}"] if name else []
    lines.append(f"data: {text}")
    if faults.comments:
        lines = [": keep-alive", "", *lines]
    end = "\r\n" if faults.crlf else "\n"
    return (end.join(lines) + end + end).encode("utf-8", "replace")
