"""Breaks of who may use what: the rules, which file a path means, the line of one process and of all."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

UNIT = "tests/unit/authorities"
RULES = f"{UNIT}/test_rules.py"
RESOURCES = f"{UNIT}/test_resources.py"
MEMORY = f"{UNIT}/test_memory.py"
TABLE = f"{UNIT}/test_table.py"
SHARED = f"{UNIT}/test_shared.py"
FILE = "tests/unit/test_machine_file.py"
CLAIM = "tests/unit/core/test_claim.py"
MODEL = "tests/property/test_leases.py"
CLAIMING = "tests/unit/runtime/test_claiming.py"

AUTHORITIES: Sequence[Mutant] = (
    Mutant(
        "PARA-02", "readers pass by a writer that waits", "authorities/rules.py",
        "        if self._taken.meets(ticket.claims):\n            self._taken.add(ticket.claims)\n",
        "        if self._taken.meets(ticket.claims):\n",
        (f"{RULES}::test_a_reader_waits_behind_a_waiting_writer", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-02", "what is granted at a time is not held against the next", "authorities/rules.py",
        "        self.granted.append(ticket)\n        self._taken.add(ticket.claims)\n",
        "        self.granted.append(ticket)\n",
        (f"{RULES}::test_in_the_order_they_came", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-04", "who waits for a slot bars its files", "authorities/rules.py",
        "        if patient:\n            self._taken.add(ticket.claims)\n            self._queued.update(slots)\n",
        "        self._taken.add(ticket.claims)\n        if patient:\n            self._queued.update(slots)\n",
        (f"{RULES}::test_who_waits_for_a_slot_bars_nobody_from_a_file_or_from_another_slot", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-04", "who waits for a slot bars other slots", "authorities/rules.py",
        "        if patient:\n            self._taken.add(ticket.claims)\n            self._queued.update(slots)\n",
        "        self._queued.update(slots)\n        if patient:\n            self._taken.add(ticket.claims)\n",
        (f"{RULES}::test_who_waits_for_a_slot_bars_nobody_from_a_file_or_from_another_slot", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-04", "patience has no end", "authorities/rules.py",
        "patient = self._now - ticket.since >= PATIENCE", "patient = False",
        (f"{RULES}::test_patience_ends", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-02", "one more than the capacity", "authorities/rules.py",
        "self._used[name] >= capacity.at_once", "self._used[name] > capacity.at_once",
        (f"{RULES}::test_only_so_many_at_once_and_one_without_limit_always", f"{MODEL}::TestInProcess"),
    ),
    Mutant(
        "PARA-02", "a rate is never spent", "authorities/rules.py",
        "Bucket(bucket.left - 1, bucket.at)", "Bucket(bucket.left, bucket.at)",
        (f"{RULES}::test_a_rate_is_spent_and_fills_up", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-02", "a clock that steps back fills a rate twice", "authorities/rules.py",
        "return Bucket(left, self.at + passed)", "return Bucket(left, now)",
        (f"{RULES}::test_a_clock_that_steps_back_gives_nothing_and_no_time_twice",),
    ),
    Mutant(
        "PARA-04", "nobody decides when time has made a place", "authorities/rules.py",
        "            self._look_again(max(known))\n", "            pass\n",
        (f"{RULES}::test_a_rate_is_spent_and_fills_up", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-02", "what is in a tree is free", "authorities/taken.py",
        "            or _bars(self._trees, claim.above, claim)\n", "",
        (f"{RULES}::test_what_is_in_a_tree_and_what_is_above", f"{MODEL}::TestInProcess"),
    ),
    Mutant(
        "PARA-02", "a tree is taken though somebody is in it", "authorities/taken.py",
        "            or (claim.kind is Kind.TREE and _bars(self._above, claim.ids, claim))\n", "",
        (f"{RULES}::test_what_is_in_a_tree_and_what_is_above", f"{MODEL}::TestInProcess"),
    ),
    Mutant(
        "PARA-02", "a reader hides a writer", "authorities/taken.py",
        "names[name] = names.get(name, False) or alone", "names[name] = alone",
        (f"{RULES}::test_a_reader_beside_a_writer_hides_nothing", f"{MODEL}::TestRules"),
    ),
    Mutant(
        "PARA-02", "the next one is not told", "authorities/memory.py",
        "        if self._woken:\n            self._decide()\n", "        if self._woken:\n            pass\n",
        (f"{MODEL}::TestInProcess",),
    ),
    Mutant(
        "PARA-02", "the quick look forgets trees above", "authorities/memory.py",
        "any(name in self._ids for name in (*claim.ids, *claim.above))", "any(name in self._ids for name in claim.ids)",
        (f"{MODEL}::TestInProcess",),
    ),
    Mutant(
        "PARA-02", "the quick look forgets what is in a tree", "authorities/memory.py",
        "            or (claim.kind is Kind.TREE and any(name in self._above for name in claim.ids))\n", "",
        (f"{MODEL}::TestInProcess",),
    ),
    Mutant(
        "PARA-02", "links are not followed", "authorities/resources.py",
        "                self.linked = True\n", "                pass\n",
        (f"{RESOURCES}::test_one_file_by_whatever_name",),
    ),
    Mutant(
        "PARA-02", "hard links are two files", "authorities/resources.py",
        "            self.ids.append(_inode(seen))\n", "",
        (f"{RESOURCES}::test_one_file_by_whatever_name",
         f"{RESOURCES}::test_a_hard_link_that_was_made_meanwhile_is_the_same_file"),
    ),
    Mutant(
        "PARA-02", "case tells files apart", "authorities/resources.py",
        "return name.lower()", "return name",
        (f"{RESOURCES}::test_one_file_by_whatever_name",),
    ),
    Mutant(
        "PARA-02", "a folder is claimed without what is in it", "authorities/resources.py",
        "            self.folder = self.folder or stat.S_ISDIR(seen.st_mode)\n", "",
        (f"{RESOURCES}::test_one_file_by_whatever_name",),
    ),
    Mutant(
        "PARA-02", "a new file is known by its name only", "authorities/resources.py",
        "        self.ids += [inode + self._folded[length:] for inode, length in existing]\n", "",
        (f"{RESOURCES}::test_a_folder_that_stands_in_two_places_is_known_by_what_it_is",),
    ),
    Mutant(
        "PARA-02", "a path that is too long costs what it likes", "authorities/resources.py",
        "if len(name) * 4 > _LONGEST and len(os.fsencode(name)) > _LONGEST:", "if False:",
        (f"{RESOURCES}::test_a_path_longer_than_there_can_be_is_everything",),
    ),
    Mutant(
        "PARA-02", "a list of paths is one path", "core/claim.py",
        "isinstance(value, list | tuple)", "isinstance(value, set)",
        (f"{CLAIM}::test_templates_are_filled_with_the_arguments",),
    ),
    Mutant(
        "PARA-02", "a path loses its spaces", "core/claim.py",
        "name.strip() if kind == Kind.SLOT else name", "name.strip()",
        (f"{CLAIM}::test_a_claim_is_taken_apart", f"{RESOURCES}::test_what_is_not_the_same_is_told_apart"),
    ),
    Mutant(
        "PARA-03", "whoever leaves tells nobody", "authorities/table.py",
        "[(number,) for number in numbers])\n            self._decide(self._now())\n",
        "[(number,) for number in numbers])\n",
        (f"{MODEL}::TestManyProcesses",),
    ),
    Mutant(
        "PARA-03", "the dead are dropped and nobody is told", "authorities/table.py",
        "for owner in ended])\n            self._decide(self._now())\n", "for owner in ended])\n",
        (f"{MODEL}::TestManyProcesses",),
    ),
    Mutant(
        "PARA-03", "when time makes a place is known to one process only", "authorities/table.py",
        '        self._db.execute("update watch set due = ?1 where due is not ?1", (due,))\n', "",
        (f"{TABLE}::test_when_time_alone_makes_a_place_everybody_knows",
         f"{SHARED}::test_a_place_that_time_makes_is_not_missed_when_the_one_before_is_gone"),
    ),
    Mutant(
        "PARA-03", "a deleted file is used on", "machine_file.py",
        "same = self._found() == self._inode", "same = True",
        (f"{FILE}::TestUsing", f"{TABLE}::test_a_file_that_was_deleted_meanwhile_is_not_used"),
    ),
    Mutant(
        "PARA-03", "a failed transaction stays open", "machine_file.py",
        '            if self.db.in_transaction:\n                self.db.execute("rollback")\n', "",
        (f"{FILE}::TestUsing",),
    ),
    Mutant(
        "PARA-03", "whoever opens it waits for nobody", "machine_file.py",
        "check_same_thread=False, timeout=_OPENING)", "check_same_thread=False, timeout=0)",
        (f"{FILE}::TestOpening",),
    ),
    Mutant(
        "PARA-03", "where no boot id tells, what was held before a reboot still is", "authorities/table.py",
        "if swept > self._now():", "if swept is None:",
        (f"{TABLE}::test_where_the_kernel_tells_no_boot_a_clock_that_began_anew_empties_the_file",),
    ),
    Mutant(
        "PARA-03", "everybody looks after the dead", "authorities/table.py",
        "            if at - swept < every:\n", "            if False:\n",
        (f"{TABLE}::test_one_of_all_looks_after_the_dead",
         f"{SHARED}::test_all_processes_look_after_the_dead_once_in_a_time"),
    ),
    Mutant(
        "PARA-03", "all starts of the kernel share a file", "machine_file.py",
        "{boot.replace('-', '')[:12]}", "",
        (f"{FILE}::TestStartsOfTheKernel",
         f"{SHARED}::test_what_was_held_before_a_reboot_is_void"),
    ),
    Mutant(
        "PARA-03", "what the dead held stays held", "authorities/shared.py",
        "if self._owners.liveness(owner) in _GONE]", "if False]",
        (f"{SHARED}::test_what_the_dead_held_is_free_after_one_sweep",),
    ),
    Mutant(
        "PARA-03", "what the children of a dead process use is taken", "authorities/shared.py",
        "frozenset({Liveness.LOCK_FREE, Liveness.REBOOTED})",
        "frozenset({Liveness.LOCK_FREE, Liveness.REBOOTED, Liveness.STILL_RUNNING})",
        (f"{SHARED}::test_nothing_is_taken_from_whoever_may_go_on",),
    ),
    Mutant(
        "PARA-03", "one that gave up gets its place all the same", "authorities/shared.py",
        "                self._leave_patiently(ticket.number)\n", "                pass\n",
        (f"{SHARED}::test_one_that_gives_up_while_the_file_is_busy_for_long_is_gone_at_once",),
    ),
    Mutant(
        "PARA-03", "a place that was just taken is nobody's", "authorities/shared.py",
        "            number = entering.give_up()\n", "            entering.give_up()\n            number = None\n",
        (f"{SHARED}::test_one_that_gives_up_just_after_its_place_was_taken_gives_it_back",),
    ),
    Mutant(
        "PARA-03", "a release in a busy file is forgotten", "authorities/shared.py",
        "            self._thread.submit(self._leave_patiently, number)\n", "            pass\n",
        (f"{SHARED}::test_a_release_while_the_file_is_busy_comes_after",),
    ),
    Mutant(
        "PARA-03", "what could not be given back never is", "authorities/shared.py",
        "            self._owed.add(number)  # it", "            pass  # it",
        (f"{SHARED}::test_what_could_not_be_given_back_is_given_back_later",),
    ),
    Mutant(
        "PARA-03", "a forked child gives back what its parent holds", "authorities/shared.py",
        "if self._closed or os.getpid() != self._process:  # what", "if self._closed:  # what",
        (f"{SHARED}::test_a_forked_child_is_somebody_of_its_own",),
    ),
    Mutant(
        "PARA-03", "closing keeps what was held", "authorities/shared.py",
        "                self._patient.leave(sorted(self._places))\n", "                pass\n",
        (f"{SHARED}::test_closing_gives_everything_up_and_tells_who_waits",),
    ),
    Mutant(
        "PARA-04", "whoever is judged first comes first", "runtime/claiming.py",
        "        await self._drive.order.earlier(self._holder.call_id)\n", "",
        (f"{CLAIMING}::test_the_models_order_holds_however_long_each_is_judged",),
    ),
    Mutant(
        "PARA-02", "a link that leads elsewhere by now is held as it was", "runtime/claiming.py",
        "if [one.ids[0] for one in now] == [one.ids[0] for one in claims]:", "if now is not None:",
        (f"{CLAIMING}::test_a_path_that_leads_elsewhere_meanwhile_is_claimed_anew",),
    ),
    Mutant(
        "PARA-04", "who has waited is not judged again", "runtime/dispatch.py",
        "            if held.waited:  # the", "            if False:  # the",
        (f"{CLAIMING}::test_who_has_waited_is_judged_again",),
    ),
    Mutant(
        "PARA-02", "a tool's own limit is not kept", "runtime/claiming.py",
        'limited = (f"slot:{own}",) if own in drive.parts.capacities else ()', "limited: tuple[str, ...] = ()",
        (f"{CLAIMING}::test_only_so_many_at_once",),
    ),
    Mutant(
        "PARA-04", "who waits beside an unlimited service bars it", "authorities/rules.py",
        "        if capacity is None:\n            return 0.0\n        if name in self._queued:\n            return None\n",
        "        if name in self._queued:\n            return None\n        if capacity is None:\n            return 0.0\n",
        ("tests/unit/authorities/test_rules.py::test_one_without_limit_is_free_however_long_somebody_waits_beside_it",),
    ),
)  # fmt: skip
