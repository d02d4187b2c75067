"""``callslip doctor``: what this installation and this project are made of, and what is wrong with them."""

from __future__ import annotations

import click

from callslip.cli import look
from callslip.cli.checks_of_app import check_application
from callslip.cli.checks_of_audit import check_audit
from callslip.cli.checks_of_notices import check_notices
from callslip.cli.checks_of_routing import check_index
from callslip.cli.checks_of_state import check_state
from callslip.cli.checks_of_system import check_system, check_workspace
from callslip.cli.checks_of_trust import check_trust
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.failure import DONE, ERROR
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line


@command
@click.option("--model", metavar="NAME", help="Look whether this one could be asked, instead of the project's.")
async def doctor(given: Given, model: str | None) -> int:
    """Check Python, SQLite, the project, its state folder, log and audit, who may answer, who is told, the model's
    settings, each tool's registration, and how tools are found.

    Changes nothing and asks nothing of any network. Exit code 1 if something is wrong.
    """
    found = check_system()
    application = check_application(given, model)
    found += application.findings
    if application.state is not None:
        of_state = await check_state(application.state, application.workspace)
        found += of_state
        if application.finds is not None and not any(one.level == "bad" for one in of_state[:1]):
            found += check_index(application.state, application.finds)
    config = application.config
    anchor, folder = (config.audit.anchor, application.folder) if config is not None else ("", None)
    found += check_audit(application.state, anchor, folder)
    found += check_notices(config.notify) if config is not None else []
    found += check_trust(application.state, application.workspace)
    found += check_workspace(application.workspace)
    wrong = sum(finding.level == "bad" for finding in found)
    if given.as_json:
        checks = [{"check": one.subject, "level": one.level, "detail": one.detail} for one in found]
        print_document({"ok": not wrong, "checks": checks})
        return ERROR if wrong else DONE
    subject = max(look.width(one.subject) for one in found)
    for one in found:
        head = f"{look.mark(one.level)} {look.pad(one_line(one.subject), subject)}  "
        look.hang(head, one.detail, dim=one.level == "ok")
    verdict = f"{wrong} thing{'s' if wrong != 1 else ''} to put right." if wrong else "Nothing is wrong."
    look.say(f"\n{verdict}", bold=True)
    return ERROR if wrong else DONE
