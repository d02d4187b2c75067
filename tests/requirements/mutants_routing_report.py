"""Breaks of what is told of how well tools are found."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

JUDGE = "tests/unit/stats/routing/test_judge.py"
CASES = "tests/unit/stats/routing/test_cases.py"
TALLY = "tests/unit/stats/routing/test_routing_tally.py"
READING = "tests/unit/stats/routing/test_reading.py"
PAGE = "tests/unit/cli/test_routing.py"

ROUTING_REPORT: Sequence[Mutant] = (
    Mutant(
        "DEFR-06", "a tool that is offered after its call counts as offered", "stats/routing/judge.py",
        "if offer is None or offer.step > use.step:", "if offer is None:",
        (JUDGE, TALLY),
    ),
    Mutant(
        "DEFR-06", "what a failed search was followed by came with the first", "stats/routing/judge.py",
        "elif any(step < offer.step for step in failed):", "elif False:",
        (JUDGE, TALLY, PAGE),
    ),
    Mutant(
        "DEFR-06", "of several queries, one that found something speaks for all", "stats/routing/turn.py",
        "return tuple(query for query in search.queries if query.nothing and not query.named)", "return ()",
        (f"{JUDGE}::test_a_query_that_found_nothing_makes_late_what_another_search_finds",
         f"{CASES}::test_one_query_of_several_that_found_nothing_teaches_what_was_right"),
    ),
    Mutant(
        "DEFR-06", "what a search's words found was right for what was said", "stats/routing/cases.py",
        "until) and not _by_search(one)]", "until)]",
        (f"{CASES}::test_what_the_words_of_a_search_found_is_not_what_was_right_for_what_was_said",),
    ),
    Mutant(
        "DEFR-06", "every search before another one failed", "stats/routing/judge.py",
        "for search in turn.searches if turn.unmet(search)]", "for search in turn.searches]",
        (JUDGE,),
    ),
    Mutant(
        "DEFR-06", "a search beside another is an earlier one", "stats/routing/judge.py",
        "any(step < offer.step for step in failed)", "any(step <= offer.step for step in failed)",
        (JUDGE,),
    ),
    Mutant(
        "DEFR-06", "what is always shown is offered in vain", "stats/routing/judge.py",
        "            if name in search.pinned:\n                continue\n", "",
        (f"{JUDGE}::test_what_is_always_shown_is_not_offered",),
    ),
    Mutant(
        "DEFR-06", "a turn that goes on has offered in vain", "stats/routing/judge.py",
        "    if not turn.ended:\n        return {}\n", "",
        (JUDGE,),
    ),
    Mutant(
        "DEFR-06", "the last offer counts", "stats/routing/judge.py",
        "        found.setdefault(name, offer)", "        found[name] = offer",
        (JUDGE,),
    ),
    Mutant(
        "DEFR-06", "a name that is asked for is a merit of the search", "stats/routing/judge.py",
        'by: By = "named" if query.named else "found"', 'by: By = "found"',
        (JUDGE, TALLY),
    ),
    Mutant(
        "DEFR-06", "the rank is that of the first query", "stats/routing/turn.py",
        "key=lambda place: (place[1].named, place[0]),", "key=lambda place: place[1].named,",
        (JUDGE,),
    ),
    Mutant(
        "DEFR-06", "offers go on in the next turn", "stats/routing/fold.py",
        'self._active, self._carried, self._plan = set(self._carried), (), ""',
        'self._active, self._carried, self._plan = self._active | set(self._carried), self._carried, ""',
        (JUDGE,),
    ),
    Mutant(
        "DEFR-06", "erased words stay", "stats/routing/fold.py",
        "if sealed or search.addresses & gone:", "if search.addresses & gone:",
        (JUDGE,),
    ),
    Mutant(
        "DEFR-06", "an erased text is a text", "stats/routing/fold.py",
        "if any(one is None or one == TEXT for one in said):", "if any(one is None for one in said):",
        (CASES, READING),
    ),
    Mutant(
        "DEFR-06", "long queries are cut", "stats/routing/fold.py",
        "if not isinstance(asked, list) or len(asked) != len(results):", "if True:",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "calls that were refused since nothing had been shown are not counted", "stats/routing/fold.py",
        "call.turn.used.setdefault(call.tool, Use(step=call.step, unshown=True))", "pass",
        (JUDGE, TALLY, PAGE),
    ),
    Mutant(
        "DEFR-06", "recall forgets what was missed", "stats/routing/tally.py",
        '_JUDGED: frozenset[How] = frozenset({"preselected", "first", "later", "missed"})',
        '_JUDGED: frozenset[How] = frozenset({"preselected", "first", "later"})',
        (TALLY, PAGE),
    ),
    Mutant(
        "DEFR-06", "every rank is among the first five", "stats/routing/tally.py",
        'count["in_front"] += rank <= FIRST', 'count["in_front"] += 1',
        (TALLY,),
    ),
    Mutant(
        "DEFR-06", "words are kept without being asked for", "stats/routing/tally.py",
        "        if self._keep:\n", "        if True:\n",
        (TALLY, PAGE),
    ),
    Mutant(
        "DEFR-06", "a failed search teaches what came before it", "stats/routing/cases.py",
        'return one.how == "later" and one.offer is not None and one.offer.step > search.step',
        'return one.how in {"later", "first"}',
        (f"{CASES}::test_a_search_that_failed_teaches_nothing_of_what_had_come_before",),
    ),
    Mutant(
        "DEFR-06", "all that came later in the turn was right for what was said", "stats/routing/cases.py",
        "    until = turn.said_after(saying.step)\n", "    until = 10**6\n",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "all that came later in the turn was right for a search that led to nothing",
        "stats/routing/cases.py",
        "until = turn.said_after_search(search)", "until = 10**6",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "what a model says as it searches ends the search", "stats/routing/turn.py",
        "return self.said_after(search.step + beside)", "return self.said_after(search.step)",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "what a user says after a search belongs to it", "stats/routing/turn.py",
        "saying.step == search.step + 1 and not saying.by_user", "saying.step == search.step + 1",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "a plan that brought no tool ends nothing", "stats/routing/fold.py",
        'if words != "" or event.preselected:', "if event.preselected:",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "a call that failed labels what was said", "stats/routing/fold.py",
        "if call.runs and event.status is Status.SUCCESS and event.fallback is None:",
        "if call.runs and event.fallback is None:",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "what stood in for a tool labels it right", "stats/routing/fold.py",
        "if call.runs and event.status is Status.SUCCESS and event.fallback is None:",
        "if call.runs and event.status is Status.SUCCESS:",
        (CASES,),
    ),
    Mutant(
        "DEFR-06", "guesses that came to nothing are not told apart", "stats/routing/tally.py",
        'count["missed_in_vain"] += judged.how == "missed" and not turn.served(judged.tool, judged.step)', "pass",
        (TALLY, PAGE),
    ),
    Mutant(
        "DEFR-06", "the page leads to labels that there are not", "cli/routing_page.py",
        "    if found.labelled:\n", "    if found.later or found.missed:\n",
        (PAGE,),
    ),
    Mutant(
        "DEFR-06", "one broken session hides the others", "stats/routing/reading.py",
        "                self.unread.append(head.session)", "                raise",
        (READING,),
    ),
    Mutant(
        "DEFR-06", "turns from before are counted", "stats/routing/reading.py",
        "if turn.finds and (self._since is None or turn.at >= self._since):", "if turn.finds:",
        (READING,),
    ),
    Mutant(
        "DEFR-06", "nobody is told who read the words", "cli/routing.py",
        '            await audit.read_of_payload(runtime.identity().name, session, "*")', "            pass",
        (PAGE,),
    ),
    Mutant(
        "DEFR-06", "everybody may read the file", "cli/fresh_file.py",
        "os.O_CLOEXEC, 0o600)", "os.O_CLOEXEC, 0o644)",
        (PAGE,),
    ),
    Mutant(
        "DEFR-06", "a file is written over", "cli/fresh_file.py",
        "if not force and os.path.lexists(path):", "if False:",
        (PAGE,),
    ),
)  # fmt: skip
