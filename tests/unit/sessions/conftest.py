"""Logs in a ledger in memory, without any tool."""

from __future__ import annotations

import pytest

from callslip.build import Settings, build_parts
from callslip.core.event import Draft
from callslip.ports.ledger import Owner


@pytest.fixture
def parts():
    return build_parts(Settings(executors=(), state=None))


@pytest.fixture
def keep(parts):
    """Put a made log into the ledger."""

    async def kept(log, after: int = 0) -> None:
        owner = Owner(id="own", host="h", boot="b", process=1)
        for text, stored in list(zip(log.texts, log.records, strict=True))[after:]:
            record = stored.record
            heads = await parts.ledger.heads(log.session)
            epoch = heads[0].epoch if heads else 0
            if record.epoch > epoch:
                await parts.ledger.claim(log.session, owner, expected_epoch=epoch, at=record.at)
            draft = [Draft(record=record, text=text)]
            if record.epoch:
                await parts.ledger.append(log.session, draft, epoch=record.epoch)
            else:
                await parts.ledger.decide(log.session, draft, expected=stored.seq - 1)

    return kept
