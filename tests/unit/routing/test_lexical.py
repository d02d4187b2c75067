"""Search by words."""

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from callslip.routing import kept_index
from callslip.routing.card import Card
from callslip.routing.lexical import LexicalIndex, Update

WEATHER = Card(
    id="meteo|forecast", name="forecast", server="meteo", description="Weather of the next days at a place.",
    parameters=(("place", "City name"), ("days", "How many")), tags=("climate",),
)  # fmt: skip
MAIL = Card(id="mail|send_email", name="send_email", server="mail", description="Sends a message to a recipient.")
PAY = Card(id="bank|payInvoice", name="payInvoice", server="bank", description="Pays an invoice from an account.")
OTHER_MAIL = Card(id="post|send_email", name="send_email", server="post", description="Sends an email message by post.")
CHINESE = Card(id="zh|查询天气", name="查询天气", server="zh", description="查询指定城市的天气情况")
CARDS = (WEATHER, MAIL, PAY, OTHER_MAIL, CHINESE)


def index(*cards: Card, path: Path | None = None) -> LexicalIndex:
    made = LexicalIndex(path)
    made.update(cards)
    return made


def ids(found: LexicalIndex, query: str, k: int = 5, server: str | None = None) -> list[str]:
    return [hit.id for hit in found.rank(query, k, server=server)]


@pytest.mark.requirement("DEFR-04")
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("will it rain? weather for tomorrow", "meteo|forecast"),
        ("paying invoices", "bank|payInvoice"),
        ("climate", "meteo|forecast"),
        ("which city", "meteo|forecast"),
        ("告诉我上海的天气", "zh|查询天气"),
    ],
)
def test_words_of_every_column_find_a_tool(query: str, best: str) -> None:
    assert ids(index(*CARDS), query)[0] == best


@pytest.mark.requirement("DEFR-02")
@pytest.mark.parametrize(
    "query",
    [
        "payInvoice",
        "bank|payInvoice",
        "pay_invoice",
        "PAY-INVOICE",
        "use pay_invoice on this mail",
        "请用pay_invoice付款",
    ],
)
def test_a_name_comes_first_however_it_is_written(query: str) -> None:
    crowd = [Card(id=f"x{n}", name=f"invoice{n}", description="pay invoice mail " * 9) for n in range(90)]
    best = index(*CARDS, *crowd).rank(query, 3)[0]
    assert (best.id, best.exact) == ("bank|payInvoice", True)


@pytest.mark.requirement("DEFR-02")
def test_the_exact_spelling_comes_before_another_and_both_servers_tools_are_found() -> None:
    twin = Card(id="a|sendEmail", name="sendEmail")
    found = index(twin, *CARDS).rank("send_email", 9)
    assert [hit.id for hit in found[:3]] == ["mail|send_email", "post|send_email", "a|sendEmail"]
    assert len({hit.id for hit in found}) == len(found)


@pytest.mark.requirement("DEFR-02")
def test_whoever_writes_the_very_name_means_no_other_tool() -> None:
    alike = [
        Card(id=f"{server}|{name}", name=name, server=server) for server, name in (("a", "payIt"), ("b", "pay_it"))
    ]
    made = index(*alike)
    assert [hit.id for hit in made.rank("pay_it", 5) if hit.exact] == ["b|pay_it"]
    assert [hit.id for hit in made.rank("b|pay_it", 5) if hit.exact] == ["b|pay_it"]
    assert [hit.id for hit in made.rank("pay_it", 5, server="a") if hit.exact] == ["a|payIt"]
    assert [hit.id for hit in made.rank("PayIt", 5) if hit.exact] == ["a|payIt", "b|pay_it"]


@pytest.mark.requirement("DEFR-04")
def test_how_requests_begin_tells_tools_apart_by_their_names_and_by_nothing_else() -> None:
    names = [f"{noun}.{verb}" for noun in ("customer", "invoice") for verb in ("find", "get", "delete", "create")]
    crm = [Card(id=name, name=name, description="Of customers; find and get the help you need.") for name in names]
    made = index(*crm, Card(id="hotels", name="hotels", description="Rooms and beds."))
    assert ids(made, "find a customer", 1) == ["customer.find"]
    assert ids(made, "get the invoice", 1) == ["invoice.get"]
    assert ids(made, "find me some beds", 1) == ["hotels"]
    assert ids(made, "can you help me?") == []
    assert index(MAIL).rank("show me the message", 1)[0].coverage == 1.0


