"""``ask_user``: the model asks the user something, and waits for the answer as it would for any other (CALL-09). ::

    rt = Runtime(tools=[…, ask_user], …)
    await rt.answer(wait, "The blue one.")

A project without code gets it with ``ask_user = true`` in callslip.toml.
"""

from __future__ import annotations

from callslip.sources.functions import tool


@tool(
    risk="read",
    client_owned=True,
    asks_user=True,
    untrusted_fields=(),
    when_not="a tool can find it out, or the user has said it already",
)
def ask_user(question: str, choices: list[str] | None = None) -> str:
    """Ask the user a question, and get their answer in their own words.

    Args:
        question: What you need to know, as a whole sentence. Ask one thing at a time.
        choices: Answers to suggest; the user may give another one.
    """
    raise NotImplementedError  # the user answers
