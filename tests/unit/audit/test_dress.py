"""Details as they stand in the book: canonical and without secrets, however the log spells them."""

import msgspec
import pytest

from callslip.audit.dress import Remembering, dress
from callslip.audit.story import begin
from callslip.audit.telling import Told
from callslip.blobs.memory import MemoryBlobs
from callslip.core.event import Record
from callslip.core.events.stop_requested import StopRequested
from callslip.core.payload import Payload
from callslip.runtime.redact import Redactor

pytestmark = pytest.mark.anyio
SECRET = "hunter2-hunter2"


async def detail(text: bytes) -> bytes:
    record = Record(at=1, by="anna", epoch=1, event=StopRequested(actor="anna"), run="r")
    told = Told(entry=begin("s").entry(record), details=(("arguments", Payload(text=msgspec.Raw(text))),))
    return (await dress(told, MemoryBlobs(), Redactor([SECRET])))[1]


async def test_what_is_canonical_stays_as_it_is():
    assert await detail(b'{"a":[1,2.5,"x"],"b":null}') == b'{"arguments":{"a":[1,2.5,"x"],"b":null}}'


@pytest.mark.parametrize("text", [b'{"a":\n1}', b'{"a":\r1}'])
async def test_a_forged_text_begins_no_line(text):
    assert await detail(text) == b'{"arguments":{"a":1}}'


@pytest.mark.parametrize("text", [SECRET.encode(), SECRET.replace("h", "\\u0068").encode()])
async def test_no_spelling_of_a_secret_is_kept(text):
    assert await detail(b'{"a":"' + text + b'"}') == b'{"arguments":{"a":"[redacted]"}}'


def test_words_that_come_again_are_looked_at_once():
    looked = []

    class Cleaner:
        def clean(self, text):
            looked.append(text)
            return text.replace(SECRET, "[redacted]")

    cleaner = Remembering(Cleaner())
    said = ["free", "free", f"a {SECRET}", f"a {SECRET}", "long" * 1000, "long" * 1000]
    assert [cleaner.clean(text) for text in said] == [text.replace(SECRET, "[redacted]") for text in said]
    assert looked == ["free", *said[2:]]
