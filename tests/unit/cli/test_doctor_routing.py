"""What doctor and ``callslip tools`` say of tools that have to be found."""

import contextlib
import json
import os
import sqlite3

import pytest

from callslip import bound

APP = """
from callslip import Runtime, tool
from callslip.providers.scripted import Scripted, calling


def made(name, size=1, **more):
    def run(thing: str = "") -> str:
        return "done"

    run.__doc__ = "Do it. " * size
    return tool(name=name, risk="read", **more)(run)


MANY = [made(f"pay.deed_{n}") for n in range(60)]
LARGE = [*MANY, made("pay.large", 8_000)]
MOST = [*MANY[:5], *(made(f"pay.huge_{n}", 800) for n in range(7))]
HUGE = [*MANY, *(made(f"pay.huge_{n}", 8_000) for n in range(7))]
SCRIPT = [calling(("tool_search", {"queries": "select:pay.deed_1"})), "Done."]
"""
NEVER = "can be found and never shown: its schema takes about 14,038 tokens"
HELPS = "Raise `tokens` in [routing], pin it, or shorten its description and schema"
NO_PLACE = (
    "preselect = {}, and a turn shows none unasked where tools = 1: its only place is for what is searched for. To change "
    'that, raise `tools` in [routing], or set preselect = "off"'
)
NONE_EVER = (
    "No tool that has to be found can ever be shown, since the schemas are larger than all the room: raise `tokens` in "
    "[routing]; `callslip tools` names them"
)
ITSELF = "the one tool that is shown in every step takes about 197 tokens of each request"


@pytest.fixture
def app(project, monkeypatch):
    monkeypatch.setattr(bound, "find_spec", lambda name: None)
    project.write("many.py", APP)

    def settings(tools="LARGE", /, **routing):
        said = "".join(f"{name} = {json.dumps(value)}\n" for name, value in routing.items())
        project.write(f"rt_{tools}.py".lower(), _made(tools))
        project.configure(f'app = "rt_{tools.lower()}.py:rt"\nstate = "state"\n[routing]\n{said}')
        return project

    return settings


def _made(tools):
    return APP + f"rt = Runtime(tools={tools}, model=Scripted(SCRIPT))\n"


def found(project, code=0):
    report = project.json("doctor", code=code)
    said = {}
    for one in report["checks"]:
        said.setdefault(one["check"], []).append((one["level"], one["detail"]))
    return said


@pytest.mark.requirement("DEFR-02")
class TestRoom:
    def test_a_tool_that_there_is_never_room_for_is_warned_of(self, app):
        project = app(defer="all")
        assert found(project)["tool pay.large"][-1] == (
            "warn",
            f"{NEVER}, and a turn has 12,000 for all found tools. {HELPS}",
        )
        said = " ".join(project("tools").stdout.split())
        assert "! pay.large can be found and never shown: its schema takes about 14,038 tokens" in said
        assert project.json("tools")["never_shown"] == [{"name": "pay.large", "tokens": 14_038}]
        assert "It can be found and never shown" in project("tools", "pay.large").stdout
        assert "never shown" not in project("tools", "pay.deed_1").stdout

    @pytest.mark.parametrize("routing", [{"tokens": 14_038}, {"pinned": ["pay.large"]}])
    def test_what_it_says_helps(self, app, routing):
        project = app(defer="all", **routing)
        assert not any("never shown" in detail for _, detail in found(project)["tool pay.large"])
        assert project.json("tools")["never_shown"] == []
        assert "never shown" not in project("tools").stdout

    def test_of_many_such_tools_some_are_named_and_tools_names_all(self, app):
        project = app("HUGE", defer="all")
        said = found(project)
        assert sum("never shown" in detail for each in said.values() for _, detail in each) == 5
        assert said["tools found"][1] == ("warn", "2 more can never be shown: `callslip tools` names them")
        assert len(project.json("tools")["never_shown"]) == 7

    @pytest.mark.requirement("DEFR-04")
    def test_more_preselected_tools_than_there_are_places_for_guesses_are_warned_of(self, app):
        ((level, detail),) = found(app("MANY", defer="all", preselect=11))["preselect"]
        assert level == "warn"
        assert detail == (
            "preselect = 11, and a turn shows no more than 10 unasked (half of `tools`): the rest is for what is "
            "searched for. Lower it, or raise `tools` in [routing]"
        )
        for fine in (10, "auto", "off"):
            assert "preselect" not in found(app("MANY", defer="all", preselect=fine))

    @pytest.mark.requirement("DEFR-04")
    @pytest.mark.parametrize(("preselect", "said"), [("auto", '"auto"'), (3, "3")])
    def test_where_there_is_no_place_for_guesses_that_is_said(self, app, preselect, said):
        assert found(app("MANY", defer="all", tools=1, preselect=preselect))["preselect"] == [
            ("warn", NO_PLACE.format(said))
        ]
        for fine in (0, "off"):
            assert "preselect" not in found(app("MANY", defer="all", tools=1, preselect=fine))
        assert "preselect" not in found(app("MANY", defer="all", tools=2))

    def test_where_most_tools_can_never_be_shown_something_is_wrong(self, app):
        assert found(app("MANY", defer="all", tokens=10), code=1)["tools found"][-1] == ("bad", NONE_EVER)
        most = app("MOST", defer="all", tokens=100)
        assert found(most, code=1)["tools found"][-1][1].startswith(
            "7 of the 12 tools that have to be found can never be shown, since"
        )
        assert "Nothing is wrong" not in most("doctor", code=1).stdout

    def test_the_size_of_each_is_shown(self, app):
        assert "tokens of a request" in app("MANY", defer="all")("tools", "pay.deed_1").stdout


