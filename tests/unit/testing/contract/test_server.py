"""The server over a real socket: routes, refusals, the script, every answer."""

from __future__ import annotations

import contextlib
import json
import threading
from datetime import UTC, datetime

import httpx2
import pytest

from callslip.testing.contract.answers import (
    Closes,
    Delays,
    Fails,
    Floods,
    Hangs,
    Html,
    RateLimited,
    Sends,
    Streams,
    WrongKey,
)
from callslip.testing.contract.compatible import Compatible
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer, ScriptError

CHATS = ["openai_chat", "mistral", "compatible"]
FORMATS = [*CHATS, "openai_responses"]


def body_for(name, **more):
    conversation = (
        {"input": "Pay."} if name == "openai_responses" else {"messages": [{"role": "user", "content": "Pay."}]}
    )
    return {"model": "m", **conversation, **more}


def path_for(name):
    return "/responses" if name == "openai_responses" else "/chat/completions"


def post(server, name="openai_chat", *, headers=None, content=None, **more):
    url = server.url(name) + path_for(name)
    if content is None:
        content = json.dumps(body_for(name, **more)).encode()
    # Plain HTTP: the system's certificates, which take 20 ms to read, are of no use.
    return httpx2.post(url, content=content, headers=headers, timeout=20, verify=False)


def said_in(name, reply):
    if name == "openai_responses":
        return "".join(part["text"] for item in reply["output"] for part in item.get("content", []))
    return reply["choices"][0]["message"]["content"]


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_a_url_and_answers_in_its_own_form(name):
    with ContractServer([Says("Hello.")]) as server:
        response = post(server, name)
    assert response.status_code == 200
    assert said_in(name, response.json()) == "Hello."
    assert [(seen.format, seen.violations) for seen in server.seen] == [(name, ())]
    assert server.seen[0].body == body_for(name)


def test_a_path_without_a_formats_name_goes_to_the_first_that_knows_it():
    with ContractServer([Says("Hello.")]) as server:
        root = server.url("openai_chat").removesuffix("/openai_chat/v1")
        assert httpx2.post(f"{root}/v1/responses", json=body_for("openai_responses")).json()["object"] == "response"
        assert httpx2.post(f"{root}/v1/embeddings", json={}).status_code == 404
        assert httpx2.get(f"{root}/mistral/v1/models").status_code == 404
    assert len(server.seen) == 1


def test_an_unknown_format_is_named():
    with ContractServer(formats=[Compatible]) as server, pytest.raises(KeyError, match="speaks compatible, and not"):
        server.url("openai_chat")


def test_a_format_may_be_given_as_it_is():
    with ContractServer([Says("x")], formats=[Compatible(alternating=True)]) as server:
        twice = [{"role": "user", "content": "x"}] * 2
        assert post(server, "compatible", messages=twice).status_code == 400


@pytest.mark.parametrize("name", FORMATS)
def test_a_broken_rule_is_refused_whatever_the_script_says_and_takes_no_answer_of_it(name):
    with ContractServer([Says("Hello.")]) as server:
        refused = post(server, name, tools=[{"type": "function"}])
        assert refused.status_code in (400, 422)
        assert post(server, name).status_code == 200
    assert [len(seen.violations) > 0 for seen in server.seen] == [True, False]
    assert {violation.rule for violation in server.violations} == {"tool_shape"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nothing",
        b"[]",
        b'{"model": "m\xff"}',
        b'{"model": NaN}',
        b'{"model": "m", "model": "n"}',
        b"[" * 100_000,
        b'{"model": "m"',
    ],
)
def test_what_is_no_json_object_is_refused(content):
    with ContractServer([Says("Hello.")]) as server:
        response = post(server, content=content)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert [violation.rule for violation in server.violations] == ["not_json"]
    assert server.seen[0].body == content


def test_the_script_is_followed_in_order_and_ends_with_500():
    with ContractServer([Says("One."), lambda body: Says(f"For {body['model']}.")]) as server:
        said = [said_in("openai_chat", post(server).json()) for _ in range(2)]
        ended = post(server)
    assert said == ["One.", "For m."]
    assert (ended.status_code, ended.json()["error"]["type"]) == (500, "server_error")
    assert "holds 2 answers" in ended.json()["error"]["message"]


def test_the_script_may_be_one_function():
    with ContractServer(lambda body: Says(body["messages"][0]["content"])) as server:
        assert [said_in("openai_chat", post(server).json()) for _ in range(3)] == ["Pay."] * 3


def test_calls_come_with_ids_as_the_vendor_makes_them():
    spoken = Says(calls=(Call("pay", {"cents": 5}), Call("pay", '{"cents"', id="mine")))
    with ContractServer([spoken] * 3) as server:
        chat = post(server).json()["choices"][0]
        mistral = post(server, "mistral").json()["choices"][0]
        items = post(server, "openai_responses").json()["output"]
    first, second = chat["message"]["tool_calls"]
    assert first["id"].startswith("call_")
    assert len(first["id"]) == 29
    assert json.loads(first["function"]["arguments"]) == {"cents": 5}
    assert (second["id"], second["function"]["arguments"]) == ("mine", '{"cents"')
    assert (chat["finish_reason"], chat["message"]["content"]) == ("tool_calls", None)
    assert len(mistral["message"]["tool_calls"][0]["id"]) == 9
    assert mistral["message"]["tool_calls"][0]["id"].isalnum()
    assert [item["type"] for item in items] == ["function_call", "function_call"]
    assert items[0]["id"].startswith("fc_")
    assert items[0]["call_id"].startswith("call_")


