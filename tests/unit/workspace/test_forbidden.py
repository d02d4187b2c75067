from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from callslip.errors import ConfigError, StateRefused, ToolFailed
from callslip.workspace.access import open_workspace
from callslip.workspace.forbidden import forbidden_for
from callslip.workspace.tools import workspace_tools

NEITHER = [
    ".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".ssh", ".ssh/id_rsa", "home/.ssh/authorized_keys",
    ".gnupg/x", ".netrc", ".aws/credentials", ".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json",
    ".env", ".env.production", "deploy/.env", ".envrc", ".npmrc", "id_ed25519", ".docker/config.json",
    ".GIT/config", ".Env", "MCP.JSON", "a/../.git/config", "./.git//config", ".git./config", ".env ", ".env.",
    ".e\u200bnv", ".\uff45nv", ".gitconfig",
]  # fmt: skip
WRITES = [
    ".bashrc", ".profile", ".zshrc", "AGENTS.md", "docs/agents.MD", "CLAUDE.md", ".cursorrules", "GEMINI.md",
    ".github/copilot-instructions.md", "callslip.toml", ".git/HEAD", ".git", ".git/modules/x/config", ".gitmodules",
    ".vscode/tasks.json", ".claude/settings.json", ".cursor/rules/x.mdc", ".husky/pre-commit",
]  # fmt: skip
FREE = [
    "main.py", ".env.example", "git/config", ".github/workflows/ci.yml", ".gitignore", "environment.py", "a.env.py",
    "ssh/config", "docs/mcp.json.md", ".vscode/extensions.json", ".docker/Dockerfile", "config", "my.bashrc",
]  # fmt: skip


@pytest.mark.parametrize("path", NEITHER)
def test_neither_read_nor_written(tmp_path: Path, path: str):
    rules = forbidden_for(tmp_path)
    assert rules.find(path, "read") is not None
    assert rules.find(path, "write") is not None


@pytest.mark.parametrize("path", WRITES)
def test_read_but_not_written(tmp_path: Path, path: str):
    rules = forbidden_for(tmp_path)
    assert rules.find(path, "read") is None
    assert rules.find(path, "write") is not None


@pytest.mark.parametrize("path", FREE)
def test_free(tmp_path: Path, path: str):
    assert forbidden_for(tmp_path).find(path, "write") is None


def test_the_projects_own(tmp_path: Path):
    rules = forbidden_for(tmp_path, extra=["secrets", "*.PEM", "/deploy/*.key", "data/**"])
    for path in ("secrets/x", "a/secrets/b/c", "x.pem", "a/B.Pem", "deploy/a.key", "data/x", "b/data"):
        assert rules.find(path, "read"), path
    for path in ("a/deploy/a.key", "deploy/a.txt", "mysecrets", "pem"):
        assert not rules.find(path, "write"), path


@pytest.mark.parametrize("pattern", ["", "/", "../x", "a/../b", "a/**/b", "**"])
def test_a_pattern_that_means_nothing_is_refused(tmp_path: Path, pattern: str):
    with pytest.raises(ConfigError):
        forbidden_for(tmp_path, extra=[pattern])


@pytest.mark.requirement("GATE-09")
@pytest.mark.requirement("GATE-03")
def test_the_state_folder(root: Path):
    workspace = open_workspace(root, state=root / "var" / "[st]ate")
    assert workspace.forbidden.find("var/[st]ate/ledger.db", "read")
    assert workspace.forbidden.find("var/[st]ate", "write")
    assert not workspace.forbidden.find("var/state/x", "write")
    assert not workspace.forbidden.find("x/var/[st]ate/y", "read")
    assert not open_workspace(root, state=root.parent / "elsewhere").forbidden.find("elsewhere", "write")
    for state in (root, root.parent):
        with pytest.raises(StateRefused):
            workspace_tools(root, state=state)


def test_the_state_folder_through_a_link(root: Path, tmp_path: Path):
    (root / "state").mkdir()
    (tmp_path / "alias").symlink_to(root / "state")
    assert open_workspace(root, state=tmp_path / "alias").forbidden.find("state/x", "read")


