"""Asks git about a repository, so that nothing in it can make git run a program, write, or use the network.

A repository's own config may name programs for watching files, showing, signing and comparing, and remotes that missing
objects are fetched from. Each of them is overruled here, and nothing of the user's environment or config reaches git.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import NamedTuple

from memoryd.clock import elapsed

SECONDS = 10.0
MOST_BYTES = 32 << 20
_POINTER_BYTES = 4096
_REFS_BYTES = 16 << 20

_OVERRULED = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "log.diffMerges=first-parent",
    "log.showSignature=false",
    "protocol.allow=never",
    "submodule.recurse=false",
)
# On a Mac without the developer tools, /usr/bin/git opens a window that offers to install them.
_PATH = (
    "/opt/homebrew/bin:/usr/local/bin:/Library/Developer/CommandLineTools/usr/bin"
    ":/Applications/Xcode.app/Contents/Developer/usr/bin"
    if sys.platform == "darwin"
    else "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
)
_ENVIRONMENT = {
    "PATH": _PATH,
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


class GitAnswer(NamedTuple):
    data: bytes
    is_whole: bool
    """False where git was stopped: it had printed enough, or taken too long."""


def is_installed() -> bool:
    return shutil.which("git", path=_PATH) is not None


def ask(root: str, command: str, *arguments: str, given: bytes = b"", also_fine: int = 0) -> GitAnswer | None:
    """What git prints, in `root` and for its checkout alone; None where it fails.

    `given` is its input; `also_fine` the exit code by which some commands say that nothing was found.
    """
    program = shutil.which("git", path=_PATH)
    if program is None:
        return None
    overruled = [word for setting in _OVERRULED for word in ("-c", setting)]
    # The checkout is named because the repository's config may call any other directory its checkout.
    argv = [program, "--no-pager", f"--work-tree={root}", *overruled, command, *arguments]
    with tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own words, and names that stand behind an option or `--`
                argv,
                cwd=root,
                env={**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": os.path.dirname(root)},
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:  # the directory went away, or there are too many arguments for this system
            return None
    return _read(process, also_fine)


def _read(process: subprocess.Popen[bytes], also_fine: int) -> GitAnswer | None:
    """Read to the end, or until it is enough; then see to it that the process has ended."""
    data = bytearray()
    is_whole = False
    deadline = elapsed() + SECONDS
    with process, selectors.DefaultSelector() as selector:
        assert process.stdout is not None  # noqa: S101 - asked for above
        descriptor = process.stdout.fileno()
        selector.register(descriptor, selectors.EVENT_READ)
        while not is_whole and len(data) <= MOST_BYTES and (left := deadline - elapsed()) > 0 and selector.select(left):
            piece = os.read(descriptor, 65_536)
            data += piece
            is_whole = not piece
        if is_whole:
            with suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS)
        if process.returncode is None:  # nobody has waited for it, so the number is still its own
            os.killpg(process.pid, signal.SIGKILL)
    if is_whole and process.returncode not in (0, also_fine):
        return None
    return GitAnswer(bytes(data), is_whole)


# --- without git, from its files --------------------------------------------------------------------------------------


def is_checkout(root: str) -> bool:
    return os.path.lexists(os.path.join(root, ".git"))


def is_bare(root: str) -> bool:
    return not is_checkout(root) and all(
        os.path.exists(os.path.join(root, name)) for name in ("HEAD", "objects", "refs")
    )


def stamp_of(root: str) -> str:
    """Changes when another commit is checked out, or the index is written; outside git, when the directory is.

    Read from files: it is asked often, and starting git takes longer. Empty where the directory is not there.
    """
    dot_git = os.path.join(root, ".git")
    try:
        admin = dot_git
        if not stat.S_ISDIR(os.stat(dot_git).st_mode):
            admin = os.path.join(root, _small_text(dot_git).removeprefix("gitdir:").strip())
        head = _small_text(os.path.join(admin, "HEAD")).strip()
    except OSError:
        return _mtime(root)
    common = admin
    with suppress(OSError):
        common = os.path.join(admin, _small_text(os.path.join(admin, "commondir")).strip())
    commit = _commit(admin, common, head.removeprefix("ref:").strip()) if head.startswith("ref:") else head
    return f"{commit} {_mtime(os.path.join(admin, 'index'))}"


def _commit(admin: str, common: str, ref: str) -> str:
    for directory in (admin, common):
        with suppress(OSError, ValueError):
            return _small_text(os.path.join(directory, ref)).strip()
    with suppress(OSError):
        packed = _small_text(os.path.join(common, "packed-refs"), _REFS_BYTES)
        for line in packed.splitlines():
            if line.endswith(f" {ref}"):
                return line.split(" ")[0]
    # Refs in a table of their own, or a branch without a commit.
    return f"{ref} {_mtime(os.path.join(common, 'reftable', 'tables.list'))}"


def _mtime(path: str) -> str:
    try:
        return str(os.stat(path).st_mtime_ns)
    except OSError:
        return ""


def _small_text(path: str, most_bytes: int = _POINTER_BYTES) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most_bytes).decode("utf-8", "surrogateescape")
