"""``callslip serve --answers``: a server in a process of its own, and people who answer from theirs."""

import asyncio
import json
import signal
import sys
import urllib.error
import urllib.request

import pytest

from callslip.answering import client
from callslip.errors import NotAuthorised
from callslip.trust.key_file import keys_folder
from callslip.trust.keys import load_key

pytestmark = pytest.mark.requirement("APPR-08")

POLICY = 'app = "app.py:rt"\nstate = "state"\n[policy]\n"tool.pay" = "ask"\n'


@pytest.fixture
def project(project):
    project.configure(POLICY)
    return project


@pytest.fixture
def asked(project):
    """The wait's id."""
    project("run", 'call pay {"amount": 100}', "--session", "s", code=3)
    (wait,) = project.json("waits")["waits"]
    return wait["id"]


class Served:
    """A server's process, and requests to it."""

    def __init__(self, project, *words):
        self.project = project
        self.process = project.start("serve", "--answers", "--json", *words)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.told = json.loads(line)
        self.url = self.told["url"]

    @property
    def token(self):
        with open(self.told["token_file"]) as file:
            return file.read().strip()

    def ask(self, path, body=None, token=None):
        request = urllib.request.Request(self.url + path, data=None if body is None else json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {token or self.token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.project.finish(self.process, 0)


@pytest.fixture
def served(project, asked):
    one = Served(project)
    yield one
    one.process.kill()
    one.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_and_ends_well(project, asked, served, number):
    assert served.url.startswith("http://127.0.0.1:")
    assert (served.told["advisory"], "token" in served.told) == (True, False)
    status, document = served.ask("/v1/waits")
    assert (status, [one["id"] for one in document["waits"]]) == (200, [asked])
    assert served.ask(f"/v1/waits/{asked}/decision", {"decision": "approved"})[0] == 200
    assert served.ask("/v1/waits", token="x" * 40)[0] == 401
    secret = served.token
    out, err = served.end(number)
    assert secret not in out + err
    assert [json.loads(line)["status"] for line in out.splitlines()] == [200, 200, 401]
    assert project("resume", "s").stdout == "all done\n"
    assert project.effects() == ["pay 100"]
    assert (project.state / "answers.token").read_text() == ""


def test_in_lines(project, asked):
    process = project.start("serve", "--answers", "--show-token")
    first, second = process.stdout.readline(), process.stdout.readline()
    assert "answering on http://127.0.0.1:" in first
    assert str(project.state / "answers.token") in second
    assert (project.state / "answers.token").read_text().strip() in second
    assert "advisory" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    project.finish(process, 0)


def test_two_servers_at_once(project, asked, served):
    other = Served(project)
    assert other.token == served.token
    assert other.url != served.url
    assert served.ask(f"/v1/waits/{asked}/decision", {"decision": "denied", "reason": "no"})[0] == 200
    status, document = other.ask(f"/v1/waits/{asked}/decision", {"decision": "approved"})
    assert (status, "was denied by" in document["error"]["message"]) == (409, True)
    other.end()
    assert served.ask("/v1/waits")[0] == 200  # the first one's token holds
    served.end()


@pytest.mark.requirement("APPR-01")
def test_with_keys_a_decision_is_signed_where_the_key_is(project, asked, served, monkeypatch):
    """The server has no key; it was started before there was one."""
    monkeypatch.setenv("CALLSLIP_KEY", "anna")
    project("enrol", "anna", "--no-passphrase")
    project.accept()
    assert served.ask(f"/v1/waits/{asked}/decision", {"decision": "approved"})[0] == 403
    anna = load_key(keys_folder() / "anna.key", None)

    async def answer():
        question = await client.question(served.url, served.token, asked)
        assert (question.arguments, question.advisory) == ({"amount": 100}, False)
        stranger = type(anna)(name="bob", uid=1, signer=anna.signer)
        with pytest.raises(NotAuthorised, match="'bob' is not enrolled"):
            await client.decide(served.url, served.token, question, "approved", by=stranger)
        return await client.decide(served.url, served.token, question, "approved", by=anna)

    assert asyncio.run(answer()).by == "anna"
    served.end()
    assert project("resume", "s").stdout == "all done\n"
    assert "approved   by anna, over HTTP" in project("show", "s").stdout


def test_elsewhere_only_with_keys(project, asked, monkeypatch):
    words = ("serve", "--answers", "--host", "0.0.0.0")
    assert "no key is enrolled" in project(*words, code=2).stderr
    monkeypatch.setenv("CALLSLIP_KEY", "anna")
    project("enrol", "anna", "--no-passphrase")
    one = Served(project, "--host", "0.0.0.0")
    port = one.url.rpartition(":")[2]
    one.url = f"http://127.0.0.1:{port}"
    assert one.ask("/v1/waits")[0] == 200
    one.end()


def test_what_cant_be_served(project):
    assert "--answers" in project("serve", code=2).stderr
    assert "no state folder" in project("serve", "--answers", "--state", "nowhere", code=2).stderr
    project("run", "hello", "--session", "s")
    (project.state / "answers.token").touch(0o644)
    (project.state / "answers.token").chmod(0o644)
    assert "open to others" in project("serve", "--answers", code=5).stderr


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra(project, asked, monkeypatch, missing):
    for name in [name for name in sys.modules if name.startswith(("callslip.answering", missing))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    for name in ("requests", "applications", "responses", "routing", "types", "exceptions"):
        monkeypatch.setitem(sys.modules, f"{missing}.{name}", None)
    text = project("serve", "--answers", code=2).stderr
    assert "In the clone: pip install '.[web]'" in text
    assert "Nothing was started" in text
    project("inbox")  # what needs no server needs no extra
