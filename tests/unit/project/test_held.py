import pytest
from hypothesis import given, strategies as st

from callslip.errors import ConfigError, NotAccepted
from callslip.project.held import Change, changes, refusal

pytestmark = pytest.mark.requirement("GATE-09")
FILES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["1", "2", "3"]))


def test_new_changed_and_gone():
    assert changes({"same": "1", "a": "1", "z": "1"}, {"same": "1", "a": "2", "b": "1"}) == (
        Change(path="a", kind="changed", was="1", now="2"),
        Change(path="b", kind="new", now="1"),
        Change(path="z", kind="gone", was="1"),
    )


@given(FILES, FILES)
def test_nothing_differs_only_if_nothing_does(accepted, now):
    found = changes(accepted, now)
    assert (found == ()) == (accepted == now)
    applied = {**accepted, **{one.path: one.now for one in found}}
    assert {path: digest for path, digest in applied.items() if digest} == now


def test_a_refusal_names_the_files_and_what_to_do():
    held = changes({"a": "1", "z": "1"}, {"a": "2", "b": "1"})
    error = refusal(held, command="callslip trust --project p")
    assert isinstance(error, ConfigError)
    assert (error.code, error.layer, error.retryable) == ("not_accepted", "policy", False)
    assert "a (changed), b (not accepted), z (gone)." in str(error)
    assert str(error).endswith(": callslip trust --project p")


def test_a_refusal_of_what_was_never_accepted_says_so_and_stays_short():
    error = refusal(changes({}, {f"f{n}": "1" for n in range(9)}), command="callslip trust")
    assert isinstance(error, NotAccepted)
    assert str(error).startswith("Not accepted yet: f0, f1, f2, f3, f4, f5 and 3 more. Nothing was started")