def test_a_filter_leaves_only_the_servers_tools() -> None:
    made = index(*CARDS)
    assert ids(made, "send a message", server="post") == ["post|send_email"]
    assert ids(made, "send_email", server="post") == ["post|send_email"]
    assert ids(made, "send_email", server="nobody") == []


def test_a_request_for_two_things_finds_both() -> None:
    crowd = [Card(id=f"w{n}", name=f"weather_{n}", description="weather forecast of days at a place") for n in range(8)]
    made = index(PAY, *crowd)
    query = "I would like the weather forecast for the next days at this place. Settle that invoice."
    assert "bank|payInvoice" in ids(made, query, 5)


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "😀😀",
        "the of and",
        "x" * 20_000,
        "a b c " * 4_000,
        '" OR NEAR( * ^ : {name}',
        "\ud800",
        "\0",
        "天",
        "select:",
    ],
)
@pytest.mark.requirement("DEFR-05")
def test_no_query_is_too_odd(query: str) -> None:
    made = index(*CARDS)
    assert len(made.rank(query, 3)) <= 3
    assert index().rank(query, 3) == []


def test_no_tool_is_too_odd() -> None:
    odd = (
        Card(id="", name=""),
        Card(id="\ud800", name="\udfff", server="\ud800", description="\ud800"),
        Card(id="long", name="n" * 5_000, description="word " * 20_000, parameters=(("p", "q" * 9_000),) * 200),
        Card(id="emoji", name="😀", tags=("😀",)),
    )
    made = index(*odd, PAY)
    assert len(made) == 5
    assert ids(made, "invoice") == ["bank|payInvoice"]
    assert ids(made, "word")[0] == "long"
    assert ids(index(PAY), "invoice") == ["bank|payInvoice"]
    assert made.rank("invoice", 0) == []


def test_an_update_indexes_what_changed_and_forgets_what_is_gone() -> None:
    made = LexicalIndex()
    assert made.update(CARDS) == Update(added=5)
    assert made.update(CARDS) == Update()
    changed = Card(id=MAIL.id, name=MAIL.name, server="mail", description="Delivers pigeons.")
    assert made.update([changed, WEATHER, PAY]) == Update(replaced=1, removed=2)
    assert ids(made, "pigeon") == [MAIL.id]
    assert ids(made, "天气") == []
    assert made.update([Card(id=PAY.id, name="payInvoice", version="2")]) == Update(replaced=1, removed=2)


