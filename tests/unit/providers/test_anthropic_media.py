import pytest

from callslip.core.message import Attachment, CallMessage, ResultMessage
from callslip.providers.anthropic_media import block_of, is_taken, shown
from callslip.providers.history import Answered, ModelTurn, UserTurn


def attached(data=b"x", media_type="image/png"):
    return Attachment(name="a", media_type=media_type, data=data)


def turn(*attachments):
    call = CallMessage(call_id="c", provider_id="", tool="t", arguments={})
    result = ResultMessage(call_id="c", provider_id="", tool="t", content="", attachments=attachments)
    return ModelTurn(text="", calls=(Answered(id="c", call=call, result=result),), kept=None)


@pytest.mark.requirement("RSLT-04")
@pytest.mark.parametrize(
    ("data", "media_type", "taken"),
    [
        (b"x", "image/png", True),
        (b"x", "image/jpeg", True),
        (b"x", "image/gif", True),
        (b"x", "image/webp", True),
        (b"", "image/png", False),
        (b"x", "image/bmp", False),
        (b"x", "text/plain", False),
        (b"%PDF-1.7", "application/pdf", True),
        (b"PK", "application/pdf", False),
        (b"", "application/pdf", False),
        (bytes(7_864_320), "image/png", True),
        (bytes(7_864_321), "image/png", False),
    ],
)
def test_what_would_be_refused_is_not_taken(data, media_type, taken):
    assert is_taken(attached(data, media_type)) is taken
    assert len(shown([turn(attached(data, media_type))])) == taken


@pytest.mark.requirement("RSLT-04")
def test_of_too_many_the_latest_are_shown():
    conversation = [UserTurn(text="a"), *(turn(attached(), attached()) for _ in range(60))]
    assert shown(conversation) == {(place, 0, position) for place in range(11, 61) for position in range(2)}


@pytest.mark.requirement("RSLT-04")
def test_of_too_large_ones_together_the_latest_are_shown():
    large = attached(bytes(7_000_000))
    assert shown([turn(large, large), turn(large)]) == {(0, 0, 1), (1, 0, 0)}


def test_a_block():
    assert block_of(attached(b"GIF89a", "image/gif")) == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"},
    }
    assert block_of(attached(b"%PDF", "application/pdf"))["type"] == "document"
