"""Who is next: slots, rates and patience, with times that are passed in (PARA-02, PARA-04)."""

import msgspec
import pytest

from callslip.authorities.rules import PATIENCE, Bucket, Ticket, decide, in_the_way, standing
from callslip.core.claim import Claim, Kind
from callslip.ports.authority import Capacity, Holder, Standing

pytestmark = pytest.mark.requirement("PARA-02", "PARA-04")

ONE = {"one": Capacity(at_once=1), "other": Capacity(at_once=1)}
RATE = {"rate": Capacity(calls=2, per=10.0)}


def ticket(number, *claims, since=0.0, granted=False):
    """Claims as ``slot:one``, ``read f``, ``f``."""
    made = []
    for text in claims:
        shared, name = text.startswith("read "), text.removeprefix("read ")
        slot = name.startswith("slot:")
        name = name.removeprefix("slot:")
        made.append(Claim(text=text, kind=Kind.SLOT if slot else Kind.NAMED, shared=shared, ids=(name,)))
    holder = Holder(session="s", call_id=str(number), tool="t")
    return Ticket(number=number, holder=holder, claims=tuple(made), since=since, granted=granted)


def granted(line, capacities=None, now=0.0, buckets=None):
    return [one.number for one in decide(line, capacities or {}, buckets or {}, now).granted]


def test_in_the_order_they_came():
    assert granted([ticket(1, "a"), ticket(2, "a"), ticket(3, "b")]) == [1, 3]


def test_a_reader_waits_behind_a_waiting_writer():
    line = [ticket(1, "read a", granted=True), ticket(2, "a"), ticket(3, "read a")]
    assert granted(line) == []
    assert granted([line[0], line[2]]) == [3]


def test_who_waits_for_a_file_bars_all_that_it_claims():
    assert granted([ticket(1, "a", granted=True), ticket(2, "a", "b"), ticket(3, "b")]) == []


def test_who_waits_for_a_file_keeps_no_slot_from_others():
    assert granted([ticket(1, "a", granted=True), ticket(2, "a", "slot:one"), ticket(3, "slot:one")], ONE) == [3]


def test_who_waits_for_a_slot_bars_nobody_from_a_file_or_from_another_slot():
    full = ticket(1, "slot:one", granted=True)
    waits = ticket(2, "slot:one", "slot:other", "a")
    assert granted([full, waits, ticket(3, "a")], ONE) == [3]
    assert granted([full, waits, ticket(3, "slot:other")], ONE) == [3]
    assert granted([waits, ticket(3, "slot:other")], ONE) == [2]
    assert granted([waits, ticket(3, "slot:one")], ONE) == [2], "its place for the slot it keeps"


@pytest.mark.parametrize(("waited", "passed_by"), [(PATIENCE - 0.001, True), (PATIENCE, False)])
def test_patience_ends(waited, passed_by):
    full = ticket(1, "slot:one", granted=True)
    waits = ticket(2, "slot:one", "slot:other", "a")
    for claim in ("a", "slot:other"):
        assert granted([full, waits, ticket(3, claim, since=waited)], ONE, now=waited) == ([3] if passed_by else [])
    holds = ticket(1, "a", granted=True)
    waits = ticket(2, "a", "slot:one")
    later = ticket(3, "slot:one", since=waited)
    assert granted([holds, waits, later], ONE, now=waited) == ([3] if passed_by else [])
    assert granted([waits, later], ONE, now=waited) == [2]


def test_time_alone_helps_nobody_but_those_that_wait_for_a_rate():
    line = [ticket(1, "slot:one", "a", granted=True), ticket(2, "slot:one"), ticket(3, "a", "slot:one")]
    assert decide(line, ONE, {}, 0.0).again is None


def test_only_so_many_at_once_and_one_without_limit_always():
    assert granted([ticket(n, "slot:one") for n in range(3)], {"one": Capacity(at_once=2)}) == [0, 1]
    assert granted([ticket(n, "slot:free") for n in range(3)], ONE) == [0, 1, 2]


