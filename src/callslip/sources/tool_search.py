"""The tool by which a model finds others (DEFR-02): names come back, and their schemas with the next step.

A call like any other: judged, dispatched, recorded, counted against the budget of searches. It reads nothing but what
is bound, and permits nothing: what it finds is judged anew when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callslip.core import alias
from callslip.core.activation import Admission
from callslip.core.counting import SEARCH
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.near_names import NearNames
from callslip.core.routing import SELECT, selects
from callslip.core.tool import Recovery, Risk, ToolSpec
from callslip.errors import ToolDefinitionError
from callslip.ports.context import Context
from callslip.ports.executor import ProbeAnswer
from callslip.ports.finder import Finder, Findings, Matches, Unknown

MOST_QUERIES = 5
_ECHO = 200
"""Characters of a query that its result repeats."""
_NAMED = 20
"""Servers that are named where one was asked for that is none."""
_NEAR = 3
_LOOKED_AT = 2_000
"""Servers that are looked through for one that is near: 20 ms."""
_NOTED = 3
"""Tools without room that are named in the log's note."""
_DESCRIPTION = (
    "Finds tools that you have but are not shown yet, by what they do.\n"
    "Give one query for each thing you need, in a few words of your own, such as 'refund a payment'. Names come back, "
    "and you can call those tools from your next step on. If you know a tool's name, the query "
    f"'{SELECT}NAME' finds exactly that one. When nothing fits, it says so: then there is no such tool."
)


def spec(most_queries: int = MOST_QUERIES) -> ToolSpec:
    """Its declaration."""
    return ToolSpec(
        name=SEARCH,
        description=_DESCRIPTION,
        category="tools",
        input_schema={
            "type": "object",
            "properties": {
                "queries": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "maxItems": most_queries,
                    "description": f"What is needed, each thing by itself; or {SELECT}NAME[,NAME].",
                },
                "server": {
                    "type": "string",
                    "description": "Only tools of this server, which is what stands before the dot in a tool's name.",
                },
            },
            "required": ["queries"],
            "additionalProperties": False,
        },
        normalise={"queries": "list"},
        risk=Risk.READ,
        recovery=Recovery.IDEMPOTENT,
        local_effect=True,
        untrusted_fields=(),
        breaker=False,
    )


class ToolSearch:
    """An executor. ``most``: tools that one call gives at most."""

    def __init__(self, finder: Finder, most: int) -> None:
        self.spec = spec()
        self.version = self.spec.version
        self.identity = "callslip:tool_search"
        self._finder = finder
        self._most = most

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        return None

    async def prepare(self, arguments: Mapping[str, Any]) -> Evidence | None:
        return None

    async def run(self, arguments: Mapping[str, Any], context: Context) -> dict[str, Any]:
        server, note = self._server(arguments.get("server") or "")
        findings = await self._finder.search(arguments["queries"], self._most, server=server)
        findings = msgspec.structs.replace(findings, matches=tuple(map(_with_itself, findings.matches)))
        wanted = dict.fromkeys(name for match in findings.matches for name in match.tools)
        admission = context.activate(_in_turns(findings, wanted), _named(findings))
        context.notes = (*context.notes, *_notes(findings, admission))
        return _said(findings, admission, " ".join(filter(None, (note, findings.trouble))))

    def _server(self, named: str) -> tuple[str, str]:
        """Where to search: everywhere, with a note, if there is no such server. Models fill in what may be left out,
        and write what they fill in as they like.
        """
        servers = self._finder.servers
        if not named or named in servers:
            return named, ""
        same = [server for server in servers if server.casefold() == named.strip().casefold()]
        if len(same) == 1:
            return same[0], ""
        near = same[:_NEAR] or NearNames(servers[:_LOOKED_AT]).near(named, _NEAR)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        known = ", ".join(servers[:_NAMED]) + (", …" if len(servers) > _NAMED else "")
        there = f" The servers are: {known}." if known else ""
        return "", f"There is no server {named[:_ECHO]!r}, so all tools were searched.{meant}{there}"

    async def probe(self, arguments: Mapping[str, Any], context: Context) -> ProbeAnswer:
        return ProbeAnswer(happened=None)

    async def digest(self, target: str) -> str:
        raise ToolDefinitionError(f"{SEARCH} changes nothing, so there is no target to look at.")