def test_refusals_and_reasons_to_end():
    with ContractServer([Says(refusal="No."), Says("Half", finish="length")]) as server:
        assert post(server).json()["choices"][0]["message"]["refusal"] == "No."
        assert post(server).json()["choices"][0]["finish_reason"] == "length"
    with ContractServer([Says(refusal="No."), Says("x", finish="max_output_tokens"), Says(finish="failed")]) as server:
        replies = [post(server, "openai_responses").json() for _ in range(3)]
    assert replies[0]["output"][0]["content"] == [{"type": "refusal", "refusal": "No."}]
    assert (replies[1]["status"], replies[1]["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert (replies[2]["status"], replies[2]["error"]["code"]) == ("failed", "server_error")


def test_mistral_says_what_it_thinks_as_a_chunk():
    with ContractServer([Says("Paid.", thinking="Hm.")]) as server:
        content = post(server, "mistral").json()["choices"][0]["message"]["content"]
    assert content == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Paid."},
    ]


def test_anything_can_be_sent():
    with ContractServer([Sends(status=418, body={"a": 1}, headers={"x-tea": "yes"}), Sends(body="{broken")]) as server:
        first, second = post(server), post(server)
    assert (first.status_code, first.json(), first.headers["x-tea"]) == (418, {"a": 1}, "yes")
    assert (second.text, second.headers["content-type"]) == ("{broken", "application/json")


def test_a_proxys_web_page():
    with ContractServer([Html()]) as server:
        response = post(server)
    assert (response.status_code, response.headers["content-type"]) == (502, "text/html")
    assert response.text.startswith("<html>")


@pytest.mark.parametrize("name", FORMATS)
def test_rate_limits_and_overload(name):
    moment = datetime(2026, 11, 30, 12, tzinfo=UTC)
    script = [
        RateLimited(),
        RateLimited(retry_after=1.5),
        RateLimited(retry_after=20),
        RateLimited(retry_after=moment),
        RateLimited(overloaded=True),
    ]
    with ContractServer(script) as server:
        responses = [post(server, name) for _ in script]
    assert [response.status_code for response in responses] == [429, 429, 429, 429, 503]
    assert [response.headers.get("retry-after") for response in responses] == [
        None,
        "1.5",
        "20",
        "Mon, 30 Nov 2026 12:00:00 GMT",
        None,
    ]
    assert "error" in responses[0].text


def fails(body):
    raise KeyError("tols")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (["Hello."], "The script gave 'Hello.', which is no answer."),
        ([Delays(then="Hello.", seconds=0)], "The script gave 'Hello.'"),
        ([lambda body: None], "The script gave None"),
        ([fails], "The script failed: KeyError: 'tols'"),
        (fails, "The script failed: KeyError: 'tols'"),
    ],
)
@pytest.mark.parametrize("name", CHATS)
def test_a_script_that_is_wrong_is_told_to_the_client_and_to_the_test(script, told, name):
    with pytest.raises(ScriptError) as raised, ContractServer(script) as server:
        response = post(server, name)
        assert response.status_code == 500
        assert told in json.dumps(response.json(), ensure_ascii=False).replace('\\"', '"')
    assert told in str(raised.value)
    assert isinstance(raised.value.__cause__, KeyError) is ("failed" in told)


def test_the_tests_own_error_goes_first():
    with pytest.raises(ZeroDivisionError) as raised, ContractServer(["Hello."]) as server:
        1 / post(server).json().get("nothing", 0)
    assert "The script gave 'Hello.'" in raised.value.__notes__[0]


def test_a_script_that_is_a_text():
    with pytest.raises(ScriptError, match="list of answers"):
        ContractServer("Hello.")


def test_a_wrong_key_is_refused_before_anything_else():
    with ContractServer([Says("Hello."), WrongKey()], key="right") as server:
        assert post(server, tools=3).status_code == 401
        assert post(server, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert post(server, headers={"authorization": "Bearer right"}).status_code == 200
        assert post(server, headers={"x-api-key": "right"}).status_code == 401, "the script says so"
        assert httpx2.post(f"{server.url('openai_chat')}/chat/completions?key=right", json={}).status_code == 400
    assert "wrong" not in post_text(server)


def post_text(server):
    return json.dumps([seen.body for seen in server.seen])


def test_any_status_has_the_vendors_body():
    with ContractServer([Fails(404, "No such model."), Fails(), Fails(500)]) as server:
        gone, failed, mistral = post(server), post(server), post(server, "mistral")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "model_not_found")
    assert (failed.status_code, failed.json()["error"]["type"]) == (500, "server_error")
    assert (mistral.json()["object"], mistral.json()["raw_status_code"]) == ("error", 500)


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_it_hangs_until_it_is_closed(begins, stream):
    with (
        ContractServer([Hangs(begins=begins)]) as server,
        httpx2.Client(timeout=httpx2.Timeout(20, read=0.2), verify=False) as client,
        pytest.raises(httpx2.ReadTimeout),
        client.stream(
            "POST", f"{server.url('openai_chat')}/chat/completions", json=body_for("x", stream=stream)
        ) as got,
    ):
        assert got.status_code == 200
        assert begins
        got.read()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("after", [None, 0, 1, 40])
