"""An embedder that is slow or fails: how long it is waited for, and when it is asked again."""

import queue
import threading
from typing import Any

import pytest

from callslip.routing.patient import EmbedderBusy, EmbedderFailed, Patient

pytestmark = pytest.mark.requirement("DEFR-04")


BUSY = "it is busy with other requests of this process"


class Far:
    name, version, dimensions, reads_unspaced, remote = "far", "1", 3, False, True

    def __init__(self) -> None:
        self.asked = 0
        self.error: BaseException | None = None
        self.free = threading.Event()
        self.free.set()
        self.begun = threading.Event()
        self.threads: set[str] = set()

    def embed(self, texts: Any) -> Any:
        self.asked += 1
        self.threads.add(threading.current_thread().name)
        self.begun.set()
        self.free.wait()
        if self.error is not None:
            raise self.error
        return [[1.0, 0.0, 0.0]] * len(texts)


class Near(Far):
    remote = False


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def failing(patient: Patient, texts: int = 1) -> str:
    with pytest.raises(EmbedderFailed) as failed:
        patient.embed(["x"] * texts)
    return str(failed.value)


def test_it_is_as_the_one_it_asks() -> None:
    patient = Patient(Far())
    assert (patient.name, patient.version, patient.dimensions, patient.reads_unspaced, patient.remote) == (
        "far", "1", 3, False, True,
    )  # fmt: skip
    assert len(patient.embed(["a", "b"])) == 2


def test_one_elsewhere_is_asked_in_a_thread_and_one_here_in_none() -> None:
    here = threading.current_thread().name
    far, near = Far(), Near()
    Patient(far).embed(["a"])
    Patient(near).embed(["a"])
    assert here not in far.threads
    assert near.threads == {here}


@pytest.mark.parametrize("many", [False, True])
def test_who_gives_no_answer_in_time_is_left_to_itself_and_not_asked_before_it_is_through(many: bool) -> None:
    clock, far = Clock(), Far()
    far.free.clear()
    patient = Patient(far, clock, query=60 if many else 0.01, batch=0.01 if many else 60)
    texts = 17 if many else 16
    assert failing(patient, texts) == "it gave no answer in time"
    clock.now = 1_000
    assert failing(patient, texts) == "it gave no answer in time"
    assert far.asked == 1
    far.free.set()
    assert patient._request is not None
    patient._request.join()
    assert len(patient.embed(["a"])) == 1


@pytest.mark.parametrize("kind", [Far, Near])
@pytest.mark.parametrize("error", [RuntimeError("boom"), MemoryError(), SystemExit(3)])
def test_what_failed_is_asked_again_after_a_while_and_says_the_same_until_then(kind: Any, error: Any) -> None:
    clock, far = Clock(), kind()
    patient = Patient(far, clock)
    far.error = error
    said = failing(patient)
    assert said == f"{type(error).__name__}: {error}"
    far.error = None
    clock.now = 59.9
    assert (failing(patient), far.asked) == (said, 1)
    clock.now = 60.0
    assert len(patient.embed(["a"])) == 1
    assert len(patient.embed(["a"])) == 1, "and all is as it was"


def test_who_finds_it_busy_waits_no_longer_either() -> None:
    far = Far()
    far.free.clear()
    patient = Patient(far, query=0.01, batch=60)
    with_batch = threading.Thread(target=patient.embed, args=(["x"] * 17,))
    with_batch.start()
    far.begun.wait()
    assert failing(patient) == BUSY
    far.free.set()
    with_batch.join()
    assert len(patient.embed(["a"])) == 1, "which is no failure of it"


class Places(threading.Semaphore):
    """Says when one more waits."""

    def __init__(self) -> None:
        super().__init__(3)
        self.taken: queue.Queue[None] = queue.Queue()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        there = super().acquire(blocking, timeout)
        if there:
            self.taken.put(None)
        return there


def test_no_more_than_three_wait_and_the_others_are_told_at_once() -> None:
    far = Far()
    far.free.clear()
    patient = Patient(far, query=60)
    patient._places = places = Places()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(patient.embed(["x"])))) for _ in range(4)]
    threads[0].start()
    far.begun.wait()
    for thread in threads[1:]:
        thread.start()
        places.taken.get()
    with pytest.raises(EmbedderBusy, match=BUSY):
        patient.embed(["x"])
    far.free.set()
    for thread in threads:
        thread.join()
    assert (found, far.asked) == ([1, 1, 1, 1], 4)
    assert len(patient.embed(["a"])) == 1, "which is no failure of it, and leaves its place"


@pytest.mark.parametrize(("kind", "texts"), [(Near, 1), (Far, 17)])
def test_one_here_which_is_quick_and_a_batch_of_tools_are_waited_for_by_all(kind: Any, texts: int) -> None:
    far = kind()
    patient = Patient(far, query=60, batch=60)
    patient._places = Places()
    for _ in range(3):
        patient._places.acquire()
    far.free.clear()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(patient.embed(["x"] * texts)))) for _ in range(6)]
    for thread in threads:
        thread.start()
    far.begun.wait()
    far.free.set()
    for thread in threads:
        thread.join()
    assert found == [texts] * 6


def test_at_the_end_nobody_waits() -> None:
    far = Far()
    far.free.clear()
    patient = Patient(far, query=60)
    said: list[str] = []
    waiting = threading.Thread(target=lambda: said.append(failing(patient)))
    waiting.start()
    far.begun.wait()
    patient.close()
    waiting.join()
    far.free.set()
    assert said == ["it is not wanted any more"]
