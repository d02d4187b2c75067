"""Breaks of what refuses a declaration that means nothing, and of what is said where things go wrong."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

CLAIM = "tests/unit/core/test_claim.py"
SPEC = "tests/unit/core/test_declared.py"
CATALOGUE = "tests/unit/gate/test_catalogue.py"
RETRY = "tests/unit/core/test_retry.py"
RETRYING = "tests/unit/runtime/test_retrying.py"
RAISED = "tests/unit/core/test_raised.py"
SHARED = "tests/unit/authorities/test_shared.py"

DECLARED: Sequence[Mutant] = (
    Mutant(
        "PARA-02",
        "a claim that is nearly a reader's protects nothing",
        "core/claim.py",
        "if near := _NEARLY_READ.match(rest):",
        "if (near := _NEARLY_READ.match(rest)) and False:",
        (f"{CLAIM}::test_what_is_nearly_a_claim_is_none", f"{CATALOGUE}::TestDeclarations"),
    ),
    Mutant(
        "PARA-02",
        "File: is a name of its own",
        "core/claim.py",
        "    if word != meant:\n",
        "    if word != meant and False:\n",
        (f"{CLAIM}::test_what_is_nearly_a_claim_is_none",),
    ),
    Mutant(
        "PARA-02",
        "a field that is no argument is filled with nothing",
        "core/claim.py",
        "if name not in known]",
        "if False]",
        (f"{CLAIM}::test_what_is_nearly_a_claim_is_none", f"{SPEC}::test_what_means_nothing_is_said"),
    ),
    Mutant(
        "SPEC-01",
        "a text is a sequence of one-letter claims",
        "core/declared.py",
        "    if isinstance(value, str):\n",
        "    if False:\n",
        (f"{SPEC}::test_what_means_nothing_is_said", f"{CATALOGUE}::TestDeclarations"),
    ),
    Mutant(
        "SPEC-01",
        "tools that are no functions are believed",
        "gate/catalogue.py",
        "wrong = declared.complaint(spec)",
        "wrong = None and declared.complaint(spec)",
        (f"{CATALOGUE}::TestDeclarations",),
    ),
    Mutant(
        "PARA-06",
        "tools may need each other",
        "gate/catalogue.py",
        "if spec.name in first:",
        "if False:",
        (f"{CATALOGUE}::TestDeclarations::test_tools_that_need_each_other_could_never_be_called",),
    ),
    Mutant(
        "SPEC-03",
        "a tool that names another is no whole tool by itself",
        "cli/checks_of_app.py",
        "parts = parts_of(executor)",
        "parts = list(Catalogue([executor]).parts())",
        ("tests/unit/cli/test_doctor.py::test_a_tool_that_names_others_is_whole_where_they_are_there",),
    ),
    Mutant(
        "PARA-04",
        "a capacity may say nothing",
        "ports/authority.py",
        "if self.at_once is None and self.calls is None:",
        "if False:",
        ("tests/unit/authorities/test_rules.py::test_a_capacity_that_nobody_could_use_is_refused",),
    ),
    Mutant(
        "RESI-01",
        "whoever asks to be left alone for years may be called again",
        "core/retry.py",
        'return self.why == "asked" and not (self.asked or 0.0) <= LONGEST',
        "return False",
        (
            f"{RETRY}::test_for_how_long_it_asks_to_be_left_alone",
            f"{RETRYING}::test_whoever_asks_to_be_left_alone_for_years_is_not_called_again",
        ),
    ),
    Mutant(
        "RESI-01",
        "a fraction of a second is rounded down",
        "core/retry_after.py",
        "float(math.ceil(number))",
        "float(math.floor(number))",
        ("tests/unit/core/test_fault.py",),
    ),
    Mutant(
        "OBSV-01",
        "of an error the last line is shown",
        "core/raised.py",
        'first = lines[0].strip() if lines else ""',
        'first = lines[-1].strip() if lines else ""',
        (f"{RAISED}::test_the_first_line_of_the_message",),
    ),
    Mutant(
        "OBSV-01",
        "of a long error the beginning is lost",
        "runtime/outcome.py",
        "    if not whole.endswith(own):\n",
        "    if True:\n",
        (f"{RETRYING}::test_of_a_long_error_the_beginning_is_recorded",),
    ),
    Mutant(
        "PARA-03",
        "a process that is gone is shown as if it lived",
        "authorities/shared.py",
        "gone=ticket.holder.owner in gone)",
        "gone=False)",
        (f"{SHARED}::test_a_process_that_is_gone_while_its_child_holds_is_shown_as_gone",),
    ),
    Mutant(
        "PARA-03",
        "what is held is counted from the line's end",
        "authorities/table.py",
        "held_since=max(granted, since) if granted else None",
        "held_since=since if granted else None",
        (f"{SHARED}::test_since_when_it_is_held_is_known_to_every_process", "tests/conformance/test_authorities.py"),
    ),
    Mutant(
        "PARA-03",
        "in one process, too",
        "authorities/memory.py",
        "ticket.granted, ticket.held_since = True, now",
        "ticket.granted = True",
        ("tests/conformance/test_authorities.py",),
    ),
    Mutant(
        "RESI-06",
        "a turn may have no tokens at all",
        "core/budget.py",
        "                if getattr(self, name) == 0:\n",
        "                if False:\n",
        ("tests/unit/agent/test_budgets.py::test_a_turn_with_nothing_at_all_is_refused_where_it_is_set",),
    ),
    Mutant(
        "OBSV-02",
        "a tool that was not called since is said never to have been",
        "cli/stats.py",
        "before = since is not None and not found.tools",
        "before = False",
        ("tests/unit/cli/test_stats.py::test_a_tool_that_was_not_called_since_then_is_no_error",),
    ),
)
