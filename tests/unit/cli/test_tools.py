import pytest


@pytest.mark.requirement("OBSV-05")
def test_a_table_of_what_is_bound(project):
    lines = project("tools").stdout.splitlines()
    assert lines[0].split()[:5] == ["TOOL", "RISK", "RECOVERY", "VERSION", "MODEL"]
    row = next(line.split() for line in lines if line.startswith("find_thing"))
    assert row[1:3] == ["read", "idempotent"]
    assert row[4] == "shown"
    listed = project.json("tools")["tools"]
    assert [one["name"] for one in listed][:2] == ["find_thing", "pay"]
    assert set(listed[0]) == {"name", "risk", "recovery", "version", "visibility", "client_owned"}


def test_one_tool_as_the_model_sees_it(project):
    text = project("tools", "pay").stdout
    assert "Pay an amount." in text
    assert '"amount"' in text
    shown = project.json("tools", "pay")
    assert shown["model_sees"]["input_schema"]["properties"]["amount"]["type"] == "integer"
    assert shown["tool"]["risk"] == "write"
    assert "its client" in project("tools", "sign").stdout


def test_wrong_names(project):
    assert "Bound are: find_thing" in project("tools", "gone", code=2).stderr
    assert "--lint alone" in project("tools", "pay", "--lint", code=2).stderr
    assert "--lint alone" in project("tools", "--lint", "--model", "openai:m", code=2).stderr
    assert "anthropic:NAME" in project("tools", "--model", "nobody:m", code=2).stderr
    project.write(
        "said.jsonl", '{"model": "m", "body": {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}}'
    )
    assert "is sent no tools" in project("tools", "--model", "recorded:said.jsonl", code=2).stderr


@pytest.mark.requirement("SPEC-04")
def test_advice(project):
    assert " (missing_parameter_description)" in project("tools", "--lint").stdout
    assert {"code", "tool", "message"} == set(project.json("tools", "--lint")["warnings"][0])


@pytest.mark.requirement("ARGS-05")
def test_advice_from_what_went_wrong(project):
    for number in range(3):
        project("run", 'call pay {"amount": "much"}', "--session", f"s{number}")
    project("run", 'call nope {"a": 1}', "--session", "s")
    told = project("tools", "--lint").stdout
    assert "pay: 3 calls got 'amount' wrong (type): say in its description what is wanted" in " ".join(told.split())
    assert "nope" not in told
    learned = [one for one in project.json("tools", "--lint")["warnings"] if one["code"] == "often_wrong"]
    assert [one["tool"] for one in learned] == ["pay"]


def test_hidden_deferred_and_nothing_to_say(project):
    project.write(
        "own.py",
        "from callslip import Runtime, tool\n"
        "@tool(callable_from=('program',))\ndef inner(): ...\n"
        "@tool(deferred=True)\ndef find_rarity() -> str:\n    '''Find how rare a thing is.'''\n"
        "@tool(risk='read')\ndef list_invoices() -> str:\n    '''List all invoices.'''\n"
        "rt = Runtime(tools=[inner, find_rarity, list_invoices])\nempty = Runtime()\n",
    )
    seen = {one["name"]: one["visibility"] for one in project.json("tools", "--app", "own.py:rt")["tools"]}
    assert seen == {"inner": "hidden", "find_rarity": "deferred", "list_invoices": "shown", "tool_search": "shown"}
    assert "Nothing to say against 2 tools." in project("tools", "--lint", "--app", "own.py:rt").stdout
    assert "No tools are bound" in project("tools", "--app", "own.py:empty").stdout
    assert "(no description)" in project("tools", "inner", "--app", "own.py:rt").stdout


@pytest.mark.requirement("WIRE-03")
def test_as_a_provider_is_told_of_them(project):
    project.write(
        "own.py",
        "from callslip import Runtime, tool\n"
        "@tool(name='files.read', risk='read')\ndef read(path: str, size: int = 3): ...\n"
        "@tool\ndef put(fields: dict[str, str]): ...\n"
        "rt = Runtime(tools=[read, put])\n",
    )
    first, second = project.json("tools", "--app", "own.py:rt", "--model", "openai_responses:m")["tools"]
    assert (first["name"], first["strict"], first["warnings"]) == ("files.read", True, [])
    assert first["sent_as"].startswith("files_read_")
    assert first["schema"]["required"] == ["path", "size"]
    assert (second["sent_as"], second["strict"]) == ("put", False)
    lines = project("tools", "--app", "own.py:rt", "--model", "openai_responses:m").stdout.splitlines()
    assert lines[1].split()[:3] == ["files.read", first["sent_as"], "yes"]
    assert "no   " in lines[2]
    assert "strict is off: fields" in lines[2]
    shown = project("tools", "put", "--app", "own.py:rt", "--model", "openai_responses:m").stdout
    assert "strict is off: fields" in shown
    assert '"additionalProperties"' in shown
    assert "files.read" not in shown


def test_what_no_schema_lacks_has_no_column(project):
    project.write(
        "plain.py",
        "from callslip import Runtime, tool\n@tool(risk='read')\ndef plain(x: str) -> str:\n    '''Say it.'''\n    return x\nrt = Runtime(tools=[plain])\n",
    )
    heading = project("tools", "--app", "plain.py:rt", "--model", "openai:m").stdout.splitlines()[0]
    assert heading == "TOOL   SENT AS  STRICT"
