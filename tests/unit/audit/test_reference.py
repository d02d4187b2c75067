"""docs/reference/audit.md names what an entry says and what a verification finds, and nothing else."""

import re
from pathlib import Path
from typing import get_args

from callslip.audit import telling
from callslip.audit.entry import READ, Entry
from callslip.audit.report import Kind

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "audit.md").read_text()


def rows(heading):
    text = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)


def names(heading):
    return [name for row in rows(heading) for name in re.findall(r"`(\w+)`", row)]


def test_every_field():
    assert names("What an entry says") == list(Entry.__struct_fields__)


def test_every_kind():
    silent = {telling._silent, telling._run_started, telling._model_requested, telling._function_call}
    silent.add(telling._wait_opened)
    told = {event.__struct_config__.tag for event, function in telling._TELL.items() if function not in silent}
    assert set(names("What has an entry")) == told | {READ}


def test_every_problem():
    assert names("Verifying") == list(get_args(Kind))
