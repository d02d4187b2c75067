"""Breaks of tiers, search and activation."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

SHOWING = "tests/unit/agent/test_showing.py"
ROOM = "tests/unit/core/test_activation.py"
TIERS = "tests/unit/gate/test_tiers.py"
LISTED = "tests/unit/agent/test_inventory.py"
SIBLINGS = "tests/unit/runtime/test_activating.py"
SEARCH = "tests/unit/sources/test_tool_search.py"
FINDER = "tests/unit/routing/test_finder.py"
KILLS = "tests/crash/test_kills_searching.py"

ROUTING: Sequence[Mutant] = (
    Mutant(
        "DEFR-01",
        "deferred tools are shown",
        "gate/catalogue.py",
        "if entry.executor.spec.name not in self.deferred and",
        "if",
        (SHOWING,),
    ),
    Mutant(
        "DEFR-01",
        "what was not shown may be called",
        "gate/pipeline.py",
        "lookup(case.tool, (tool.name for tool in case.visible))",
        "lookup(case.tool, catalogue)",
        (SHOWING,),
    ),
    Mutant(
        "DEFR-01",
        "a pinned tool is deferred",
        "gate/tiers.py",
        " and spec.name not in routing.pinned",
        "",
        (TIERS, SHOWING),
    ),
    Mutant(
        "DEFR-01",
        "the list of what can be found has no bounds",
        "agent/inventory.py",
        "    if _size(lines) > room:\n",
        "    if _size(lines) > room and False:\n",
        (LISTED,),
    ),
    Mutant(
        "DEFR-02",
        "there is always room for one more",
        "core/activation.py",
        "    if tools >= room.tools:",
        "    if tools > room.tools:",
        (ROOM, SHOWING),
    ),
    Mutant(
        "DEFR-02",
        "schemas may be as large as they like",
        "core/activation.py",
        "    if tokens + one.tokens > room.tokens:",
        "    if tokens > room.tokens:",
        (ROOM,),
    ),
    Mutant(
        "DEFR-02",
        "siblings take the same room",
        "runtime/activating.py",
        "        known += siblings",
        "        pass",
        (SIBLINGS,),
    ),
    Mutant(
        "DEFR-02",
        "a search gives as many as it finds",
        "routing/finder.py",
        "    return list(dict.fromkeys(order))[:most]",
        "    return list(dict.fromkeys(order))",
        (FINDER, SHOWING),
    ),
    Mutant(
        "DEFR-03",
        "what was found is forgotten with the next step",
        "core/attempts.py",
        "        state.activated = before | again",
        "        state.activated = again",
        (SHOWING, KILLS),
    ),
    Mutant(
        "DEFR-03",
        "what was found outlives its turn",
        "core/stepping.py",
        "            if state.turn or state.forked is None:\n                state.activated = {}\n",
        "",
        (SHOWING,),
    ),
    Mutant(
        "DEFR-03",
        "a fork loses what its parent's turn had found",
        "core/fold.py",
        "    state.activated = {tool.name: tool.version for tool in event.activated}\n\n",
        "\n",
        (SHOWING,),
    ),
    Mutant(
        "DEFR-03",
        "another version of a tool counts as found",
        "runtime/activating.py",
        "    return [one for one in there if one.version == known[one.name]]",
        "    return list(there)",
        (SHOWING,),
    ),
    Mutant(
        "DEFR-03",
        "what a search found is not on record",
        "runtime/effect.py",
        "if t1.call_id in drive.activating and",
        "if False and",
        (SHOWING, KILLS),
    ),
    Mutant(
        "DEFR-04",
        "the model's plan is not read",
        "agent/showing.py",
        "        words.append(state.step.text)",
        "        pass",
        (SHOWING,),
    ),
    Mutant(
        "DEFR-04",
        "what fits is not recorded as found",
        "core/stepping.py",
        "        state.activated = state.activated | {name: versions[name] for name in event.preselected}",
        "        pass",
        (SHOWING,),
    ),
    Mutant(
        "DEFR-05",
        "nobody is told that nothing fits",
        "sources/tool_search.py",
        "        if match.nothing:",
        "        if False:",
        (SEARCH,),
    ),
    Mutant(
        "DEFR-05",
        "a turn may search as often as it likes",
        "build.py",
        "if bound.finder is not None and budgets.turn.searches is None:",
        "if False:",
        (SHOWING,),
    ),
)