def test_a_file_keeps_the_index(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "tools.db"
    index(*CARDS, path=path).close()
    again = LexicalIndex(path)
    assert again.update(CARDS) == Update()
    assert ids(again, "invoice") == ["bank|payInvoice"]
    assert path.stat().st_mode & 0o077 == 0
    assert [each.name for each in path.parent.iterdir()] == ["tools.db"]


@pytest.mark.parametrize("damage", ["garbage", "cut", "flipped", "version", "empty"])
def test_a_damaged_file_is_made_anew_and_that_is_said(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "tools.db"
    index(*CARDS, path=path).close()
    stored = path.read_bytes()
    if damage == "version":
        with sqlite3.connect(path) as db:
            db.execute("pragma user_version = 99")
        db.close()
    else:
        middle = len(stored) // 2
        flipped = stored[:100] + bytes(3_900) + stored[4_000:]
        path.write_bytes({"garbage": b"no database", "cut": stored[:middle], "flipped": flipped, "empty": b""}[damage])
    again = LexicalIndex(path)
    done = again.update(CARDS)
    assert done.added == 5
    assert "made anew" in done.trouble
    assert ids(again, "invoice") == ["bank|payInvoice"]
    assert LexicalIndex(path).update(CARDS) == Update()


def test_a_file_that_cannot_be_written_leaves_the_index_working(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = LexicalIndex(tmp_path / "file" / "tools.db")
    assert "could not be kept" in made.update(CARDS).trouble
    assert ids(made, "invoice") == ["bank|payInvoice"]


@pytest.mark.untraced
@pytest.mark.requirement("DEFR-04")
def test_twenty_thousand_tools_and_a_pasted_page() -> None:
    made = LexicalIndex()
    made.update(
        Card(id=f"s{n % 7}|{n}", name=f"get_{n}", server=f"s{n % 7}", description="reads one record of the table")
        for n in range(20_000)
    )
    page = "the table of records " * 900 + " and get_19999"
    assert ids(made, page)[0] == "s0|19999"
    assert len(ids(made, "reads a record", 5)) == 5
    assert ids(made, "reads a record", 3, server="s3")[0].startswith("s3|")
    made.close()


def test_one_name_of_two_servers_is_told_apart_by_the_server() -> None:
    made = index(
        Card(id="a|search", name="search", server="gitlab", description="Finds things."),
        Card(id="b|search", name="search", server="jira", description="Finds things."),
    )
    assert ids(made, "search in jira") == ["b|search", "a|search"]
    assert ids(made, "search in gitlab") == ["a|search", "b|search"]


def test_descriptions_of_any_length_are_indexed_and_an_empty_one_goes_by_the_name() -> None:
    made = index(
        Card(id="long", name="archive", description="stores old letters " + "x" * 100_000),
        Card(id="bare", name="shred_letters"),
    )
    assert set(ids(made, "letters")) == {"long", "bare"}
    assert ids(made, "shred")[0] == "bare"


TEXT = st.text(alphabet="ab cd_AB1天气查😀", max_size=12)
CARD = st.builds(
    Card, id=st.sampled_from("pqrstu"), name=TEXT, server=st.sampled_from(["", "s", "t"]), description=TEXT,
    parameters=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple), tags=st.lists(TEXT, max_size=1).map(tuple),
)  # fmt: skip
REGISTRY = st.lists(CARD, max_size=6)


@settings(deadline=None)
@given(st.lists(REGISTRY, min_size=1, max_size=4), TEXT)
def test_updates_in_any_order_give_what_a_new_index_gives(registries: list[list[Card]], query: str) -> None:
    grown = LexicalIndex()
    for registry in registries:
        grown.update(registry)
    fresh = LexicalIndex()
    fresh.update(registries[-1])
    assert grown.rank(query, 10) == fresh.rank(query, 10)
    grown.close()
    fresh.close()


@settings(deadline=None)
@given(REGISTRY, st.text(max_size=60), st.integers(-1, 4))
def test_what_is_found_is_bounded_once_each_and_of_the_registry(registry: list[Card], query: str, k: int) -> None:
    made = LexicalIndex()
    made.update(registry)
    found = made.rank(query, k)
    assert len(found) <= max(0, k)
    assert len({hit.id for hit in found}) == len(found)
    assert {hit.id for hit in found} <= {card.id for card in registry}
    assert all(0 <= hit.score <= 1 and 0 <= hit.coverage <= 1.000001 for hit in found)
    for card in {card.id: card for card in registry}.values():
        if card.name.strip() and k > 0 and made.rank(card.name, 1):
            assert made.rank(card.name, 1)[0].exact
    made.close()


def damaged(path: Path, change: str) -> None:
    """Change the copy as nothing of SQLite's would notice, its digest included."""
    image = sqlite3.connect(":memory:")
    image.deserialize(path.read_bytes()[:-32])
    image.execute(change)
    image.commit()
    kept_index.write(path, image.serialize())
    image.close()


@pytest.mark.requirement("DEFR-04")
def test_a_bit_that_is_another_one_anywhere_is_found(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    index(*CARDS, path=path).close()
    stored = path.read_bytes()
    for at in range(0, len(stored), 997):
        flipped = bytearray(stored)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(bytes(flipped))
        again = LexicalIndex(path)
        assert again.unread
        assert "made anew" in again.update(CARDS).trouble
        assert ids(again, "paying invoices")[0] == "bank|payInvoice"
        again.close()
        assert path.read_bytes()[:16] == stored[:16]


@pytest.mark.parametrize(
    "change",
    [
        "update card set no = no + 1000",
        "update card set id = x'ff' where no = 1",
        "update card set names = 'x'",
        "drop table tool",
        "drop table card",
    ],
)
def test_a_fault_that_is_kept_as_if_it_were_right_is_no_worse(tmp_path: Path, change: str) -> None:
    path = tmp_path / "tools.db"
    index(*CARDS, path=path).close()
    damaged(path, change)
    again = LexicalIndex(path)
    assert again.unread == ""
    done = again.update(CARDS)
    assert (done.added, "made anew" in done.trouble) == (5, True)
    assert ids(again, "paying invoices")[0] == "bank|payInvoice"
    assert LexicalIndex(path).update(CARDS) == Update(), "and it is kept as it is now"


def test_what_a_killed_writer_has_left_is_taken_away_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    dead, alive, other = (tmp_path / name for name in ("tools.dbk_1.new", "tools.dba_2.new", "ledger.new"))
    for each in (dead, alive, other):
        each.write_bytes(b"half")
    for old in (dead, other):
        os.utime(old, (1_000_000_000, 1_000_000_000))
    index(*CARDS, path=path).close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ledger.new", "tools.db", "tools.dba_2.new"]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)
    made = LexicalIndex(path)
    assert made.unread.startswith("it is larger than")
