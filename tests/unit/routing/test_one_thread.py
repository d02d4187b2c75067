"""The limit on threads of several searches at once: set by the first, and taken back by the last."""

from typing import Any

from callslip.routing.one_thread import _Limit


class Controller:
    """As threadpoolctl's: a limit that ends brings back what was when it began."""

    def __init__(self) -> None:
        self.threads = 8

    def limit(self, *, limits: int, user_api: str) -> Any:
        before, self.threads = self.threads, limits
        controller = self

        class Limit:
            def restore_original_limits(self) -> None:
                controller.threads = before

        return Limit()


def test_of_two_that_overlap_the_last_one_takes_it_back() -> None:
    controller = Controller()
    first = second = _Limit(controller)
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert controller.threads == 1
    second.__exit__()
    assert controller.threads == 8
    with first:
        assert controller.threads == 1
    assert controller.threads == 8
