"""What the runtime asks of the ranker: tools' cards, several queries at once, and trouble that is said and survived."""

import asyncio
import contextlib
import os
import threading

import anyio.to_thread
import pytest

from callslip.core.tool import ToolSpec
from callslip.providers.aliases import CHAT, RESPONSES, Aliases
from callslip.routing import meaning
from callslip.routing.finder import ToolFinder, card_of, server_of

pytestmark = pytest.mark.anyio


def cards(**described):
    made = [ToolSpec(name=name.replace("__", "."), description=said) for name, said in described.items()]
    return [card_of(one, one.version) for one in made]


CARDS = cards(
    pay__refund="Refund a payment to a customer.", pay__void="Void an authorisation.",
    geo__weather="Weather forecast for a place.", mail__send="Send an e-mail.",
)  # fmt: skip


@pytest.fixture
def finder():
    made = ToolFinder(CARDS)
    yield made
    made.close()


class TestCards:
    def test_where_a_tool_comes_from(self):
        assert [server_of(name) for name in ("crm.find", "a.b.find", "mcp__files__read", "find")] == [
            "crm", "a.b", "mcp", "",
        ]  # fmt: skip

    def test_all_that_describes_it_and_nothing_else(self):
        spec = ToolSpec(
            name="crm.find", description="Find.", category="people", tags=("search",),
            input_schema={"type": "object", "properties": {"who": {"description": "A name."}, "odd": True}},
        )  # fmt: skip
        card = card_of(spec, "v1")
        assert (card.id, card.server, card.tags, card.version) == ("crm.find", "crm", ("search", "people"), "v1")
        assert card.parameters == (("who", "A name."), ("odd", ""))

    @pytest.mark.parametrize("properties", [None, [], "x", {"a": {"description": 7}}])
    def test_an_odd_schema_describes_nothing(self, properties):
        card = card_of(ToolSpec(name="a", input_schema={"type": "object", "properties": properties}), "1")
        assert all(said == "" for _, said in card.parameters)


@pytest.mark.requirement("DEFR-02", "DEFR-04")
class TestSearch:
    async def test_each_query_has_its_own_answer(self, finder):
        found = await finder.search(["refund a payment", "weather forecast", "select:mail.send"], 8)
        assert [match.tools[:1] for match in found.matches] == [("pay.refund",), ("geo.weather",), ("mail.send",)]

    async def test_no_more_than_so_many_in_all_the_best_of_each_first(self, finder):
        found = await finder.search(["select:pay.void,pay.refund", "select:geo.weather"], 2)
        assert [match.tools for match in found.matches] == [("pay.void",), ("geo.weather",)]

    @pytest.mark.parametrize("query", ["select:mail.send", " SELECT: mail.send"])
    async def test_what_is_asked_for_by_name_comes_before_what_words_find(self, finder, query):
        words = ["refund a payment", "weather forecast"]
        found = await finder.search([*words, query], 2)
        assert [match.tools for match in found.matches] == [("pay.refund",), (), ("mail.send",)]
        found = await finder.search([*words, f"{query},pay.void"], 2)
        assert [match.tools for match in found.matches] == [(), (), ("mail.send", "pay.void")]
        assert [match.left_off for match in found.matches] == [(), (), ()]
        assert [bool(match.nothing) for match in found.matches] == [False, False, False]
        said = "Other queries have taken all places of this search. Search for this one by itself."
        assert [match.note for match in found.matches] == [said, said, ""]

    async def test_of_one_server(self, finder):
        found = await finder.search(["select:pay.void,mail.send"], 8, server="mail")
        assert found.matches[0].tools == ("mail.send",)
        assert finder.servers == ("geo", "mail", "pay")

    @pytest.mark.requirement("DEFR-05")
    async def test_nothing_is_said_to_be_nothing(self, finder):
        (match,) = (await finder.search(["castle a rook"], 8)).matches
        assert match.tools == ()
        assert match.nothing

    @pytest.mark.parametrize(
        "query", ["", " ", "of the and", "🙂🙂", "x" * 20_000, "select:", "\ud800", '"*:^', "a" * 5]
    )
    async def test_any_text_is_a_query(self, finder, query):
        (match,) = (await finder.search([query], 8)).matches
        assert match.tools or match.nothing

    async def test_a_users_words_are_no_command(self, finder):
        assert "pay.refund" in await finder.likely("select:mail.send and refund the payment", 5)
        assert (await finder.likely("Refund the payment", 5))[0] == "pay.refund"

    async def test_what_a_search_would_not_offer_may_be_likely_all_the_same(self, finder):
        said = "Our customer in Oslo is unhappy about the whole order, and I want to make it good somehow"
        assert (await finder.search([said], 5)).matches[0].tools == ()
        assert "pay.refund" in await finder.likely(said, 5)

    async def test_what_is_about_no_tool_makes_none_likely(self, finder):
        assert await finder.likely("Hello there", 5) == await finder.likely("", 5) == ()

    async def test_what_all_tools_have_says_nothing_of_which_is_meant(self):
        specs = [
            ToolSpec(name=f"one.tool{n}", description=said, input_schema={"properties": {"account_id": {}}})
            for n, said in enumerate(["Book.", "Pay.", "Send.", "Find.", "List.", "Draw.", "Sing.", "Walk.", "Read."])
        ]
        finder = ToolFinder([card_of(one, one.version) for one in specs])
        assert await finder.likely("What is an account id?", 5) == ()
        assert (await finder.search(["account id"], 5)).matches[0].tools == ()
        assert (await finder.likely("Sing about an account", 5))[0] == "one.tool6"
        finder.close()

    async def test_what_is_shown_already_takes_no_place(self, finder):
        assert "pay.refund" not in await finder.likely("Refund the payment", 1, without={"pay.refund"})

    async def test_many_at_once(self, finder):
        found = await asyncio.gather(*(finder.search(["refund a payment"], 3) for _ in range(20)))
        assert {one.matches[0].tools[0] for one in found} == {"pay.refund"}

    async def test_without_any_tools(self):
        (match,) = (await ToolFinder([]).search(["refund"], 8)).matches
        assert match.nothing == "There are no tools to search."