def test_it_closes_the_connection(after, stream):
    received = b""
    with (
        ContractServer([Closes(after)]) as server,
        httpx2.Client(verify=False) as client,
        pytest.raises(httpx2.RemoteProtocolError),
        client.stream(
            "POST", f"{server.url('openai_chat')}/chat/completions", json=body_for("x", stream=stream)
        ) as got,
    ):
        assert after is not None
        for piece in got.iter_raw():
            received += piece
    assert len(received) == (after or 0)


@pytest.mark.parametrize("stream", [False, True])
def test_it_floods_until_the_client_has_had_enough(stream):
    with (
        ContractServer([Floods()]) as server,
        httpx2.Client(verify=False) as client,
        client.stream(
            "POST", f"{server.url('openai_chat')}/chat/completions", json=body_for("x", stream=stream)
        ) as got,
    ):
        assert got.headers["content-length"] == str(50 * 1024 * 1024)
        read = 0
        for piece in got.iter_raw():
            read += len(piece)
            if read > 1_000_000:
                break
    assert 1_000_000 < server.sent < 50 * 1024 * 1024


def test_a_flood_can_be_drunk_to_the_end():
    with ContractServer([Floods(300_000)]) as server:
        assert len(post(server).content) == 300_000


def test_an_answer_can_wait_for_the_test():
    with ContractServer([Delays(then=Says("Late."))]) as server:
        got = []
        asking = threading.Thread(target=lambda: got.append(post(server)))
        asking.start()
        while not server.seen:
            asking.join(0.01)
        assert got == []
        server.release()
        asking.join()
    assert said_in("openai_chat", got[0].json()) == "Late."


def test_an_answer_can_be_slow():
    with ContractServer([Delays(then=RateLimited(), seconds=0.01)]) as server:
        assert post(server).status_code == 429


def test_leaving_ends_what_waits():
    with ContractServer([Delays(then=Says("x"), seconds=3600), Delays(then=Says("x")), Hangs()]) as server:
        for _ in range(3):
            threading.Thread(target=_try, args=(server,), daemon=True).start()
        while len(server.seen) < 3:
            threading.Event().wait(0.01)
    assert not [thread for thread in threading.enumerate() if "contract-server" in thread.name]


def _try(server):
    with contextlib.suppress(httpx2.HTTPError):
        post(server)


def test_two_servers_do_not_share_what_they_issued():
    stored = Says(calls=(Call("pay"),))
    with ContractServer([stored]) as first, ContractServer([stored]) as second:
        reply = post(first, "openai_responses").json()
        again = body_for("openai_responses", previous_response_id=reply["id"])
        assert httpx2.post(f"{second.url('openai_responses')}/responses", json=again).status_code == 400
        call_id = reply["output"][0]["call_id"]
        answered = {**again, "input": [{"type": "function_call_output", "call_id": call_id, "output": "x"}]}
        assert httpx2.post(f"{first.url('openai_responses')}/responses", json=answered).status_code == 500
    assert first.violations == []


def test_a_fault_that_a_format_has_no_place_for_says_so():
    with ContractServer([Streams(said=Says(calls=(Call("pay"),)), ids="late")]) as server:
        response = post(server, "mistral", stream=True)
    assert response.status_code == 500
    assert "can't come late" in response.json()["message"]


@pytest.mark.parametrize(
    ("name", "more", "status", "code"),
    [
        ("openai_chat", {"messages": [{"role": "user", "content": "x", "id": 1}]}, 400, "unknown_parameter"),
        ("openai_chat", {"model": ""}, 400, None),
        ("openai_chat", {"stream": 1}, 400, "invalid_type"),
        (
            "openai_chat",
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
            400,
            "invalid_function_parameters",
        ),
        ("openai_responses", {"messages": []}, 400, "unsupported_parameter"),
        ("openai_responses", {"previous_response_id": "resp_1"}, 400, "previous_response_not_found"),
        ("openai_responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}, 404, None),
    ],
)
def test_openais_refusal_has_its_status_code_and_place(name, more, status, code):
    with ContractServer() as server:
        response = post(server, name, **more)
    said = response.json()["error"]
    (violation,) = server.violations
    assert (response.status_code, said["code"], said["param"]) == (status, code, violation.path)
    assert (said["message"], said["type"]) == (violation.message, "invalid_request_error")
