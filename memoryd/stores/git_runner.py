"""Runs git for a store: with the user's own credentials, in a repository of ours, never in the user's.

The user's settings for transport and login count. Hooks, signatures, prompts and every `GIT_*` variable that leads git to
another repository do not.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.process_guard import guarded
from memoryd.stores.base import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCAL_SECONDS = 120.0
NETWORK_SECONDS = 120.0
_KILLED_SECONDS = 5.0

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.logAllRefUpdates=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "submodule.recurse=false",
    "credential.interactive=false",
    "protocol.allow=never",
    *(f"protocol.{name}.allow=always" for name in ("https", "http", "ssh", "git", "file")),
)
# How the user reaches servers; any other GIT_* variable is about a repository or about a person at a terminal.
_KEPT = (
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
_KEPT_PREFIXES = ("GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_")


class GitResult(NamedTuple):
    code: int
    out: bytes
    err: str


class GitRunner:
    """Runs git commands in one bare repository that is only a cache."""

    def __init__(self, repository: str, environment: Mapping[str, str]) -> None:
        self.repository = repository
        self.requests = 0
        """Commands that asked the other side."""
        self._environment = {
            name: value
            for name, value in environment.items()
            if not name.startswith("GIT_") or name in _KEPT or name.startswith(_KEPT_PREFIXES)
        } | {
            "LC_ALL": "C",
            "GIT_DIR": repository,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GCM_INTERACTIVE": "never",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }

    def run(self, *arguments: str, given: bytes = b"", is_request: bool = False) -> GitResult:
        """Run one command. Raises StoreError where git is missing or takes too long."""
        program = shutil.which("git", path=self._environment.get("PATH"))
        if program is None:
            raise StoreError("git is not installed, or not on the PATH of the service.", "command -v git")
        self.requests += is_request
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        command = [program, "--no-pager", *settings, *arguments]
        with _lifeline(is_needed=is_request) as lifeline:  # what only reads and writes files here ends by itself
            return self._run(guarded(lifeline, command) if lifeline else command, given, lifeline, arguments[0])

    def _run(self, command: list[str], given: bytes, lifeline: int, name: str) -> GitResult:
        process = subprocess.Popen(  # noqa: S603 - our own words; an address never stands where an option could
            command,
            cwd="/",
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(lifeline,) if lifeline else (),
            start_new_session=True,  # no terminal to ask a person on, and its helpers end with it
        )
        seconds = NETWORK_SECONDS if lifeline else LOCAL_SECONDS
        try:
            out, err = process.communicate(given, seconds)
        except subprocess.TimeoutExpired as error:
            raise StoreError(f"git {name} took longer than {seconds:g} s and was ended.", "memoryd sync") from error
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                _close(process)
        return GitResult(process.returncode, out, err.decode("utf-8", "replace"))

    def make_repository(self) -> None:
        """Make the repository where it is missing; a half-made one is completed."""
        if os.path.exists(os.path.join(self.repository, "memoryd-made")):
            return
        os.makedirs(self.repository, mode=0o700, exist_ok=True)
        made = self.run("init", "--quiet", "--bare", "--template=", self.repository)
        if made.code:
            raise StoreError(
                f"The repository {self.repository} cannot be made: {last_line(made.err)}", "df -h && ls -la"
            )
        os.close(os.open(os.path.join(self.repository, "memoryd-made"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def loose_objects(self) -> int:
        """About how many there are, by one of the 256 folders that they are spread over, as git itself estimates it."""
        try:
            return 256 * len(os.listdir(os.path.join(self.repository, "objects", "17")))
        except FileNotFoundError:
            return 0

    def forget_repository(self) -> None:
        """Delete the repository: all that it holds is in the store."""
        shutil.rmtree(self.repository, ignore_errors=True)


@contextmanager
def _lifeline(*, is_needed: bool) -> Iterator[int]:
    """The end of a lifeline that a guard inherits; it closes with this process, also where it is killed. 0: none is needed."""
    if not is_needed:
        yield 0
        return
    theirs, ours = os.pipe()
    try:
        yield theirs
    finally:
        os.close(theirs)
        os.close(ours)


def _close(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was killed. A helper in a session of its own may hold its pipes open: not for long then."""
    try:
        process.communicate(timeout=_KILLED_SECONDS)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILLED_SECONDS)


def last_line(text: str) -> str:
    """What git says went wrong, in a line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:", "remote:"))] or lines
    return (told[0].removeprefix("fatal: ").removeprefix("error: ") if told else "no reason was given").rstrip(
        "."
    ) + "."