def many(*servers):
    """Ten tools of each server, beside others."""
    specs = [
        ToolSpec(name=f"{server}.{deed}", description=f"{deed} something, as one does.")
        for server in servers
        for deed in ("add", "book", "copy", "draw", "edit", "find", "give", "hold", "join", "keep")
    ]
    return [*CARDS, *(card_of(one, one.version) for one in specs)]


@pytest.mark.requirement("DEFR-02", "DEFR-05")
class TestByName:
    async def one(self, finder, query, most=8, server=""):
        (match,) = (await finder.search([query], most, server=server)).matches
        return match

    async def test_names_that_no_tool_has_are_said_with_what_is_near(self, finder):
        match = await self.one(finder, "select:pay.refund, pay.viod,stripe.refund, xylophone")
        assert match.tools == ("pay.refund",)
        assert [(one.name, one.near) for one in match.unknown] == [
            ("pay.viod", ("pay.void",)), ("stripe.refund", ("pay.refund",)), ("xylophone", ()),
        ]  # fmt: skip
        assert match.nothing == ""

    async def test_where_none_is_known_nothing_fits_and_what_is_near_is_said_all_the_same(self, finder):
        match = await self.one(finder, "SELECT: pay.viod ,pay.viod")
        assert (match.tools, [one.near for one in match.unknown]) == ((), [("pay.void",)])
        assert match.nothing == "No tool has that name. Search for what it should do instead."

    async def test_names_that_are_there_are_not_said(self, finder):
        match = await self.one(finder, "select:pay.refund,payVoid")
        assert (match.tools, match.unknown, match.note) == (("pay.refund", "pay.void"), (), "")

    async def test_a_tool_of_another_server_is_unknown_where_only_one_is_searched(self, finder):
        match = await self.one(finder, "select:pay.void,mail.send", server="mail")
        assert [(one.name, one.near) for one in match.unknown] == [("pay.void", ("pay.void",))]
        assert match.note == "Only tools of the server 'mail' were looked for."

    async def test_the_number_of_all_unknown_names_is_known(self, finder):
        match = await self.one(finder, "select:pay.void," + ",".join(f"none{n}" for n in range(1_000)))
        assert len(match.unknown) + match.more_unknown == 1_000
        match = await self.one(finder, "select:pay.viod")
        assert (len(match.unknown), match.more_unknown) == (1, 0)

    async def test_of_many_names_without_a_place_some_are_said_and_the_number_of_the_others(self):
        finder = ToolFinder(many(*"abcdef"))
        names = [card.id for card in many(*"abcdef") if card.description.endswith("as one does.")]
        match = await self.one(finder, "select:" + ",".join(names))
        assert (len(match.tools), len(match.left_off), match.more_left_off) == (8, 20, 32)
        match = await self.one(finder, "select:" + ",".join(names[:28]))
        assert (len(match.left_off), match.more_left_off) == (20, 0)
        finder.close()

    async def test_a_providers_alias_of_a_tool_is_its_name(self, finder):
        wires = [Aliases([name], rule).wire(name) for name, rule in (("pay.refund", CHAT), ("mail.send", RESPONSES))]
        match = await self.one(finder, f"select:{','.join(wires)}")
        assert (match.tools, match.unknown) == (("pay.refund", "mail.send"), ())
        match = await self.one(finder, f"select:{wires[0]}", server="mail")
        assert [one.name for one in match.unknown] == [wires[0]]

    async def test_an_ending_alone_is_none(self, finder):
        match = await self.one(finder, "select:pay_refund_aaaaaaaaaaaa")
        assert [one.near for one in match.unknown] == [("pay.refund",)]

    async def test_of_many_unknown_names_some_are_said_and_the_number_of_the_others(self, finder):
        match = await self.one(finder, "select:" + ",".join(f"none{n}" + "x" * 500 for n in range(3_000)))
        assert len(match.unknown) == 20
        assert all(len(one.name) == 101 for one in match.unknown)
        assert match.note == "2,980 more names were not found either."

    @pytest.mark.parametrize("query", ["select:", "select: , ,,", " SELECT:\n"])
    async def test_without_a_name_it_says_what_to_write(self, finder, query):
        match = await self.one(finder, query)
        assert match.nothing.startswith("No name stands behind 'select:'. Write the tools' names there")
        assert match.unknown == ()

    async def test_what_is_asked_for_and_has_no_place_is_said(self, finder):
        found = await finder.search(["select:pay.void,pay.refund", "select:geo.weather"], 2)
        assert [match.left_off for match in found.matches] == [("pay.refund",), ()]

    async def test_what_a_query_in_words_finds_beyond_its_places_is_not_said(self):
        finder = ToolFinder(many("stripe"))
        match = await self.one(finder, "edit something, find something, give something", most=1)
        assert (len(match.tools), match.left_off) == (1, ())
        finder.close()

    @pytest.mark.parametrize("query", ["stripe", " Stripe ", "STRIPE"])
    async def test_a_servers_name_alone_finds_its_tools(self, query):
        finder = ToolFinder(many("stripe", "crm"))
        match = await self.one(finder, query)
        assert len(match.tools) == 8
        assert all(name.startswith("stripe.") for name in match.tools)
        assert (
            match.note == f"{query.strip()!r} is a server with 10 tools. Say what is needed, to find those that do it."
        )
        assert len((await self.one(finder, query, most=50)).tools) == 10, "all of them, and no others"
        finder.close()

    async def test_a_servers_name_is_one_in_any_spelling(self):
        finder = ToolFinder(many("git-hub"))
        assert len((await self.one(finder, "GitHub")).tools) == 8
        finder.close()

    @pytest.mark.parametrize("query", ["", "!!", "🙂"])
    async def test_a_server_without_a_letter_to_its_name_is_not_what_an_empty_query_means(self, query):
        finder = ToolFinder(many("🙂"))
        match = await self.one(finder, query)
        assert (match.tools, match.note) == ((), "")
        finder.close()

    async def test_two_servers_that_are_spelled_alike_take_turns(self):
        finder = ToolFinder(many("stripe", "Stripe"))
        tools = (await self.one(finder, "stripe", most=4)).tools
        assert sorted(name[0] for name in tools) == ["S", "S", "s", "s"]
        assert {name[0] for name in (await self.one(finder, "stripe", server="Stripe")).tools} == {"S"}
        finder.close()

    async def test_a_tool_of_that_name_comes_first(self):
        own = ToolSpec(name="stripe", description="Take a card.")
        finder = ToolFinder([*many("stripe"), card_of(own, own.version)])
        match = await self.one(finder, "stripe", most=3)
        assert (match.tools[0], match.note) == ("stripe", "")
        finder.close()

    async def test_more_words_than_the_name_are_a_request_like_any_other(self):
        finder = ToolFinder(many("stripe", "crm"))
        assert (await self.one(finder, "stripe please")).note == ""
        match = await self.one(finder, "edit something with stripe")
        assert (match.tools[0], match.note) == ("stripe.edit", "")
        finder.close()

    async def test_a_server_that_is_not_searched_is_no_server(self):
        finder = ToolFinder(many("stripe", "crm"))
        match = await self.one(finder, "stripe", server="crm")
        assert not any(name.startswith("stripe.") for name in match.tools)
        assert match.note == ""
        finder.close()