def test_one_without_limit_is_free_however_long_somebody_waits_beside_it():
    held = ticket(1, "a", granted=True)
    patient = ticket(2, "a", "slot:free", since=-PATIENCE)
    assert granted([held, patient, ticket(3, "slot:free")], ONE) == [3]


def test_a_slot_that_is_claimed_twice_is_taken_once():
    assert granted([ticket(1, "slot:one", "read slot:one"), ticket(2, "slot:one")], ONE) == [1]
    assert granted([ticket(1, "slot:two", "read slot:two"), ticket(2, "slot:two")], {"two": Capacity(at_once=2)}) == [
        1,
        2,
    ]


def test_a_rate_is_spent_and_fills_up():
    line = [ticket(n, "slot:rate") for n in range(4)]
    first = decide(line, RATE, {}, 100.0)
    assert [one.number for one in first.granted] == [0, 1]
    assert first.again == pytest.approx(5.0)
    rest = line[2:]
    assert decide(rest, RATE, first.buckets, 104.0).granted == []
    assert decide(rest, RATE, first.buckets, 104.0).again == pytest.approx(1.0)
    second = decide(rest, RATE, first.buckets, 105.0)
    assert [one.number for one in second.granted] == [2]
    assert granted(line, RATE, 10_000.0, second.buckets) == [0, 1], "never more than its size"


def test_two_rates_are_waited_for_together():
    rates = {"quick": Capacity(calls=1, per=1.0), "slow": Capacity(calls=1, per=10.0)}
    empty = {"quick": Bucket(0.0, 0.0), "slow": Bucket(0.0, 0.0)}
    line = [ticket(1, "slot:quick", "slot:slow")]
    assert decide(line, rates, empty, 0.0).again == pytest.approx(10.0)
    assert granted(line, rates, 9.9, empty) == []
    assert granted(line, rates, 10.0, empty) == [1]


def test_one_that_waits_for_two_rates_keeps_nobody_longer_than_it_has_to():
    rates = {"quick": Capacity(calls=1, per=1.0), "slow": Capacity(calls=1, per=10.0)}
    empty = {"quick": Bucket(0.0, 0.0), "slow": Bucket(0.0, 0.0)}
    line = [ticket(1, "slot:quick", "slot:slow"), ticket(2, "slot:quick")]
    assert decide(line, rates, empty, 0.0).again == pytest.approx(1.0)
    assert granted(line, rates, 1.0, empty) == [2]


def test_what_is_in_a_tree_and_what_is_above():
    def path(number, kind, name, *above, held=False):
        claim = Claim(text=name, kind=Kind(kind), shared=False, ids=(name,), above=above)
        return Ticket(
            number=number, holder=Holder(session="s", call_id="c", tool="t"), claims=(claim,), since=0.0, granted=held
        )

    tree, file = path(1, "tree", "d", "/", held=True), path(2, "file", "d/x", "/", "d")
    assert granted([tree, file]) == []
    file, tree = path(1, "file", "d/x", "/", "d", held=True), path(2, "tree", "d", "/")
    assert granted([file, tree]) == []
    assert granted([file, path(2, "tree", "e", "/"), path(3, "file", "d", "/")]) == [2, 3]


def test_a_reader_beside_a_writer_hides_nothing():
    writer, reader = ticket(1, "a", "b", granted=True), ticket(2, "read a", "b")
    assert granted([writer, reader, ticket(3, "read a")]) == []


def test_a_rate_whose_place_depends_on_others_too_is_not_waited_for_in_vain():
    both = {"both": Capacity(at_once=1, calls=5, per=10.0), "rate": Capacity(calls=1, per=10.0)}
    spent = {"both": Bucket(0.0, 0.0), "rate": Bucket(0.0, 0.0)}
    line = [ticket(1, "slot:both", granted=True), ticket(2, "slot:both", "slot:rate")]
    assert decide(line, both, spent, 0.0).again is None, "until somebody leaves"
    assert decide(line[1:], both, spent, 0.0).again == pytest.approx(10.0)