@pytest.mark.requirement("DEFR-01")
class TestShown:
    def test_many_tools_that_are_all_shown_are_warned_of(self, app):
        ((level, detail),) = found(app("MANY"))["tools shown"]
        assert (level, detail.startswith("the 60 tools that are shown in every step take about ")) == ("warn", True)
        assert '`defer = "auto"` in [routing]' in detail

    def test_large_ones_are_warned_of_though_they_are_few(self, app):
        pinned = ["pay.huge_1", "pay.huge_2"]
        ((level, detail),) = found(app("HUGE", defer="all", pinned=pinned))["tools shown"]
        assert (level, detail.startswith("the 3 tools that are shown in every step take about 28,")) == ("warn", True)
        assert "pin fewer" in detail

    def test_that_is_said_once(self, app):
        said = found(app("HUGE", defer="all", pinned=["pay.huge_1", "pay.huge_2"]))
        details = [detail for each in said.values() for _, detail in each]
        assert sum("the 3 tools that are shown in every step take" in detail for detail in details) == 1

    def test_the_search_itself_is_nothing_that_could_be_pinned_less(self, app):
        said = found(app("MANY", defer="all", tokens=150))
        assert ("tools shown" in said, ITSELF in said["tools found"][0][1]) == (False, True)

    def test_few_and_small_ones_are_fine(self, app, project):
        said = found(app("MANY", defer="auto"))
        assert "tools shown" not in said
        assert said["tools found"] == [
            ("ok", f"60 by search, by words alone (callslip[vectors] compares meaning); {ITSELF}")
        ]

    def test_where_all_are_shown_nothing_is_said_of_searches(self, project):
        assert {"tools found", "tools shown", "tool index", "tool vectors"}.isdisjoint(found(project))

    def test_a_pinned_tool_that_is_not_there_is_put_right_before_a_run_finds_out(self, app):
        ((level, detail),) = found(app("MANY", pinned=["pay.gone"]), code=1)["routing"]
        assert (level, "'pay.gone' is to be pinned and is not bound" in detail) == ("bad", True)

    def test_the_advice_counts_what_is_shown_at_once(self, app):
        def advised(project):
            return [one for one in project.json("tools", "--lint")["warnings"] if one["code"] == "too_many_tools"]

        assert advised(app("MANY", defer="all")) == []
        assert advised(app("MANY", defer="none"))[0]["message"].startswith("60 tools are visible at once")


