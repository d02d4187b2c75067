import itertools

import pytest
from hypothesis import given, strategies as st

from callslip.providers.sse import Event, EventReader


def read(*pieces):
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    last = reader.end()
    return events if last is None else [*events, last]


def data(*pieces):
    return [event.data for event in read(*pieces)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending(end):
    assert read(b"data: a" + end + end + b"data: b" + end + end) == [Event(data="a"), Event(data="b")]


def test_the_space_after_the_colon_is_optional_and_only_one_is_taken():
    assert data(b"data:a\n\ndata:  b\n\n") == ["a", " b"]


def test_data_lines_are_joined():
    assert data(b"data: a\ndata\ndata: b\n\n") == ["a\n\nb"]


def test_comments_ids_and_unknown_fields_make_no_event():
    assert data(b": ping\n\nid: 4\nretry: 10\nwhat: ever\n\n:\n\ndata: a\n\n") == ["a"]


def test_the_name_belongs_to_its_own_event_alone():
    assert read(b"event: error\ndata: a\n\ndata: b\n\n") == [Event(data="a", name="error"), Event(data="b")]


def test_a_name_without_data_makes_no_event_and_is_forgotten():
    assert read(b"event: error\n\ndata: b\n\n") == [Event(data="b")]


def test_a_byte_order_mark_at_the_start_alone():
    assert data(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == ["a"]


def test_an_event_without_its_blank_line_is_marked():
    assert read(b"data: a\n\ndata: b\n") == [Event(data="a"), Event(data="b", unfinished=True)]
    assert read(b"data: b") == [Event(data="b", unfinished=True)]


def test_what_is_not_utf_8_is_replaced():
    assert data(b"data: a\xff\n\n") == ["a\ufffd"]


def test_carriage_return_and_line_feed_in_two_pieces_are_one_line_end():
    assert read(b"data: a\r", b"\ndata: b\r", b"", b"\n", b"\r\n") == [Event(data="a\nb")]


@given(
    st.lists(
        st.sampled_from([b"data: x", b"data:\xc3\xa9", b"event: e", b": c", b"\n", b"\r", b"\r\n", b""]), max_size=20
    ),
    st.lists(st.integers(0, 80), max_size=10),
)
def test_where_the_bytes_are_cut_means_nothing(parts, cuts):
    stream = b"".join(parts)
    places = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(places)]
    assert read(*pieces) == read(stream) == read(*(bytes([byte]) for byte in stream))
