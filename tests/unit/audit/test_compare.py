import pytest

from callslip.audit.compare import goes_back


@pytest.mark.parametrize(
    ("written", "original"),
    [
        ("a", "a"), ("[redacted]", "secret"), ("a [redacted] b", "a secret b"), ("[redacted]x[redacted]", "1x2"),
        ({"a": ["[redacted]", 1]}, {"a": ["k", 1]}), ((1, "x"), (1, "x")), (None, None), (True, True),
        ({"[redacted]": 1, "[redacted]'": 2}, {"key-one": 1, "key-two": 2}),
        ({"[redacted]": 2, "[redacted]'": 1}, {"key-one": 1, "key-two": 2}),
        ("[redacted]", "[redacted]"), ({}, {}),
    ],
)  # fmt: skip
def test_what_goes_back(written, original):
    assert goes_back(written, original)


@pytest.mark.parametrize(
    ("written", "original"),
    [
        ("a", "b"), ("a [redacted]", "b secret"), ("[redacted]x", "x"), ("a[redacted]b[redacted]c", "a1c"),
        (1, True), (1, 1.0), ({"a": 1}, {"a": 1, "b": 2}), ({"a": 1, "b": 2}, {"a": 1}), ([1], [1, 2]), ("1", 1),
        ({"[redacted]": 3}, {"key": 1}), ({"[redacted]": 1}, {}), ("ab[redacted]bc", "abc"), ("ab[redacted]ab[redacted]c", "ab1c2c"), (None, {}),
    ],
)  # fmt: skip
def test_what_does_not(written, original):
    assert not goes_back(written, original)


def test_it_takes_no_time_over_a_text_made_to_take_it():
    assert not goes_back("[redacted]a" * 20_000 + "b", "a" * 100_000)
