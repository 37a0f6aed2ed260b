"""Command of the user: where it is, which version, and how it is started with none of the user's own settings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.model.claude.trouble import ClaudeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKER_VARIABLE = "MEMORYD_OWN_SESSION"
"""Set for every process that a job starts: a hook of ours that finds it (`clients/hook.py`) says and records nothing."""
SERVER = "memoryd"
TOOL_PREFIX = f"mcp__{SERVER}__"
LEAST_VERSION = (2, 1, 200)
"""The oldest that a whole extraction was tried with."""
VERSION_SECONDS = 20.0
_NEEDED = ("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "CLAUDE_CONFIG_DIR")
_NETWORK = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
_PREFIXES = ("XDG_", "LC_")
_FIXED = {
    MARKER_VARIABLE: "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",  # which would send the request a second time
    "DISABLE_COMPACT": "1",  # a conversation that outgrows its window is given up, not summed up
    "ENABLE_TOOL_SEARCH": "false",  # six tools are shown, not looked for
    "MCP_TIMEOUT": "60000",
    "MCP_TOOL_TIMEOUT": "3600000",  # a verdict is a call's answer, and takes its time; the run has a deadline of its own
}


class FoundCommand(NamedTuple):
    """The program that will be started."""

    path: str
    identity: str
    """Changes when the program does."""


class ConversationStart(NamedTuple):
    """What a conversation is begun with."""

    model: str
    effort: str
    output_tokens: int
    system: str
    has_tools: bool


def find_command(command: str, environment: Mapping[str, str]) -> FoundCommand:
    """The command on the PATH of this process, which is the service's where a service asks. Raises ClaudeError."""
    path = shutil.which(command, path=environment.get("PATH", os.defpath))
    if path is None:
        where = "does not exist" if "/" in command else "is not on the PATH that memoryd has"
        raise ClaudeError(
            "engine_missing",
            f"The command {command} {where}.",
            'install Claude Code, or name it in the config: [claude] command = "/path/to/claude"; then: memoryd retry',
        )
    path = os.path.abspath(path)
    return FoundCommand(path, identity_of(path))


def identity_of(path: str) -> str:
    """Tells one program from the one that an upgrade put in its place."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{os.path.realpath(path)} {status.st_ino} {status.st_mtime_ns} {status.st_size}"


def version_of(found: FoundCommand, environment: Mapping[str, str]) -> str:
    """What the program says of itself, such as 2.1.325. Raises ClaudeError."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own command
            [found.path, "--version"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=VERSION_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise ClaudeError("engine_hung", f"{found.path} --version does not end.", f"{found.path} --version") from error
    except OSError as error:
        raise ClaudeError(
            "engine_missing", f"{found.path} cannot be run: {error.strerror}.", f"ls -l {found.path}"
        ) from error
    said = re.match(r"\d+(?:\.\d+)+", done.stdout.decode("utf-8", "replace").strip())
    if done.returncode or said is None:
        raise ClaudeError(
            "engine_missing",
            f"{found.path} does not tell its version: it is no Claude Code.",
            f"{found.path} --version",
        )
    return said[0]


def check_version(version: str, path: str) -> None:
    """Raises ClaudeError for one that lacks options that we need."""
    if tuple(map(int, version.split(".")))[:3] < LEAST_VERSION:
        least = ".".join(map(str, LEAST_VERSION))
        raise ClaudeError(
            "engine_outdated",
            f"{path} is Claude Code {version}; memoryd needs {least}.",
            f"{path} update, then: memoryd retry",
        )


def environment_for(inherited: Mapping[str, str], more: Mapping[str, str], folder: str) -> dict[str, str]:
    """What the login and the network need, what the config adds, and what is ours. No key that happens to be around."""
    kept = {
        name: value
        for name, value in inherited.items()
        if name in _NEEDED or name.upper() in _NETWORK or name.startswith(_PREFIXES)
    }
    return kept | {"CLAUDE_CODE_TMPDIR": folder} | dict(more) | _FIXED


def arguments_for(question: ConversationStart, folder: str, tools: Sequence[str]) -> list[str]:
    """Options for a conversation in both directions, with our tools or none, and nothing of the user's."""
    arguments = [
        "-p",
        *("--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages"),
        *("--model", question.model, "--effort", question.effort),
        *("--system-prompt-file", os.path.join(folder, "system.md")),
        *("--tools", "", "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands"),
        "--no-session-persistence",
    ]
    if question.has_tools:
        allowed = ",".join(TOOL_PREFIX + tool for tool in tools)
        arguments += ["--mcp-config", os.path.join(folder, "mcp.json"), "--allowedTools", allowed]
    return arguments
