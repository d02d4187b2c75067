"""Breaks of what may act: files that were not accepted, and imports past the guard."""

from __future__ import annotations

from collections.abc import Sequence

from mutant import Mutant

ACCEPT = "tests/unit/cli/test_accept.py"
IMPORTS = "tests/unit/project/test_imports.py"
CHECKED = "tests/unit/project/test_checked.py"

PROJECT: Sequence[Mutant] = (
    Mutant(
        "GATE-09", "a held project acts", "cli/project.py",
        "if self.held is not None:", "if False:",
        (f"{ACCEPT}::test_a_project_without_an_application_is_held_too",),
    ),
    Mutant(
        "GATE-09", "a changed file counts as accepted", "project/checked.py",
        "if data is not None and now == digest:", "if data is not None:",
        (CHECKED, f"{ACCEPT}::test_a_module_that_a_tool_edits_is_held"),
    ),
    Mutant(
        "GATE-09", "what is needed need not be accepted", "project/checked.py",
        "if name not in accepted:", "if False:",
        (CHECKED, f"{ACCEPT}::test_recorded_replies_are_part_of_it"),
    ),
    Mutant(
        "GATE-09", "the configuration is read again after the check", "cli/project.py",
        "return parse_config(text, folder / FILE), None", "return parse_config((folder / FILE).read_bytes(), folder / FILE), None",
        (f"{ACCEPT}::test_a_file_that_is_swapped_between_check_and_use",),
    ),
    Mutant(
        "GATE-09", "the application is read again after the check", "cli/app.py",
        "spec_of(label, str(path), project.read(path))", "spec_of(label, str(path), path.read_bytes())",
        (f"{ACCEPT}::test_a_file_that_is_swapped_between_check_and_use",),
    ),
    Mutant(
        "GATE-09", "an unaccepted file says where what was accepted stands", "cli/project.py",
        "if accepted.get(FILE) == files.digest(text):", "if True:",
        (f"{ACCEPT}::test_a_forged_state_that_the_configuration_names_is_not_asked",),
    ),
    Mutant(
        "GATE-09", "who looks runs a held application", "cli/app.py",
        "if name is None or given.state is not None or project.held is not None:", "if name is None or given.state is not None:",
        (f"{ACCEPT}::test_a_held_project_can_be_looked_at_spoken_to_and_stopped",),
    ),
    Mutant(
        "GATE-09", "an application keeps its state away from the keys", "cli/app.py",
        "if not standing.advisory and any(", "if standing.advisory and any(",
        (f"{ACCEPT}::test_keys_where_the_application_keeps_its_state_must_have_signed_it",),
    ),
    Mutant(
        "GATE-09", "an import that was refused and done without is forgotten", "cli/app.py",
        "    _check_refused(name, watch.refused[before:], project)\n    return runtime", "    return runtime",
        (f"{ACCEPT}::test_a_refusal_that_the_application_would_do_without_is_still_one",),
    ),
    Mutant(
        "GATE-09", "what is accepted is read again after it was shown", "cli/review.py",
        "{part.root: part.now for part in made.parts if part.changes}",
        "{part.root: files.covered(part.root) for part in made.parts if part.changes}",
        (f"{ACCEPT}::test_what_is_shown_is_what_is_accepted",),
    ),
    Mutant(
        "GATE-09", "without a terminal the answer is taken from whatever comes in", "cli/trust.py",
        "if not sys.stdin.isatty():", "if False:",
        (f"{ACCEPT}::test_without_a_terminal_nobody_is_asked",),
    ),
    Mutant(
        "GATE-09", "bytecode beside the source is read", "project/imports.py",
        "        code: CodeType = self.source_to_code(self._source, self.path)\n        return code",
        "        return super().get_code(fullname)",
        (f"{IMPORTS}::TestBytecode", f"{ACCEPT}::test_a_forged_cache_does_not_run"),
    ),
    Mutant(
        "GATE-09", "a module that was not accepted is imported", "project/imports.py",
        "            self.refuse(spec.name, spec.origin, shut=place.shut)\n", "            return spec\n",
        (f"{IMPORTS}::TestNotAccepted", f"{IMPORTS}::TestWorkspace"),
    ),
    Mutant(
        "GATE-09", "links are not followed to where a file lies", "project/imports.py",
        "dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))", "(os.path.abspath(path),)",
        (f"{IMPORTS}::TestWorkspace", f"{IMPORTS}::TestLinks"),
    ),
    Mutant(
        "GATE-09", "a file's own name does not count, only where it leads", "project/imports.py",
        "dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))", "(os.path.realpath(path),)",
        (f"{IMPORTS}::TestWorkspace", f"{IMPORTS}::TestLinks"),
    ),
    Mutant(
        "GATE-09", "what lies on the disk goes before what was checked", "project/imports.py",
        "            if source is not None:\n                return spec_of(", "            if False:\n                return spec_of(",
        (f"{IMPORTS}::TestBetweenCheckAndUse", f"{IMPORTS}::TestNotAccepted"),
    ),
    Mutant(
        "GATE-09", "Python's own finder looks for itself", "project/imports.py",
        "        sys.path_hooks.insert(0, found.hook)\n", "",
        (f"{IMPORTS}::TestBetweenCheckAndUse",),
    ),
    Mutant(
        "GATE-09", "other finders are not judged", "project/imports.py",
        "                return self.judged(spec)\n        return None", "                return spec\n        return None",
        (f"{IMPORTS}::TestNotAccepted",),
    ),
    Mutant(
        "GATE-09", "the workspace may hold Python's own packages", "project/imports.py",
        "if any(above == mark for spelling in spellings", "if any(False for spelling in spellings",
        (f"{IMPORTS}::TestWorkspace", f"{ACCEPT}::test_pythons_own_packages_in_the_workspace"),
    ),
    Mutant(
        "GATE-09", "a copy that was forged is shown as what was accepted", "project/copies.py",
        "return data if digest(data) == sha256 else None", "return data",
        ("tests/unit/project/test_copies.py",),
    ),
)  # fmt: skip
