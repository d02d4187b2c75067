"""What a project may say of which tools are shown."""

import pytest

from callslip.core.routing import Routing


class TestPreselected:
    @pytest.mark.requirement("DEFR-04")
    @pytest.mark.parametrize(
        ("said", "deferred", "number"),
        [("auto", 3, 0), ("auto", 4, 1), ("auto", 19, 4), ("auto", 500, 5), ("off", 500, 0), (12, 500, 12), (0, 9, 0)],
    )
    def test_how_many(self, said, deferred, number):
        assert Routing(preselect=said).preselected(deferred) == number


@pytest.mark.parametrize(
    "wrong",
    [
        {"preselect": -1}, {"preselect": 10_001}, {"tools": 0}, {"tokens": 0}, {"offers": 0}, {"searches": -1},
        {"more_than": -1}, {"defer": "al"}, {"preselect": True}, {"preselect": "on"}, {"preselect": 2.5}, {"pinned": "a"}, {"inventory": -1}, {"embedder": "yes"}, {"embedder": "openai:"},
    ],
)  # fmt: skip
def test_what_can_not_work_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Routing(**wrong)
