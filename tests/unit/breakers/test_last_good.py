"""Where earlier answers stand, over processes and reboots: what can't be trusted is as if it were not there (RESI-05)."""

import logging
import sqlite3

import pytest

from callslip.breakers.last_good import FileLastGood, MemoryLastGood
from callslip.ports.last_good import Place

pytestmark = pytest.mark.requirement("RESI-05")

HERE, THERE = Place("one", 7), Place("two", 9)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "last-good.db"


@pytest.fixture
def opened(path):
    made = []

    def open_one(**settings):
        made.append(FileLastGood(path, **settings))
        return made[-1]

    yield open_one
    for one in made:
        one.close()


@pytest.fixture(params=["memory", "file"])
def store(request, opened):
    return MemoryLastGood(2) if request.param == "memory" else opened(many=2)


def test_the_latest_place_of_a_key_and_the_oldest_keys_are_forgotten(store):
    assert store.find("a") is None
    store.keep("a", HERE)
    store.keep("a", THERE)
    assert store.find("a") == THERE
    store.keep("b", HERE)
    store.keep("c", HERE)
    assert (store.find("a"), store.find("b"), store.find("c")) == (None, HERE, HERE)


def test_it_outlives_its_process_and_the_start_of_the_kernel(opened, path):
    first = opened()
    first.keep("a", HERE)
    first.close()
    assert path.exists(), "its name says nothing of the kernel's start"
    assert opened().find("a") == HERE


@pytest.mark.parametrize("change", ["session = 'two'", "seq = 8", "sum = ''"])
def test_a_row_that_nobody_wrote_is_none(opened, path, change):
    opened().keep("a", HERE)
    with sqlite3.connect(path) as connection:
        connection.execute(f"update good set {change}")
    connection.close()
    assert opened().find("a") is None


def test_nor_is_the_row_of_another_key(opened, path):
    store = opened()
    store.keep("a", HERE)
    with sqlite3.connect(path) as connection:
        connection.execute("update good set key = 'b'")
    connection.close()
    assert store.find("b") is None


@pytest.mark.parametrize("content", [b"damaged" * 1000, None])
def test_a_file_that_can_not_be_used_is_done_without_and_said_once(opened, path, caplog, content):
    if content is None:
        with sqlite3.connect(path) as connection:
            connection.execute("pragma user_version = 99")
        connection.close()
    else:
        path.write_bytes(content)
    store = opened()
    with caplog.at_level(logging.WARNING):
        store.keep("a", HERE)
        assert store.find("a") is None
    (said,) = [record.getMessage() for record in caplog.records]
    assert "Until then, no earlier answer stands in for a tool that fails." in said
    assert "held" not in said
