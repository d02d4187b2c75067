"""Paths that no tool may touch, whatever the policy says (GATE-03): a table, and why each stands in it.

A path without ``/`` in front is meant at any depth, and a directory with everything in it. Letters' case doesn't
count. What a tool could write here would run, or would instruct, later and outside the gate; what it could read
here is a key.
"""

from __future__ import annotations

KEYS = (
    ".ssh", ".gnupg", ".password-store", ".aws", ".azure", ".kube", ".config/gcloud", ".docker/config.json",
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".config/git/credentials",
    ".config/gh/hosts.yml", ".cargo/credentials", ".cargo/credentials.toml", ".vault-token",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
)  # fmt: skip
"""Keys and credentials: neither read nor written."""

ENVIRONMENT = (".env", ".env.*", ".envrc")
"""Secrets by custom: neither read nor written (a write shows the old content in its diff)."""
ENVIRONMENT_EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist")
"""Made to be read."""

GIT_CONFIGURATION = (".git/config", ".git/hooks", ".git/config.worktree", ".gitconfig", ".config/git")
"""May name programs to run, and holds credentials in addresses: neither read nor written."""
GIT_INTERNALS = (".git", ".gitmodules", ".husky")
"""Not written: a text tool has no business there, and much of it runs sooner or later."""

SHELL = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".config/fish",
    ".config/autostart", ".config/systemd", ".pythonrc", ".vimrc", ".exrc", ".tmux.conf",
)  # fmt: skip
"""Run when a shell or a session starts: not written."""

EDITOR = (".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".idea")
"""Run when an editor opens the folder: not written."""

MCP = (
    ".mcp.json", "mcp.json", "mcp_config.json", "mcp_settings.json", "cline_mcp_settings.json",
    "claude_desktop_config.json",
)  # fmt: skip
"""Which servers an agent starts, often with their tokens: neither read nor written. ``.cursor/mcp.json`` and
``.vscode/mcp.json`` are ``mcp.json`` at some depth."""

AGENT_INSTRUCTIONS = (
    "AGENTS.md", "AGENTS.override.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".claude",
    ".gemini", ".codex", ".cursor", ".cursorrules", ".windsurf", ".windsurfrules", ".clinerules", ".roo",
    ".roorules", ".junie", ".goosehints", ".aider.conf.yml", ".continue", ".amazonq", ".kiro",
    ".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/chatmodes",
    ".github/agents",
)  # fmt: skip
"""Read by an agent as its user's word: not written."""

CALLSLIP = ("callslip.toml",)
"""Our own configuration: not written."""
