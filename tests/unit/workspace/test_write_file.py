from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.tool import Recovery, Risk
from callslip.errors import ToolFailed
from callslip.workspace import place as place_module, put as put_module, write_file as module


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def names(root: Path) -> list[str]:
    return sorted(os.listdir(root))


@pytest.mark.requirement("SAND-06")
def test_declares_what_recovery_and_gate_need(tools):
    for name in ("write_file", "edit_file"):
        spec = tools[name].spec
        assert (spec.risk, spec.recovery, spec.local_effect) == (Risk.WRITE, Recovery.EVIDENCE, True)
        assert spec.claims == ("file:{path}",)
        assert spec.identity_arguments == ("path",)
    for name in ("read_file", "list_files", "search_text"):
        assert (tools[name].spec.risk, tools[name].spec.recovery) == (Risk.READ, Recovery.IDEMPOTENT)
    for tool in tools.values():
        assert tool.spec.when_not
        assert "context" not in tool.spec.input_schema["properties"]
        assert all(field["description"] for field in tool.spec.input_schema["properties"].values())


def test_creates_with_folders(use, root: Path):
    result = use("write_file", path="a/b/f.txt", text="one\ntwo\n")
    assert result == {
        "path": "a/b/f.txt", "created": True, "changed": True, "size": 8, "sha256": sha(b"one\ntwo\n"),
        "lines_added": 2, "lines_removed": 0,
    }  # fmt: skip
    assert (root / "a/b/f.txt").read_bytes() == b"one\ntwo\n"
    assert names(root / "a/b") == ["f.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert (root / "a/b/f.txt").stat().st_mode & 0o777 == 0o666 & ~umask


def test_replaces_and_keeps_the_mode_and_says_what_changed(use, root: Path):
    target = root / "run.sh"
    target.write_text("one\ntwo\nthree\n")
    target.chmod(0o4751)
    result = use("write_file", path="run.sh", text="one\n2\nthree\n")
    assert target.read_text() == "one\n2\nthree\n"
    assert target.stat().st_mode & 0o7777 == 0o751
    assert (result["created"], result["lines_added"], result["lines_removed"]) == (False, 1, 1)
    assert "-two\n+2" in result["diff"]
    assert names(root) == ["run.sh"]


def test_the_same_content_is_not_written_again(use, root: Path):
    (root / "f").write_text("x")
    before = (root / "f").stat()
    assert use("write_file", path="f", text="x")["changed"] is False
    assert (root / "f").stat().st_ino == before.st_ino


def test_a_link_inside_is_followed_and_stays_a_link(use, root: Path):
    (root / "real").write_text("old")
    (root / "link").symlink_to("real")
    assert use("write_file", path="link", text="new")["path"] == "real"
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "new"


def test_refuses_targets(refused, root: Path, tmp_path: Path):
    (tmp_path / "outside").write_text("mine")
    (root / "out").symlink_to("../outside")
    (root / "dangling").symlink_to("nothing")
    (root / "dangling_out").symlink_to("../nothing")
    (root / "dangling_folder").symlink_to("../nowhere")
    os.mkfifo(root / "fifo")
    (root / "folder").mkdir()
    (root / "file").write_text("x")
    os.link(tmp_path / "outside", root / "hard")
    expected = {
        "out": "outside_root", "dangling": "link_refused", "dangling_out": "outside_root", "fifo": "not_a_file",
        "folder": "not_a_file", "hard": "hard_link", "../x": "outside_root", "file/x": "not_a_directory",
        "folder/": "not_a_file", "new/": "bad_path", "new/.": "bad_path", "new/..": "bad_path",
        "new/../f": "bad_path", "dangling_folder/f": "outside_root", str(tmp_path / "x"): "bad_path", "": "bad_path",
        ".": "not_a_file", "dangling/f": "link_refused",
    }  # fmt: skip
    before = names(root), names(tmp_path)
    for path, code in expected.items():
        assert refused("write_file", path=path, text="y").tool_code == code, path
    assert (names(root), names(tmp_path)) == before
    assert (tmp_path / "outside").read_text() == "mine"


def test_refuses_read_only_files(refused, root: Path):
    (root / "f").write_text("x")
    (root / "f").chmod(0o444)
    assert refused("write_file", path="f", text="y").tool_code == "read_only"
    assert (root / "f").read_text() == "x"


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits don't stop root")
def test_refuses_read_only_folders(refused, root: Path):
    (root / "a").mkdir(mode=0o555)
    assert refused("write_file", path="a/f", text="y").tool_code == "not_permitted"


def test_create_only_and_expected(use, refused, root: Path):
    use("write_file", path="f", text="one", create_only=True)
    assert refused("write_file", path="f", text="two", create_only=True).tool_code == "exists"
    seen = use("read_file", path="f")["sha256"]
    use("write_file", path="f", text="two", expected_sha256=seen)
    assert refused("write_file", path="f", text="three", expected_sha256=seen).tool_code == "changed_meanwhile"
    assert (root / "f").read_text() == "two"
    use("write_file", path="f", text="three", expected_sha256="sha256:" + sha(b"two").upper())


def test_bad_text(refused, root: Path, monkeypatch: pytest.MonkeyPatch):
    assert refused("write_file", path="f", text="\ud800").tool_code == "bad_text"
    monkeypatch.setattr(module, "MAX_WRITTEN_BYTES", 3)
    assert refused("write_file", path="f", text="four").tool_code == "too_large"
    assert names(root) == []


def test_large_files_are_replaced_without_a_diff(use, refused, root: Path, monkeypatch: pytest.MonkeyPatch):
    with (root / "big").open("wb") as big:
        big.truncate(100 * 1024 * 1024)
    assert "diff" not in use("write_file", path="big", text="small")
    assert (root / "big").read_text() == "small"
    monkeypatch.setattr(place_module, "MAX_REPLACED_BYTES", 4)
    assert refused("write_file", path="big", text="x").tool_code == "too_large"


@pytest.mark.requirement("SAND-06")
@pytest.mark.anyio
async def test_evidence(tools, context, root: Path):
    tool = tools["write_file"]
    arguments = {"path": "a/f", "text": "new"}
    evidence = await tool.prepare(arguments)
    assert evidence == Evidence(target="a/f", before="absent", after=sha(b"new"))
    assert names(root) == []  # preparing changes nothing
    assert await tool.digest("a/f") == "absent"
    await tool.run(arguments, context)
    assert await tool.digest("a/f") == evidence.after
    again = await tool.prepare({"path": "a/f", "text": "newer"})
    assert again == Evidence(target="a/f", before=sha(b"new"), after=sha(b"newer"))


@pytest.mark.anyio
async def test_preparing_what_can_not_work_fails_then_already(tools, root: Path):
    (root / "f").write_text("x")
    for arguments in (
        {"path": ".bashrc", "text": "x"},
        {"path": "f", "text": "x", "create_only": True},
        {"path": "f", "text": "x", "expected_sha256": "absent"},
        {"path": "../f", "text": "x"},
    ):
        with pytest.raises(ToolFailed):
            await tools["write_file"].prepare(arguments)


@pytest.mark.anyio
@pytest.mark.parametrize("change", ["edit", "create", "remove"])
async def test_a_change_between_prepare_and_run_is_found(tools, context, root: Path, change: str):
    if change != "create":
        (root / "f").write_text("old")
    arguments = {"path": "f", "text": "new"}
    await tools["write_file"].prepare(arguments)
    (root / "f").unlink() if change == "remove" else (root / "f").write_text("theirs")
    with pytest.raises(ToolFailed) as caught:
        await tools["write_file"].run(arguments, context)
    assert (caught.value.tool_code, caught.value.effect) == ("changed_meanwhile", "none")
    assert change == "remove" or (root / "f").read_text() == "theirs"
    await tools["write_file"].prepare(arguments)
    await tools["write_file"].run(arguments, context)
    assert (root / "f").read_text() == "new"


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("how", ["in place", "replaced"])
def test_a_change_just_before_the_rename_is_found(
    refused, root: Path, monkeypatch: pytest.MonkeyPatch, there: bool, how: str
):
    if there:
        (root / "f").write_text("old")

    def meddle(_context):
        if how == "replaced":
            (root / "other").write_text("theirs")
            (root / "other").rename(root / "f")
        else:
            (root / "f").write_text("theirs")

    monkeypatch.setattr(module, "stop_if_cancelled", meddle)
    assert refused("write_file", path="f", text="new").tool_code == "changed_meanwhile"
    assert (root / "f").read_text() == "theirs"
    assert names(root) == ["f"]


def test_creating_never_replaces_even_at_the_last_moment(refused, root: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.link

    def late(*arguments, **keywords):
        (root / "f").write_text("theirs")
        return real(*arguments, **keywords)

    monkeypatch.setattr(put_module.os, "link", late)
    assert refused("write_file", path="f", text="new").tool_code == "changed_meanwhile"
    assert (root / "f").read_text() == "theirs"
    assert names(root) == ["f"]


def test_a_full_disk_leaves_everything_as_it_was(refused, root: Path, monkeypatch: pytest.MonkeyPatch):
    (root / "f").write_text("old")
    real, written = os.write, []

    def full(descriptor, data):
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(1)
        return real(descriptor, bytes(data[:2]))

    monkeypatch.setattr(put_module.os, "write", full)
    for path in ("f", "new/deep/g"):
        assert refused("write_file", path=path, text="something long").tool_code == "no_space"
        written.clear()
    assert (root / "f").read_text() == "old"
    assert names(root) == ["f"]


@pytest.mark.parametrize(
    ("step", "number", "code"),
    [("rename", errno.EIO, "workspace"), ("fchmod", errno.EPERM, "not_permitted"), ("open", errno.EROFS, "read_only")],
)
def test_faults_before_the_rename_have_no_effect(
    refused, root: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int, code: str
):
    (root / "f").write_text("old")
    real = getattr(os, step)

    def fail(*arguments, **keywords):
        if step == "open" and not str(arguments[0]).endswith(".tmp"):
            return real(*arguments, **keywords)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(put_module.os, step, fail)
    assert refused("write_file", path="f", text="new").tool_code == code
    assert (root / "f").read_text() == "old"
    assert names(root) == ["f"]


def test_a_lost_reply_to_a_rename_that_took_place_is_a_success(use, root: Path, monkeypatch: pytest.MonkeyPatch):
    (root / "f").write_text("old")
    real = os.rename

    def lose(*arguments, **keywords):
        real(*arguments, **keywords)
        raise OSError(errno.ENOENT, "")

    monkeypatch.setattr(put_module.os, "rename", lose)
    assert use("write_file", path="f", text="new")["changed"]
    assert (root / "f").read_text() == "new"


def test_without_hard_links_it_is_created_by_rename(use, root: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_arguments, **_keywords):
        raise OSError(errno.EPERM, "")

    monkeypatch.setattr(put_module.os, "link", refuse)
    use("write_file", path="f", text="new")
    assert (root / "f").read_text() == "new"
    assert names(root) == ["f"]


def test_a_disk_that_does_not_confirm_is_an_effect_that_is_done(use, root: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.fsync

    def fail(descriptor):
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    monkeypatch.setattr(put_module.os, "fsync", fail)
    with pytest.raises(ToolFailed) as caught:
        use("write_file", path="f", text="new")
    assert (caught.value.tool_code, caught.value.effect) == ("not_durable", "done")
    assert (root / "f").read_text() == "new"


def test_cancelled_before_the_rename_has_no_effect(refused, context, root: Path):
    context.cancel()
    assert refused("write_file", path="a/f", text="new").tool_code == "cancelled"
    assert names(root) == []


def test_a_reader_never_sees_a_part(use, root: Path):
    (root / "f").write_text("a" * 50_000)
    stop, torn = threading.Event(), []

    def look():
        while not stop.is_set():
            content = (root / "f").read_bytes()
            if len(content) != 50_000 or len(set(content)) != 1:
                torn.append(len(content))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for number in range(30):
            use("write_file", path="f", text="ab"[number % 2] * 50_000)
    finally:
        stop.set()
        thread.join()
    assert torn == []


def test_a_folder_swapped_for_a_link_out_never_takes_a_write(use, root: Path, tmp_path: Path, swapping):
    (root / "real").mkdir()
    (tmp_path / "outside").mkdir()
    seen = Counter()
    with swapping("real", "../outside"):
        while seen.total() < 600 or (seen.total() < 10_000 and len(seen) < 2):
            try:
                use("write_file", path=f"door/f{seen.total() % 3}", text=str(seen.total()))
                seen["done"] += 1
            except ToolFailed as error:
                seen[error.effect] += 1
    assert set(seen) == {"done", "none"}
    assert names(tmp_path / "outside") == []
    assert all(name.startswith("f") for name in names(root / "real"))


def test_no_descriptor_is_left_open(use, root: Path):
    def attempt():
        for path in ("f", "a/b/c", "../x", ".env", "a/b/.env", "link", "hard", "new/../x"):
            for create_only in (False, True):
                with contextlib.suppress(ToolFailed):
                    use("write_file", path=path, text=path, create_only=create_only)

    (root / "link").symlink_to("nothing")
    (root / "one").write_text("")
    os.link(root / "one", root / "hard")
    before = len(os.listdir("/proc/self/fd"))
    attempt()
    assert len(os.listdir("/proc/self/fd")) == before