def _with_itself(match: Matches) -> Matches:
    """The search is no tool that has to be found, so no index has it; whoever asks for it is shown it already."""
    others = tuple(one for one in match.unknown if not _is_search(one.name))
    if len(others) == len(match.unknown):
        return match
    said = f"You are shown {SEARCH} already."
    return msgspec.structs.replace(
        match, tools=(*match.tools, SEARCH), unknown=others, nothing="", note=" ".join(filter(None, (match.note, said)))
    )


def _is_search(name: str) -> bool:
    return name.casefold() == SEARCH or alias.digest_in(name) == alias.digest(SEARCH)


def _in_turns(findings: Findings, wanted: Mapping[str, None]) -> list[str]:
    """The best of each query first, then the second of each: where room is short, every need gets something."""
    place = {name: len(wanted) for name in wanted}
    for match in findings.matches:
        for at, name in enumerate(match.tools):
            place[name] = min(place[name], at)
    return sorted(wanted, key=lambda name: place[name])


def _named(findings: Findings) -> frozenset[str]:
    """The tools that a query asks for by name, and not by what they do."""
    return frozenset(name for one in findings.matches for name in _asked_for(one))


def _asked_for(match: Matches) -> tuple[str, ...]:
    if selects(match.query):
        return match.tools
    bare = match.query.strip()
    if bare in match.tools:
        return (bare,)
    first = match.tools[:1]
    return first if first and _means(bare, first[0]) else ()


def _means(bare: str, name: str) -> bool:
    """Whether that is the name in another spelling, such as ``payRefund``, or its alias. Several words are none."""
    if not bare or any(map(str.isspace, bare)):
        return False
    return _letters(bare) == _letters(name) != "" or alias.digest_in(bare.casefold()) == alias.digest(name)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _said(findings: Findings, admission: Admission, note: str) -> dict[str, Any]:
    """For the model: names, never schemas."""
    results: list[dict[str, Any]] = []
    for match in findings.matches:
        query = match.query if len(match.query) <= _ECHO else match.query[:_ECHO] + "…"
        said: dict[str, Any] = {"query": query, "tools": list(match.tools)}
        if match.nothing:
            said["nothing_fits"] = match.nothing
        if match.nearest:
            said["nearest"] = list(match.nearest)
        if match.unknown:
            said["not_found"] = [_unknown(one) for one in match.unknown]
        if match.left_off:
            said["left_off"] = list(match.left_off)
        if match.more_left_off:
            said["more_left_off"] = match.more_left_off
        if match.note:
            said["note"] = match.note
        results.append(said)
    answer: dict[str, Any] = {"results": results, "callable_from_next_step": list(admission.visible)}
    if admission.refused:
        answer["not_shown"] = _not_shown(admission)
    if any(match.left_off for match in findings.matches):
        note = f"A search gives only so many tools. Search again for what was left off. {note}".strip()
    if note:
        answer["note"] = note
    return answer


def _not_shown(admission: Admission) -> list[dict[str, Any]]:
    """Each reason once, with the tools that it holds for."""
    reasons: dict[str, list[str]] = {}
    for one in admission.refused:
        reasons.setdefault(one.why, []).append(one.name)
    return [{"tools": names, "why": why} for why, names in reasons.items()]


def _notes(findings: Findings, admission: Admission) -> tuple[str, ...]:
    """For whoever reads the log: what the search did not find, and what it could not show."""
    notes = []
    nothing, queries = sum(bool(match.nothing) for match in findings.matches), len(findings.matches)
    if nothing:
        notes.append("nothing fitted" if nothing == queries else f"nothing fitted {nothing} of {queries} queries")
    unknown = sum(len(match.unknown) + match.more_unknown for match in findings.matches)
    if unknown:
        notes.append(f"{unknown:,} name{'' if unknown == 1 else 's'} that no tool has")
    if admission.visible and not admission.activated:
        notes.append("what was found was shown already")
    if admission.refused:
        names = [one.name for one in admission.refused]
        more = f" and {len(names) - _NOTED} more" if len(names) > _NOTED else ""
        notes.append(f"no room for {', '.join(names[:_NOTED])}{more}")
    return tuple(notes)


def _unknown(one: Unknown) -> dict[str, Any]:
    return {"name": one.name, "near": list(one.near)} if one.near else {"name": one.name}