SPELLINGS = [".env", "./.env", "a/../.env", "a/..//.env", "to_env", "to_folder/.env", "to_to_env"]


@pytest.fixture
def guarded(root: Path):
    (root / ".env").write_text("KEY=sesame")
    (root / "a").mkdir()
    (root / "to_env").symlink_to(".env")
    (root / "to_to_env").symlink_to("a/../to_env")
    (root / "to_folder").symlink_to(".")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]")
    (root / "git").symlink_to(".git")
    (root / "AGENTS.md").write_text("be kind")
    (root / "notes.md").symlink_to("AGENTS.md")


@pytest.mark.requirement("GATE-03")
@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("path", [*SPELLINGS, "git/config", "a/../git/config", ".git/../git/config"])
def test_no_spelling_reads_it(refused, path: str):
    for name, more in (("read_file", {}), ("search_text", {"pattern": "."})):
        error = refused(name, path=path, **more)
        assert error.tool_code == "forbidden_path"
        assert "sesame" not in str(error)


@pytest.mark.requirement("GATE-03")
@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    "path", [*SPELLINGS, "git/config", "git/new", "git/hooks/x", "notes.md", "to_folder/CLAUDE.md"]
)
def test_no_spelling_writes_it(refused, root: Path, path: str):
    before = sorted(os.listdir(root)), sorted(os.listdir(root / ".git"))
    assert refused("write_file", path=path, text="x").tool_code == "forbidden_path"
    assert refused("edit_file", path=path, old="e", new="x").tool_code in ("forbidden_path", "not_found")
    assert (sorted(os.listdir(root)), sorted(os.listdir(root / ".git"))) == before
    assert (root / "AGENTS.md").read_text() == "be kind"
    assert (root / ".env").read_text() == "KEY=sesame"


@pytest.mark.usefixtures("guarded")
def test_what_may_be_read_is_read(use):
    assert use("read_file", path="notes.md")["path"] == "AGENTS.md"


@pytest.mark.usefixtures("guarded")
def test_it_is_neither_listed_nor_searched(use):
    listed = use("list_files")
    assert {entry["path"] for entry in listed["entries"]} == {
        "AGENTS.md", "a", "git", "notes.md", "to_env", "to_folder", "to_to_env", ".git",
    }  # fmt: skip
    assert listed["skipped"] == {"forbidden": 1}
    found = use("search_text", pattern="sesame|core|kind")
    assert [match["path"] for match in found["matches"]] == ["AGENTS.md"]


@pytest.mark.usefixtures("guarded")
def test_a_forbidden_path_does_not_tell_whether_it_exists(refused):
    here, gone = refused("read_file", path=".env"), refused("read_file", path="a/.env")
    assert here.tool_code == gone.tool_code == "forbidden_path"
    assert not here.not_found


def test_missing_folders_are_not_made_on_the_way_to_a_forbidden_path(refused, root: Path):
    assert refused("write_file", path="new/deep/.git/hooks/x", text="x").tool_code == "forbidden_path"
    assert list(root.iterdir()) == []


def test_the_directory_may_not_be_forbidden_either(root: Path, context):
    (root / "secrets").mkdir()
    tools = {tool.spec.name: tool for tool in workspace_tools(root, forbidden=["secrets"])}
    with pytest.raises(ToolFailed, match="forbidden by the project's settings"):
        tools["list_files"](context, path="secrets")


@pytest.mark.usefixtures("guarded")
def test_a_link_swapped_all_the_while_never_shows_a_forbidden_file(use, root: Path, swapping):
    (root / "open").write_text("open")
    seen = Counter()
    with swapping(".env", "open"):
        while seen.total() < 1_000 or (seen.total() < 20_000 and len(seen) < 2):
            try:
                seen[use("read_file", path="door")["text"]] += 1
            except ToolFailed as error:
                seen[error.tool_code] += 1
    assert set(seen) == {"open", "forbidden_path"}
