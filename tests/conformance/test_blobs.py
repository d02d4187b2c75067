import os

import pytest

from callslip import failpoint
from callslip.blobs.files import FileBlobs, RealDisk
from callslip.blobs.key_files import KeyFiles
from callslip.blobs.memory import MemoryBlobs
from callslip.blobs.sealed import SealedBlobs
from callslip.blobs.vault import KeyVault
from callslip.errors import LedgerUnavailable
from callslip.testing.folder_disk import FolderDisk
from callslip.testing.suites.blobs import BlobsSuite

pytestmark = pytest.mark.requirement("LEDG-05")


class TestMemoryBlobs(BlobsSuite):
    shared = False

    async def opened(self, place):
        return MemoryBlobs()


class TestFileBlobs(BlobsSuite):
    async def opened(self, place):
        return FileBlobs(place)

    async def damage(self, place, address):
        digest = address.removeprefix("sha256:")
        path = place / digest[:2] / digest[2:]
        path.write_bytes(path.read_bytes()[:-3])


class OfOneSession(SealedBlobs):
    """A protected store as one session uses it."""

    async def put(self, data):
        return await self.put_of("s", data)


@pytest.mark.requirement("LEDG-08")
class TestSealedBlobs(BlobsSuite):
    async def opened(self, place):
        return OfOneSession(FileBlobs(place), KeyVault(KeyFiles(place / "keys"), encrypts=True))

    async def damage(self, place, address):
        digest = address.removeprefix("sealed:")
        path = place / digest[:2] / digest[2:]
        path.write_bytes(path.read_bytes()[:-3])

    async def test_the_address_is_the_digest(self, blobs):
        """Of what is stored, not of what it says: tests/unit/blobs/test_sealed.py."""
        assert (await blobs.put(b"x")).startswith("sealed:")


@pytest.mark.anyio
class TestFiles:
    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    async def test_another_blob_under_the_address(self, tmp_path):
        from callslip.errors import LogBroken

        blobs = FileBlobs(tmp_path)
        one, two = [(await blobs.put(data)).removeprefix("sha256:") for data in (b"one", b"two")]
        os.replace(tmp_path / one[:2] / one[2:], tmp_path / two[:2] / two[2:])
        with pytest.raises(LogBroken):
            await blobs.get(f"sha256:{two}")

    async def test_a_full_disk_says_so_and_leaves_nothing_that_counts(self, tmp_path):
        disk = FolderDisk()
        blobs = FileBlobs(tmp_path, disk=disk)
        disk.room = 10
        with pytest.raises(LedgerUnavailable, match="No space left"):
            await blobs.put(os.urandom(1000))
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]
        disk.room = None
        address = await blobs.put(b"afterwards")
        assert await blobs.get(address) == b"afterwards"

    @pytest.mark.parametrize("nameless", [True, False])
    async def test_one_that_is_not_finished_has_no_name_where_that_can_be(self, tmp_path, nameless):
        blobs, seen = FileBlobs(tmp_path, disk=RealDisk() if nameless else RealDisk(nameless=None)), []
        failpoint.listen(lambda _: seen.append(sum(path.is_file() for path in tmp_path.rglob("*"))))
        try:
            address = await blobs.put(b"one")
        finally:
            failpoint.listen(None)
        assert seen == [0 if nameless else 1, 1]
        assert await blobs.get(address) == b"one"
        assert [path.stat().st_nlink for path in tmp_path.rglob("*") if path.is_file()] == [1]

    async def test_on_a_file_system_that_knows_no_nameless_files(self, tmp_path):
        blobs = FileBlobs(tmp_path, disk=RealDisk(nameless=os.O_DIRECTORY))  # it says EISDIR, as old kernels do
        assert await blobs.get(await blobs.put(b"one")) == b"one"

    async def test_two_that_write_the_same_at_once_both_have_it(self, tmp_path):
        one, two = RealDisk(), RealDisk()
        for disk, name in ((one, "a"), (two, "b")):
            disk.write(tmp_path / name, b"the same")
        for disk, name in ((one, "a"), (two, "b")):
            disk.rename(tmp_path / name, tmp_path / "there")
            disk.discard(tmp_path / name)
        assert (tmp_path / "there").read_bytes() == b"the same"
        assert [path.name for path in tmp_path.iterdir()] == ["there"]

    async def test_files_are_their_owners_alone(self, tmp_path):
        await FileBlobs(tmp_path).put(b"private")
        modes = {path.stat().st_mode & 0o077 for path in tmp_path.rglob("*")}
        assert modes == {0}
