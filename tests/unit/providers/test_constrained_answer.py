import json

import pytest

from callslip.providers.constrained_answer import AnswerText

WHOLE = '{"reply": {"answer": "a\\nb \\u00e9 \\ud83d\\ude00 \\"c\\" \\\\"}}'
SHOWN = 'a\nb é \U0001f600 "c" \\'


def shown(*pieces):
    answer = AnswerText()
    return "".join(answer.add(piece) for piece in pieces)


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("before", ["", " \n", "```json\n", '<think>Hm, {"reply": {"answer": "no"}}</think>\n'])
def test_only_the_answer_is_shown_however_it_is_cut(before, size):
    text = before + WHOLE + ("\n```" if "`" in before else "")
    assert shown(*(text[at : at + size] for at in range(0, len(text), size))) == SHOWN


def test_every_prefix_shows_a_prefix():
    for size in range(len(WHOLE)):
        assert SHOWN.startswith(shown(WHOLE[:size]))


@pytest.mark.parametrize(
    "opening", ['{"answer": "Hi', '{"reply":{"no_tool_fits":"Hi', '\n{ "reply" : { "answer" : "Hi']
)
def test_other_openings(opening):
    assert shown(opening) == "Hi"


@pytest.mark.parametrize(
    "text",
    [
        '{"reply": {"calls": [{"tool": "say", "arguments": {"answer": "x"}}]}}',
        '{"calls": [{"tool": "say", "arguments": {"reply": {"answer": "' + "x" * 500 + '"}}}]}',
        '[{"tool": "read"}]',
        '{"a": "' + "x" * 500,
        "<think>The answer is " + "x" * 500,
        "{" + " " * 500,
    ],
)
def test_json_and_thoughts_are_never_shown(text):
    assert shown(text) == shown(*text) == ""


@pytest.mark.parametrize(
    "text", ["The answer.", "[1] says so.", "`x` is it.", "```python\nprint(1)\n```", "```" + "a" * 300, "<b>bold</b>"]
)
def test_plain_text_is_shown_as_it_comes(text):
    assert shown(*text) == text
    assert shown("\n\n", text, " and {more}") == f"{text} and {{more}}"
    assert shown("<think>", "Hm", "</think>", text) == text


@pytest.mark.parametrize("odd", ["\\x", "\\u12", "\\ud83d\\u12"])
def test_what_looks_odd_ends_the_showing(odd):
    assert shown('{"reply": {"answer": "ab' + odd + ' and so on"}}').startswith("ab")
    assert "so on" not in shown('{"reply": {"answer": "ab' + odd + ' and so on"}}')


def test_half_a_character_is_no_text():
    assert shown('{"answer": "a\\ud83d and more') == "a\ufffd and more"


def test_a_flood_of_blanks_or_thoughts_is_not_kept():
    answer = AnswerText()
    for _ in range(2000):
        answer.add(" " * 1000)
    assert len(answer._held) == 0
    answer.add("<think>")
    for _ in range(2000):
        answer.add("x" * 1000)
    assert len(answer._held) < 10
    assert answer.add("</think>" + json.dumps({"answer": "Hi"})) == "Hi"