class TestTrouble:
    async def test_a_damaged_index_is_made_anew_and_said_once_to_the_operator(self, tmp_path, caplog):
        path = tmp_path / "tools.db"
        first = ToolFinder(CARDS, path=path)
        await first.search(["refund"], 3)
        first.close()
        path.write_bytes(b"no database" * 500)
        again = ToolFinder(CARDS, path=path)
        found = await again.search(["refund a payment"], 3)
        await again.search(["refund a payment"], 3)
        again.close()
        assert found.matches[0].tools[0] == "pay.refund"
        assert [str(path) in record.getMessage() for record in caplog.records] == [True]
        assert found.trouble == "", "the model can do nothing about it"

    async def test_a_pipe_where_the_index_should_be_stops_nothing(self, tmp_path):
        os.mkfifo(tmp_path / "tools.db", 0o600)
        finder = ToolFinder(CARDS, path=tmp_path / "tools.db")
        assert (await finder.search(["refund a payment"], 3)).matches[0].tools[0] == "pay.refund"
        finder.close()

    async def test_changed_tools_are_found_as_they_are_now(self, tmp_path):
        path = tmp_path / "tools.db"
        first = ToolFinder(CARDS, path=path)
        await first.search(["refund"], 3)
        first.close()
        second = ToolFinder(cards(pay__refund="Translate a text."), path=path)
        assert (await second.search(["translate a text"], 3)).matches[0].tools == ("pay.refund",)
        assert (await second.search(["weather forecast"], 3)).matches[0].tools == ()
        second.close()


