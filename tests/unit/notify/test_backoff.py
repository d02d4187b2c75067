"""Pauses grow, are random, and end at an hour; an endpoint may ask for longer ones, up to a day."""

from __future__ import annotations

import random

import pytest

from callslip.notify.backoff import GIVE_UP, LONGEST, SHORTEST, asked_pause, pause

NOW = 1_700_000_000_000  # Tue, 14 Nov 2023 22:13:20 GMT


class Most(random.Random):
    def uniform(self, a, b):
        return b


class Least(random.Random):
    def uniform(self, a, b):
        return a


def test_the_ceiling_doubles_from_two_seconds_to_an_hour():
    assert [pause(failures, Most()) for failures in range(1, 6)] == [2000, 4000, 8000, 16000, 32000]
    assert [pause(failures, Most()) for failures in (11, 12, 13, 10_000)] == [2_048_000, LONGEST, LONGEST, LONGEST]


def test_a_pause_is_anything_from_a_second_to_the_ceiling():
    assert {pause(failures, Least()) for failures in range(20)} == {SHORTEST}
    chance = random.Random(7)
    drawn = [pause(10, chance) for _ in range(400)]
    assert min(drawn) < 100_000
    assert max(drawn) > 900_000
    assert len(set(drawn)) > 390


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("", 0),
        ("120", 120_000),
        (" 7 ", 7000),
        ("0", 0),
        ("-5", 0),
        ("1.5", 2000),
        ("soon", 0),
        ("Tue, 14 Nov 2023 22:15:20 GMT", 120_000),
        ("Tue, 14 Nov 2023 22:15:20", 120_000),
        ("Tue, 14 Nov 2023 22:11:20 GMT", 0),
        ("999999999", GIVE_UP),
        ("9" * 400, 0),
        ("Fri, 14 Nov 2053 22:13:20 GMT", GIVE_UP),
        ("١٢٠", 0),
    ],
)
def test_what_an_endpoint_asks_for(header, asked):
    assert asked_pause(header, now=NOW) == asked
