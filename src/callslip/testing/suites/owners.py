"""What every implementation of ``Owners`` must do. ::

    class TestMine(OwnersSuite):
        def opened(self, place: Path) -> Owners:
            return MyOwners(place)

``opened`` gives, at each call, what another process on this host would have.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from callslip.ports.owners import Liveness, Owners


class OwnersSuite:
    """Subclass it, and say how to open one."""

    shared: ClassVar[bool] = True
    """Whether others can see it."""

    def opened(self, place: Path) -> Owners:
        """The owners of this place, as one process sees them."""
        raise NotImplementedError

    def test_who_i_am_does_not_change(self, tmp_path: Path) -> None:
        owners = self.opened(tmp_path)
        assert owners.me() == owners.me()
        assert owners.liveness(owners.me()) is Liveness.ALIVE
        owners.close()

    def test_nobody_else_is_me(self, tmp_path: Path) -> None:
        one, two = self.opened(tmp_path), self.opened(tmp_path)
        assert one.me().id != two.me().id
        one.close()
        two.close()

    def test_others_see_me_live_and_end(self, tmp_path: Path) -> None:
        if not self.shared:
            pytest.skip("lives in one process")
        one, two = self.opened(tmp_path), self.opened(tmp_path)
        me = one.me()
        assert two.liveness(me) is Liveness.ALIVE
        one.close()
        assert two.liveness(me) is Liveness.LOCK_FREE
        two.close()

    def test_one_who_never_was_has_ended(self, tmp_path: Path) -> None:
        owners = self.opened(tmp_path)
        stranger = msgspec.structs.replace(owners.me(), id="own_stranger")
        assert owners.liveness(stranger) is Liveness.LOCK_FREE
        owners.close()

    def test_before_a_reboot_and_elsewhere(self, tmp_path: Path) -> None:
        if not self.shared:
            pytest.skip("lives in one process")
        owners = self.opened(tmp_path)
        me = owners.me()
        assert owners.liveness(msgspec.structs.replace(me, id="own_x", boot="another")) is Liveness.REBOOTED
        assert owners.liveness(msgspec.structs.replace(me, id="own_x", host="another")) is Liveness.ELSEWHERE
        owners.close()

    def test_closing_twice(self, tmp_path: Path) -> None:
        owners = self.opened(tmp_path)
        owners.me()
        owners.close()
        owners.close()
