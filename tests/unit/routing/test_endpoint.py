"""Vectors from an OpenAI-compatible endpoint, over real HTTP on loopback."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from callslip.errors import ConfigError
from callslip.routing.card import Card
from callslip.routing.endpoint import EndpointEmbedder, EndpointFailed
from callslip.routing.ranker import Ranker
from callslip.testing.loopback import Loopback

numpy = pytest.importorskip("numpy")


TRICKLE = object()


class Server:
    """Answers each request with what ``answer`` makes of it."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.in_headers = False
        self.ended = threading.Event()
        self.answer: Any = lambda body: (200, {"data": self.rows(body["input"])})
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.asked.append(body)
                server.headers.append({key.lower(): value for key, value in self.headers.items()})
                status, said = server.answer(body)
                if said is TRICKLE:
                    self.trickle()
                    return
                sent = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                if status == 307:
                    self.send_header("location", "/elsewhere")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def trickle(self) -> None:
                """A byte now and then, of the headers or of the body, until nobody listens any more."""
                begun = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n" + (b"" if server.in_headers else b"\r\n")
                piece = b"x: y\r\n" if server.in_headers else b" "
                with contextlib.suppress(OSError):
                    self.wfile.write(begun)
                    while True:
                        self.wfile.write(piece)
                        server.ended.wait(0.02)

            def log_message(self, *args: Any) -> None: ...

        self.http = Loopback(Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.http.begin()

    def rows(self, texts: list[str]) -> list[dict[str, Any]]:
        found = [{"index": at, "embedding": [float(len(text)), 3.0, 0.0]} for at, text in enumerate(texts)]
        return found[::-1]

    def close(self) -> None:
        self.http.end()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def embedder(server: Server, **options: Any) -> EndpointEmbedder:
    return EndpointEmbedder("small", base_url=server.url, api_key="secret-key", dimensions=3, **options)


@pytest.mark.requirement("DEFR-04")
def test_rows_come_in_the_order_of_the_texts_and_of_length_one(server: Server) -> None:
    rows = embedder(server).embed(["four", "", "\ud800"])
    assert rows.shape == (3, 3)
    assert numpy.allclose(rows[0], [0.8, 0.6, 0.0])
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1)
    assert server.asked[0]["model"] == "small"
    assert server.asked[0]["input"] == ["four", " ", "?"]
    assert server.headers[0]["authorization"] == "Bearer secret-key"
    assert embedder(server).embed([]).shape == (0, 3)


def test_the_length_of_vectors_is_learned_by_asking(server: Server) -> None:
    learned = EndpointEmbedder.learn("small", base_url=server.url, api_key="secret-key")
    assert learned.dimensions == 3
    assert learned.embed(["four"]).shape == (1, 3)


def test_who_gives_no_vector_teaches_nothing(server: Server) -> None:
    server.answer = lambda body: (500, {})
    with pytest.raises(EndpointFailed, match="HTTP status 500"):
        EndpointEmbedder.learn("small", base_url=server.url)


def test_many_texts_go_in_several_requests(server: Server) -> None:
    rows = embedder(server).embed(["x" * (1 + at % 7) for at in range(300)])
    assert rows.shape == (300, 3)
    assert [len(asked["input"]) for asked in server.asked] == [128, 128, 44]
    assert numpy.allclose(rows[0], rows[7])


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (500, b"secret-key is wrong", "HTTP status 500"),
        (307, b"", "HTTP status 307"),
        (200, b"no json", "no embeddings"),
        (200, {"data": [{"index": 0, "embedding": ["a"]}]}, "no embeddings"),
        (200, {"data": []}, "0 vectors"),
        (
            200,
            {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
            "gave vectors of \\[2\\] numbers, where 3 were expected",
        ),
        (200, {"data": [{"index": 5, "embedding": [1.0, 2.0, 3.0]}]}, "1 vectors"),
    ],
)
def test_what_is_no_answer_is_told_without_the_key(server: Server, status: int, said: Any, told: str) -> None:
    server.answer = lambda body: (status, said)
    with pytest.raises(EndpointFailed, match=told) as failed:
        embedder(server).embed(["a"])
    assert "secret-key" not in str(failed.value)
    assert "secret-key" not in repr(embedder(server))


