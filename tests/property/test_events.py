import typing

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from callslip.core import canon
from callslip.core.event import PROTOCOL, Event, Record, draft, genesis, link, read
from callslip.errors import LogBroken

EVENTS = typing.get_args(Event)


@pytest.mark.requirement("LEDG-01")
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_drafted_is_read(any_of, kind, data):
    event = data.draw(any_of(kind))
    made = draft(event, at=1, by="o\ud800", epoch=1, run="r")
    assert read(made.text, 1) == made.record
    assert read(made.text, 1).event == made.record.event
    assert draft(made.record.event, at=1, by=made.record.by, epoch=1, run="r").text == made.text


@pytest.mark.requirement("LEDG-06")
@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_bytes_that_are_no_record_are_refused_by_position(text):
    with pytest.raises(LogBroken) as caught:
        read(text, 7)
    assert caught.value.seq == 7
    assert "7" in str(caught.value)


@pytest.mark.requirement("LEDG-06")
@given(st.data(), st.sampled_from(EVENTS), st.integers(PROTOCOL + 1, 99))
def test_a_newer_version_is_refused_by_name(any_of, data, kind, version):
    record = Record(at=1, by="o", epoch=1, event=data.draw(any_of(kind)), run="r", v=version)
    with pytest.raises(LogBroken, match=f"version {version}"):
        read(draft_text(record), 7)


def draft_text(record):
    made = draft(record.event, at=record.at, by=record.by, epoch=record.epoch, run=record.run)
    return made.text.replace(b'"v":1}', b'"v":%d}' % record.v)


@pytest.mark.requirement("LEDG-06")
@given(st.text(min_size=1, max_size=20), st.integers(1, 9))
def test_an_unknown_event_is_refused_by_name(name, version):
    text = msgspec.json.encode(
        {"at": 1, "by": "o", "epoch": 1, "event": {"type": "x" + name}, "run": "r", "v": version}
    )
    with pytest.raises(LogBroken, match="version"):
        read(text, 3)


@pytest.mark.requirement("LEDG-01")
@given(st.lists(st.binary(max_size=30), max_size=6), st.lists(st.binary(max_size=30), max_size=6), st.text(), st.text())
def test_a_chain_binds_texts_order_and_session(one, two, session, other):
    def chain(name, texts):
        digest = genesis(name)
        for text in texts:
            digest = link(digest, text)
        return digest

    session, other = canon.scrub(session), canon.scrub(other)
    assert (chain(session, one) == chain(other, two)) == (session == other and one == two)
