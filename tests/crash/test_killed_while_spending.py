"""kill -9 in the middle of a turn: the next process goes on counting where it was, and ends where the first would have."""

import signal

import pytest

ENDS = {"budget": (7, "turn.tokens", ["None"] * 7), "loop": (5, "loop", ["locked"] * 3 + ["loop"] * 2)}


def drive(process, steps):
    """Let it take so many steps, or as many as it takes; what it says."""
    said = []
    while len(said) < steps:
        process.stdin.write("\n")
        process.stdin.flush()
        line = process.stdout.readline().split(maxsplit=1)
        if not line or line[0] == "ended":
            return said, line
        said.append(line[1].strip())
    return said, None


@pytest.mark.requirement("RESI-06")
@pytest.mark.requirement("ARGS-05")
@pytest.mark.parametrize("what", list(ENDS))
@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.timeout(120)
def test_nothing_of_it_is_forgotten(processes, what, each):
    steps, limit, answers = ENDS[what]
    said = []
    process = processes.start("spending", what, "first")
    while len(said) + each < steps:
        more, ended = drive(process, each)
        assert ended is None
        said += more
        process.send_signal(signal.SIGKILL)
        process.wait()
        process = processes.start("spending", what, "again")
    more, _ = drive(process, steps - len(said))
    said += more
    assert said == answers
    assert process.stdout.readline().split() == ["ended", limit]
    assert process.wait() == 0