def test_a_search_goes_on_by_words_when_nobody_answers(server: Server) -> None:
    tools = [Card(id="pay", name="pay_invoice"), Card(id="mail", name="send_mail")]
    ranker = Ranker(tools, embedder=embedder(server, timeout=5))
    server.answer = lambda body: (503, b"")
    answer = ranker.search(["pay invoice"], 3)
    assert [hit.id for hit in answer.hits][:1] == ["pay"]
    assert "HTTP status 503" in answer.trouble
    assert "words alone" in answer.trouble


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ftp://x/v1",
        "https://user:pass@x/v1",
        "not an address",
        "http://x:99999/v1",
        "http://x:y/v1",
        "http://[::1/v1",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="http or https"):
        EndpointEmbedder("m", base_url=address, dimensions=3)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("http://127.0.0.1:8001/v1", "endpoint m at 127.0.0.1:8001/v1"),
        ("http://127.0.0.1:8002/v1/", "endpoint m at 127.0.0.1:8002/v1"),
        (" http://127.0.0.1:8002/v2 ", "endpoint m at 127.0.0.1:8002/v2"),
        ("https://Api.example/v1", "endpoint m at api.example:443/v1"),
        ("http://api.example", "endpoint m at api.example:80"),
        ("http://[::1]:8001/v1", "endpoint m at [::1]:8001/v1"),
        ("https://api.example/v1?key=secret#more", "endpoint m at api.example:443/v1"),
    ],
)
def test_its_name_is_that_of_one_server_and_holds_nothing_secret(address: str, name: str) -> None:
    made = EndpointEmbedder("m", base_url=address, dimensions=3)
    assert (made.name, repr(made)) == (name, f"EndpointEmbedder({name!r})")


@pytest.mark.requirement("DEFR-04")
def test_two_servers_on_one_host_share_no_vectors(server: Server, tmp_path: Path) -> None:
    other = Server()
    tools = [Card(id="pay", name="pay_invoice"), Card(id="mail", name="send_mail")]
    for each in (server, other, other):
        Ranker(tools, embedder=embedder(each), path=tmp_path / "tools.db").close()
    other.close()
    assert [len(each.asked) for each in (server, other)] == [1, 1]


@pytest.mark.requirement("DEFR-04")
@pytest.mark.parametrize("in_headers", [False, True])
@pytest.mark.parametrize(("texts", "said"), [(16, "within 0.1 s"), (17, "within 0.6 s")])
def test_one_deadline_counts_for_all_of_an_answer(server: Server, in_headers: bool, texts: int, said: str) -> None:
    server.answer = lambda body: (200, TRICKLE)
    server.in_headers = in_headers
    with pytest.raises(EndpointFailed, match=said):
        embedder(server, timeout=0.1).embed(["a"] * texts)


def test_an_answer_is_no_longer_than_what_was_asked_for(server: Server) -> None:
    server.answer = lambda body: (200, b" " * (64 * 1024 + 2 * 3 * 48 + 1))
    with pytest.raises(EndpointFailed, match="longer than 65,824 bytes"):
        embedder(server).embed(["a", "b"])
    server.answer = lambda body: (200, json.dumps({"data": server.rows(body["input"])}).encode() + b" " * 64_000)
    assert embedder(server).embed(["a", "b"]).shape == (2, 3)


def test_numbers_too_large_to_be_squared_are_brought_to_length_one_as_well(server: Server) -> None:
    server.answer = lambda body: (200, {"data": [{"index": 0, "embedding": [3e38, 3e38, 0.0]}]})
    assert numpy.allclose(numpy.linalg.norm(embedder(server).embed(["a"])), 1)
