"""Breaks of what is left: of a call, of a process that was killed, of a write that was not finished."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

CHILD = "tests/unit/sources/test_child.py::TestEnds"
SHARED = "tests/unit/authorities/test_shared.py"
BLOBS = "tests/conformance/test_blobs.py::TestFiles"
LEFT = "tests/unit/testing/test_nothing_left.py"
KILLS = "tests/crash/test_leftovers.py"
CLAIMING = "tests/unit/runtime/test_claiming.py"

LEFTOVERS: Sequence[Mutant] = (
    Mutant(
        "RESI-03", "the end of a tool's process is not seen while something holds its output", "sources/child.py",
        "asyncio.ensure_future(_exit(process))", "asyncio.ensure_future(process.wait())",
        (f"{CHILD}::test_even_when_its_supervisor_is_killed_while_it_is_waited_for",),
    ),
    Mutant(
        "RESI-03", "what a tool's process has started outlives its runtime", "sources/child_supervisor.py",
        "    end_all(worker)\n    with contextlib", "    with contextlib",
        (f"{KILLS}::test_a_tool_in_a_process_of_its_own_leaves_nothing",),
    ),
    Mutant(
        "PARA-03", "who was killed is shown as a holder", "authorities/shared.py",
        "        if ended:\n            table.drop(ended)\n", "",
        (f"{SHARED}::test_nobody_is_shown_that_was_killed_in_the_line",),
    ),
    Mutant(
        "PARA-03", "a claim that outlives its call is not told", "application.py",
        "warnings.warn(said, ResourceWarning, stacklevel=3)", "pass",
        (f"{CLAIMING}::test_a_claim_that_outlives_its_call_is_told_when_the_runtime_is_closed",),
    ),
    Mutant(
        "LEDG-05", "a kill leaves a payload that is half written", "blobs/files.py",
        'NAMELESS: int | None = getattr(os, "O_TMPFILE", None)', "NAMELESS: int | None = None",
        (f"{BLOBS}::test_one_that_is_not_finished_has_no_name_where_that_can_be",),
    ),
    Mutant(
        "LEDG-05", "a full disk keeps what could not be written", "blobs/files.py",
        "            path.unlink(missing_ok=True)\n\n", "            pass\n\n",
        (f"{BLOBS}::test_a_full_disk_says_so_and_leaves_nothing_that_counts",),
    ),
    Mutant(
        "LEDG-01", "of two that open a new folder at once the second is refused", "machine_file.py",
        "if not _is_busy(error) or time.monotonic() > until:", "if error:",
        ("tests/unit/ledgers/test_opening.py",),
    ),
    Mutant(
        "RESI-03", "a process that has lost its parents is not found", "testing/nothing_left.py",
        "if pid in marked or _descends(pid, parents)}", "if _descends(pid, parents)}",
        (f"{LEFT}::test_a_process_that_has_lost_its_parents",),
    ),
    Mutant(
        "RESI-03", "a thread that goes on is not found", "testing/nothing_left.py",
        "if thread not in self._threads)", "if False)",
        (f"{LEFT}::test_a_thread",),
    ),
    Mutant(
        "RESI-03", "a temporary file is not found", "testing/nothing_left.py",
        "sorted(set(_names(self.temporary)) - self._temporary))", "())",
        (f"{LEFT}::test_a_temporary_file",),
    ),
)  # fmt: skip