@pytest.mark.parametrize("per", [1e-3, 1.0, 7.0, 86400.0])
def test_the_time_that_is_named_is_long_enough(per):
    capacities = {"rate": Capacity(calls=3, per=per)}
    now, buckets = 12345.678, {}
    for number in range(200):
        decision = decide([ticket(number, "slot:rate")], capacities, buckets, now)
        if not decision.granted:
            now += decision.again
            decision = decide([ticket(number, "slot:rate")], capacities, decision.buckets, now)
        assert decision.granted, number
        buckets = decision.buckets


def test_a_clock_that_steps_back_gives_nothing_and_no_time_twice():
    bucket = Bucket(0.0, 100.0)
    for now in (50.0, 0.0, 100.0, 20.0, 100.0):
        bucket = bucket.now(RATE["rate"], now)
    assert bucket == Bucket(0.0, 100.0)
    late = ticket(1, "a", since=100.0)
    assert granted([late], {}, now=50.0) == [1]
    assert standing(late, 50.0).seconds == 0
    spent = {"rate": Bucket(0.0, 100.0)}
    assert granted([ticket(1, "slot:rate")], RATE, 50.0, spent) == []
    granting = decide([ticket(1, "slot:rate")], RATE, {"rate": Bucket(2.0, 100.0)}, 50.0)
    assert granting.buckets["rate"] == Bucket(1.0, 100.0)


def test_nothing_that_was_given_is_changed():
    line, buckets = [ticket(1, "slot:rate")], {"rate": Bucket(1.0, 0.0)}
    decide(line, RATE, buckets, 5.0)
    assert not line[0].granted
    assert buckets == {"rate": Bucket(1.0, 0.0)}


def test_who_stands_in_the_way():
    line = [
        ticket(1, "a", granted=True),
        ticket(2, "slot:one", granted=True),
        ticket(3, "slot:free", granted=True),
        ticket(4, "b", "slot:one"),
        ticket(5, "read c", granted=True),
        ticket(6, "slot:one", "slot:free", "a", "read c"),
        ticket(7, "a"),
    ]
    assert [holder.call_id for holder in in_the_way(line[5], line, ONE)] == ["1", "2", "4"]
    assert [holder.call_id for holder in in_the_way(line[3], line, ONE)] == ["2"]


def test_what_people_are_shown():
    one = ticket(1, "read a", "slot:one", since=3.0, granted=True)
    assert standing(one, 5.0) == Standing(
        holder=one.holder, claims=("read a", "slot:one"), granted=True, seconds=2.0, held=2.0
    )
    later = msgspec.structs.replace(one, held_since=4.5)
    assert standing(later, 5.0, gone=True).held == 0.5
    assert standing(later, 5.0, gone=True).gone
    assert standing(ticket(2, "a", since=3.0), 5.0).held is None


@pytest.mark.parametrize(
    "limits",
    [{"at_once": 0}, {"at_once": -1}, {"calls": 0}, {"calls": 1, "per": 0.0}, {"calls": 1, "per": -1.0},
     {"calls": 1, "per": float("nan")}, {"calls": 1, "per": float("inf")}, {}, {"per": 5.0}],
)  # fmt: skip
def test_a_capacity_that_nobody_could_use_is_refused(limits):
    with pytest.raises(ValueError, match="capacity"):
        Capacity(**limits)


def test_a_long_line_is_decided_in_time_that_grows_with_its_length_only():
    """Counted, not timed: how often a claim is compared with a name that somebody has."""
    looks = 0

    class Name(str):
        __slots__ = ()

        def __hash__(self):
            nonlocal looks
            looks += 1
            return super().__hash__()

    def line(length):
        return [
            Ticket(
                number=number,
                holder=Holder(session="s", call_id="c", tool="t"),
                claims=(Claim(text="", kind=Kind.NAMED, shared=False, ids=(Name(number),)),),
                since=0.0,
            )
            for number in range(length)
        ]

    def counted(length):
        nonlocal looks
        looks = 0
        decide(line(length), {}, {}, 0.0)
        return looks

    assert counted(200) <= 2 * counted(100) + 10