BY_WORDS = "Tools were searched by their words alone."


class Embedder:
    """Fails, or waits, as it is told to; what it gives finds nothing that words wouldn't."""

    name, version, dimensions, reads_unspaced, remote = "far", "1", 4, True, True

    def __init__(self):
        self.asked = 0
        self.error = None
        self.free = threading.Event()
        self.free.set()
        self.begun = threading.Event()

    def embed(self, texts):
        self.asked += 1
        self.begun.set()
        self.free.wait()
        if self.error is not None:
            raise self.error
        return [[1.0, float(len(text) % 7), float(len(text) % 3), 0.5] for text in texts]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.requirement("DEFR-04")
def test_a_finder_serves_one_loop_after_the_other_and_several_at_once():
    finder = ToolFinder(CARDS)

    async def many():
        found = await asyncio.gather(*(finder.search(["refund a payment"], 3) for _ in range(20)))
        assert {one.matches[0].tools[0] for one in found} == {"pay.refund"}
        return finder._threads()

    first, second = asyncio.run(many()), asyncio.run(many())
    assert first is not second
    assert first.total_tokens == 8
    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finder.close()


@pytest.mark.requirement("DEFR-04")
class TestEmbedder:
    @pytest.fixture(autouse=True)
    def numpy(self):
        pytest.importorskip("numpy")

    @pytest.fixture
    def far(self):
        return Embedder()

    @pytest.fixture
    def clock(self):
        return Clock()

    @pytest.fixture
    def finder(self, far, clock):
        made = ToolFinder(CARDS, embedder=lambda: far, monotonic=clock)
        yield made
        far.free.set()
        made.close()

    async def test_one_that_can_not_be_loaded_is_said_and_tried_again(self, far, clock, caplog):
        tries = []

        def load():
            tries.append(clock.now)
            if len(tries) == 1:
                raise RuntimeError("http://somewhere is down")
            return far

        finder = ToolFinder(CARDS, embedder=load, monotonic=clock)
        for _ in range(3):
            found = await finder.search(["refund a payment"], 3)
            assert (found.matches[0].tools[0], found.trouble) == ("pay.refund", BY_WORDS)
        assert [record.getMessage().count("http://somewhere is down") for record in caplog.records] == [1]
        clock.now = 60.0
        assert (await finder.search(["refund a payment"], 3)).trouble == ""
        assert tries == [0.0, 60.0]
        finder.close()

    async def test_one_that_fails_while_indexing_is_said_and_tried_again(self, finder, far, clock, caplog):
        far.error = RuntimeError("http://somewhere does not answer")
        for _ in range(3):
            assert (await finder.search(["refund a payment"], 3)).trouble == BY_WORDS
        assert (far.asked, len(caplog.records)) == (1, 1)
        far.error = None
        clock.now = 60.0
        assert (await finder.search(["refund a payment"], 3)).trouble == ""

    async def test_one_that_fails_with_a_query_is_said_and_tried_again(self, finder, far, clock, caplog):
        assert (await finder.search(["refund a payment"], 3)).trouble == ""
        far.error = RuntimeError("http://somewhere does not answer")
        asked = far.asked
        for _ in range(3):
            assert (await finder.search(["refund a payment"], 3)).trouble == BY_WORDS
        assert (far.asked, len(caplog.records)) == (asked + 1, 1)
        far.error = None
        clock.now = 60.0
        assert (await finder.search(["refund a payment"], 3)).trouble == ""

    async def test_each_of_several_causes_is_told(self, finder, far, clock, caplog):
        await finder.search(["refund a payment"], 3)
        for cause in ("no credit", "no such model"):
            far.error = RuntimeError(cause)
            await finder.search(["refund a payment", "weather forecast"], 3)
            clock.now += 60.0
        assert [
            cause in record.getMessage()
            for cause, record in zip(("no credit", "no such model"), caplog.records, strict=True)
        ] == [True, True]

    async def test_a_failure_while_tools_are_preselected_is_told_as_well(self, finder, far, caplog):
        await finder.search(["refund a payment"], 3)
        far.error = RuntimeError("http://somewhere does not answer")
        assert "pay.refund" in await finder.likely("Refund the payment", 2)
        assert await finder.likely("Hello there", 2) == ()
        assert [record.getMessage().count("http://somewhere") for record in caplog.records] == [1]

    async def test_what_needs_no_embedder_does_not_wait_for_it(self, finder, far):
        await finder.search(["refund a payment"], 3)
        far.free.clear()
        far.begun.clear()
        slow = asyncio.ensure_future(finder.search(["refund a payment"], 3))
        await asyncio.to_thread(far.begun.wait)
        assert (await finder.search(["select:mail.send"], 3)).matches[0].tools == ("mail.send",)
        assert not slow.done()
        far.free.set()
        assert (await slow).trouble == ""

    async def test_a_slow_one_takes_no_thread_from_others(self, finder, far):
        await finder.search(["refund a payment"], 3)
        far.free.clear()
        far.begun.clear()
        slow = [asyncio.ensure_future(finder.search(["refund a payment"], 3)) for _ in range(3)]
        slow.append(asyncio.ensure_future(finder.likely("refund a payment", 3)))
        await asyncio.to_thread(far.begun.wait)
        assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
        far.free.set()
        await asyncio.gather(*slow)

    async def test_of_many_searches_at_once_a_few_wait_for_a_slow_one_and_the_others_go_by_words(
        self, finder, far, caplog
    ):
        await finder.search(["refund a payment"], 3)
        far.free.clear()
        waiting = {asyncio.ensure_future(finder.search(["refund a payment"], 3)) for _ in range(40)}
        done = set()
        while len(done) < 36:
            now, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            done |= now
        assert {(one.result().matches[0].tools[0], one.result().trouble) for one in done} == {("pay.refund", BY_WORDS)}
        assert (await finder.search(["select:mail.send"], 3)).matches[0].tools == ("mail.send",)
        far.free.set()
        assert {found.trouble for found in await asyncio.gather(*waiting)} == {""}
        assert [record.getMessage() for record in caplog.records] == [
            "Tool search: The embedder is busy with other requests of this process. Tools were searched by words alone."
        ]

    async def test_nor_for_the_tools_to_be_indexed(self, finder, far):
        far.free.clear()
        slow = asyncio.ensure_future(finder.search(["refund a payment"], 3))
        await asyncio.to_thread(far.begun.wait)
        assert finder.doing == "indexing 4 tools by meaning"
        found = await finder.search(["select:mail.send", "select:mail.sned"], 3)
        assert (found.matches[0].tools, found.trouble) == (("mail.send",), "")
        assert finder.doing == "indexing 4 tools by meaning"
        assert not slow.done()
        far.free.set()
        await slow
        assert finder.doing == ""

    async def test_it_says_what_it_is_at(self, far, tmp_path, request):
        path = tmp_path / "tools.db"
        first = ToolFinder(CARDS[:3], path=path, embedder=lambda: far)
        await first.search(["refund a payment"], 3)
        first.close()
        loads, loaded = threading.Event(), threading.Event()

        request.addfinalizer(loaded.set)
        request.addfinalizer(far.free.set)

        def load():
            loads.set()
            loaded.wait()
            return far

        finder = ToolFinder(CARDS, path=path, embedder=load)
        assert finder.doing == ""
        search = asyncio.ensure_future(finder.search(["refund a payment"], 3))
        await asyncio.to_thread(loads.wait)
        assert finder.doing == "loading the embedder"
        far.free.clear()
        far.begun.clear()
        loaded.set()
        await asyncio.to_thread(far.begun.wait)
        assert finder.doing == "indexing 1 tool by meaning", "the others' vectors are kept"
        far.free.set()
        await search
        assert finder.doing == ""
        far.free.clear()
        far.begun.clear()
        search = asyncio.ensure_future(finder.search(["refund a payment"], 3))
        await asyncio.to_thread(far.begun.wait)
        assert finder.doing == "asking the embedder"
        far.free.set()
        await search
        assert finder.doing == ""
        finder.close()

    async def test_who_gives_up_waits_no_longer_and_nobody_waits_for_what_is_left(self, finder, far):
        far.free.clear()
        for wait in (finder.search(["refund a payment"], 3), finder.likely("refund a payment", 3)):
            waiting = asyncio.ensure_future(wait)
            await asyncio.to_thread(far.begun.wait)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert (await finder.search(["select:mail.send"], 3)).matches[0].tools == ("mail.send",)

    async def test_words_go_on_when_indexing_takes_too_long(self, far, caplog, monkeypatch):
        monkeypatch.setattr(meaning, "_AT_FIRST", 0.01)
        far.free.clear()
        finder = ToolFinder(CARDS, embedder=lambda: far)
        found = await finder.search(["refund a payment"], 3)
        assert (found.matches[0].tools[0], found.trouble) == ("pay.refund", BY_WORDS)
        assert "still being indexed by meaning" in caplog.text
        far.free.set()
        await finder.search(["refund a payment"], 3)
        finder.close()

    async def test_who_closes_it_waits_for_nothing(self, far):
        finder = ToolFinder(CARDS, embedder=lambda: far)
        await finder.search(["refund a payment"], 3)
        far.free.clear()
        far.begun.clear()
        waiting = asyncio.ensure_future(finder.search(["select:mail.send", "refund a payment"], 3))
        await asyncio.to_thread(far.begun.wait)
        finder.close()
        with contextlib.suppress(Exception):
            await waiting
        far.free.set()

    async def test_its_end_is_heard_between_two_batches(self, far, tmp_path):
        finder = ToolFinder(many(*(f"s{n}" for n in range(30))), path=tmp_path / "tools.db", embedder=lambda: far)
        far.free.clear()
        waiting = asyncio.ensure_future(finder.search(["edit something"], 3))
        await asyncio.to_thread(far.begun.wait)
        finder.close()
        far.free.set()
        await waiting
        assert far.asked == 1