@pytest.mark.requirement("DEFR-04")
class TestEmbedder:
    def said(self, project):
        said = found(project)
        return said["tools found"][0][1].partition(";")[0], said.get("embedder")

    def test_words_alone_if_that_is_wanted(self, app):
        assert self.said(app("MANY", defer="all", embedder="off")) == ("60 by search, by words alone", None)

    def test_the_one_on_this_machine_where_it_is_installed(self, app, monkeypatch):
        monkeypatch.setattr(bound, "find_spec", lambda name: object())
        project = app("MANY", defer="all")
        assert self.said(project) == ("60 by search, by words and meaning (embedder local)", None)

    def test_one_that_is_not_installed_is_put_right(self, app):
        ((level, detail),) = found(app("MANY", defer="all", embedder="local"), code=1)["routing"]
        assert (level, "Install callslip[vectors]" in detail) == ("bad", True)

    def test_one_elsewhere_and_its_key(self, app, monkeypatch):
        monkeypatch.setattr(bound, "find_spec", lambda name: object())
        project = app("MANY", defer="all", embedder="openai:small")
        by = "60 by search, by words and meaning (embedder openai:small"
        used, key = self.said(project)
        assert used == by
        assert key[0][0] == "warn"
        assert key[0][1].endswith("; tools would be searched by words alone")
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        assert self.said(project) == (by, None)


def _text(path):
    path.write_bytes(b"no database" * 500)


def _older(path):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("pragma user_version = 1")


def _torn(path):
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    path.write_bytes(data)


def _moved(path):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("update card set no = no + 1000")


def _pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.requirement("DEFR-04")
class TestIndex:
    @pytest.fixture
    def kept(self, app):
        project = app("MANY", defer="all")
        assert found(project)["tool index"] == [("ok", "none kept yet: the first search makes it")]
        project("run", "hello", "--session", "s")
        return project

    def test_one_that_can_be_used(self, kept):
        ((level, detail),) = found(kept)["tool index"]
        assert (level, detail.startswith("tools.db can be used, ")) == ("ok", True)

    @pytest.mark.parametrize(
        ("damage", "said"),
        [
            (_text, "can't be used"),
            (_older, "it is of version 1"),
            (_torn, "can't be used"),
            (_moved, "its content is not what was written"),
            (_pipe, "is no file"),
        ],
    )
    def test_one_that_can_not_is_a_hint_and_is_left_as_it_is(self, kept, damage, said):
        path = kept.state / "tools.db"
        damage(path)
        before = path.read_bytes() if path.is_file() else None
        ((level, detail),) = found(kept)["tool index"]
        assert (level, said in detail, "made anew by" in detail or "makes it anew by itself" in detail) == (
            "warn", True, True,
        )  # fmt: skip
        assert (path.read_bytes() if path.is_file() else None) == before

    @pytest.mark.parametrize("damage", [_text, _moved])
    def test_what_was_said_is_true(self, kept, damage):
        damage(kept.state / "tools.db")
        kept("run", "hello", "--session", "t")
        assert found(kept)["tool index"][0][0] == "ok"

    def test_the_vectors_beside_it(self, kept, monkeypatch):
        assert "tool vectors" not in found(kept), "nothing compares by meaning here"
        monkeypatch.setattr(bound, "find_spec", lambda name: object())
        path = kept.state / "tools.db.vectors"
        assert found(kept)["tool vectors"] == [("ok", "none kept yet: the first search makes them")]
        path.touch(0o600)
        assert found(kept)["tool vectors"] == [("ok", "none kept yet: the first search makes them")]
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("create table vector (embedder text, identity text, row blob)")
            db.execute("insert into vector values ('e', 'i', x'00')")
        ((level, detail),) = found(kept)["tool vectors"]
        assert (level, detail) == ("ok", "tools.db.vectors can be used, 1 of them, 8 KiB")
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("begin exclusive")
            ((level, detail),) = found(kept)["tool vectors"]
        assert (level, "database is locked" in detail, "it is left alone" in detail) == ("warn", True, True)
        _text(path)
        ((level, detail),) = found(kept)["tool vectors"]
        assert (level, "the next search makes it anew by itself" in detail) == ("warn", True)
