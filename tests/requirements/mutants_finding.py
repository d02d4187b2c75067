"""Breaks of what users and models are told around the search for tools."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

LISTED = "tests/unit/agent/test_inventory.py"
NEAR = "tests/unit/core/test_near_names.py"
FINDER = "tests/unit/routing/test_finder.py"
SEARCH = "tests/unit/sources/test_tool_search.py"
FORMS = "tests/unit/schema/test_normalise.py"
SHOWING = "tests/unit/agent/test_showing.py"
ROOM = "tests/unit/gate/test_room.py"
DOCTOR = "tests/unit/cli/test_doctor_routing.py"
MISSED = "tests/unit/cli/test_routing.py"
SHOW = "tests/unit/cli/test_show.py"
LINT = "tests/unit/schema/test_lint.py"

FINDING: Sequence[Mutant] = (
    Mutant(
        "DEFR-01",
        "a category may begin a line of its own in the prompt",
        "agent/inventory.py",
        '    text = " ".join(text.split())\n',
        "",
        (LISTED,),
    ),
    Mutant(
        "DEFR-01",
        "what hides in a category stays hidden in the prompt",
        "agent/inventory.py",
        '"Cc", "Cf", "Cs",',
        '"Cc", "Cs",',
        (LISTED,),
    ),
    Mutant(
        "DEFR-01",
        "one category takes the room of the others",
        "agent/inventory.py",
        "    return text if len(text) <= most else",
        "    return text if True else",
        (LISTED,),
    ),
    Mutant(
        "DEFR-01",
        "nobody is told how many tools every request shows",
        "cli/checks_of_routing.py",
        "shown.tools > routing.more_than or shown.tokens > routing.tokens",
        "shown.tokens > routing.tokens",
        (DOCTOR,),
    ),
    Mutant(
        "DEFR-01",
        "nobody is told how much pinned schemas take",
        "cli/checks_of_routing.py",
        "shown.tools > routing.more_than or shown.tokens > routing.tokens",
        "shown.tools > routing.more_than",
        (DOCTOR,),
    ),
    Mutant(
        "DEFR-02",
        "names that no tool has are passed over",
        "routing/by_name.py",
        "missing = [name for name in names if not self._names.named([name], server)]",
        "missing = []",
        (FINDER,),
    ),
    Mutant(
        "DEFR-02",
        "a name at another server is not near",
        "core/near_names.py",
        "    return max(_ratio(wanted.whole, one.whole), _OF_ITS_OWN * own)",
        "    return _ratio(wanted.whole, one.whole)",
        (NEAR,),
    ),
    Mutant(
        "DEFR-02",
        "all names are compared letter by letter",
        "core/near_names.py",
        "heapq.nlargest(_LOOKED_AT, self._known",
        "heapq.nlargest(len(self._known), self._known",
        (NEAR,),
    ),
    Mutant(
        "DEFR-02",
        "any name is near",
        "core/near_names.py",
        "for rating, name in rated if -rating >= _NEAR)",
        "for rating, name in rated)",
        (NEAR,),
    ),
    Mutant(
        "DEFR-02",
        "an endless list of unknown names is repeated whole",
        "routing/by_name.py",
        "for name in missing[:_MOST_UNKNOWN])",
        "for name in missing)",
        (FINDER,),
    ),
    Mutant(
        "DEFR-02",
        "tools that were asked for by name are left off in silence",
        "routing/finder.py",
        "    left = [hit.id for hit in chosen if hit.id not in kept]\n",
        "    left: list[str] = []\n",
        (FINDER,),
    ),
    Mutant(
        "DEFR-02",
        "a server's name finds nothing",
        "routing/ranker.py",
        "if of := self._of_server(query, server, without):",
        "if of := []:",
        (FINDER,),
    ),
    Mutant(
        "DEFR-02",
        "a server's name hides the tool that is named so",
        "routing/by_name.py",
        "return {} if not there or self._names.named([query.strip()]) else there",
        "return there",
        (FINDER,),
    ),
    Mutant(
        "DEFR-02",
        "another server's tools are found for a server's name",
        "routing/ranker.py",
        "            if server is not None and name != server:\n                continue\n",
        "",
        (FINDER,),
    ),
    Mutant(
        "DEFR-02",
        "a server has to be written as it is",
        "sources/tool_search.py",
        "server.casefold() == named.strip().casefold()",
        "server == named",
        (SEARCH,),
    ),
    Mutant(
        "DEFR-02",
        "one of two servers is guessed",
        "sources/tool_search.py",
        "        if len(same) == 1:\n",
        "        if same:\n",
        (SEARCH,),
    ),
    Mutant(
        "DEFR-02",
        "a tool that is too large is not told of",
        "gate/room.py",
        "if one.tokens > routing.tokens)",
        "if False)",
        (ROOM, DOCTOR),
    ),
    Mutant(
        "DEFR-02",
        "a tool that just fits is said to be too large",
        "gate/room.py",
        "if one.tokens > routing.tokens)",
        "if one.tokens >= routing.tokens)",
        (ROOM, DOCTOR),
    ),
    Mutant(
        "ARGS-02",
        "a query without its list is refused",
        "sources/tool_search.py",
        '        normalise={"queries": "list"},\n',
        "",
        (SHOWING,),
    ),
    Mutant(
        "ARGS-02",
        "a list inside a string becomes one text",
        "schema/normalise.py",
        "    return None if not bare or bare[0] in _JSON else [text]",
        "    return None if not bare else [text]",
        (FORMS,),
    ),
    Mutant(
        "ARGS-02",
        "each item of a list becomes a list",
        "schema/normalise.py",
        "items=how != LIST)",
        "items=True)",
        (FORMS,),
    ),
    Mutant(
        "DEFR-04",
        "a damaged index passes for a good one",
        "cli/checks_of_routing.py",
        "    if index.unread:\n",
        "    if False:\n",
        (DOCTOR,),
    ),
    Mutant(
        "DEFR-04",
        "damaged vectors pass for good ones",
        "cli/checks_of_routing.py",
        '    if sound != "ok":\n',
        "    if False:\n",
        (DOCTOR,),
    ),
    Mutant(
        "DEFR-04",
        "a damaged index is a fault",
        "cli/checks_of_routing.py",
        '        return warn("tool index", f"{path.name} can\'t',
        '        return bad("tool index", f"{path.name} can\'t',
        (DOCTOR,),
    ),
    Mutant(
        "DEFR-05",
        "the log does not note that nothing fitted",
        "sources/tool_search.py",
        "    if nothing:\n",
        "    if False:\n",
        (SEARCH, SHOW),
    ),
    Mutant(
        "DEFR-05",
        "the log does not note what had no room",
        "sources/tool_search.py",
        '        notes.append(f"no room for',
        '        str(f"no room for',
        (SEARCH, SHOW),
    ),
    Mutant(
        "DEFR-05",
        "a search without a name does not say what to write",
        "routing/ranker.py",
        "            return NO_NAMES\n",
        "            pass\n",
        (FINDER,),
    ),
    Mutant(
        "DEFR-06",
        "what was missed is shown as it steers a terminal",
        "cli/document.py",
        "    click.echo(visible_json(text))",
        "    click.echo(text)",
        (MISSED,),
    ),
    Mutant(
        "DEFR-06",
        "whoever has the words shown does not stand in the audit",
        "cli/routing.py",
        "        await _audited(runtime, (case.session for case in kept))",
        "        pass",
        (MISSED,),
    ),
    Mutant(
        "SPEC-04",
        "tools that have to be found count as visible",
        "schema/lint.py",
        "sum(not tool.deferred for tool in tools)",
        "len(tools)",
        (LINT,),
    ),
)
