"""Paths of everything: the only reader of HOME, XDG_* and the other variables of the environment."""

from __future__ import annotations

import os
import pwd
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from memoryd.errors import ConfigError
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_DISABLE = "MEMORYD_DISABLE_"
_DIRECTORIES = ("_HOME", "_DIR", "_ROOT", "_DB")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NO = ("", "0", "false", "no", "off")


class Paths(NamedTuple):
    """Every path is absolute. Nothing is created here."""

    home: str
    config_file: str
    state_dir: str
    claude_dir: str
    forced_memory_dir: str | None = None
    """One directory for all projects, named in the environment (spec: first that is set wins)."""
    switched_off: tuple[str, ...] = ()
    """Features that the environment turns off, whatever the config file says."""
    moved: Mapping[str, str] = MappingProxyType({})
    """The variables of the environment by whose names and values other programs keep their files elsewhere."""
    is_index_written: bool = True
    """Whether memoryd writes MEMORY.md, by the config; else that is left to somebody else."""
    excluded: tuple[str, ...] = ()
    """Patterns of the folders that memoryd leaves alone, by the config."""

    @property
    def database(self) -> str:
        return os.path.join(self.state_dir, "memoryd.sqlite3")

    @property
    def recall_file(self) -> str:
        """What recall keeps for itself, a database too; it can be made anew."""
        return os.path.join(self.state_dir, "recall.sqlite3")

    @property
    def daemon_lock(self) -> str:
        return os.path.join(self.state_dir, "daemon.lock")

    @property
    def log_file(self) -> str:
        return os.path.join(self.state_dir, "memoryd.log")

    @property
    def crash_log(self) -> str:
        """Where launchd puts what a dying daemon says."""
        return os.path.join(self.state_dir, "crash.log")

    @property
    def wake_file(self) -> str:
        """Touched by commands that have something for the daemon; alone in its folder, which the daemon watches."""
        return os.path.join(self.state_dir, "wake", "now")

    @property
    def kept_config(self) -> str:
        """What the config file held when it could last be used."""
        return os.path.join(self.state_dir, "config.kept.toml")

    @property
    def setup_record(self) -> str:
        """What setup has changed; there is none where it was never run."""
        return os.path.join(self.state_dir, "setup", "record.json")

    def place_for(self, memory_dir: str, purpose: str) -> str:
        """Where something is kept that belongs to one memory directory."""
        return os.path.join(self.state_dir, purpose, _digest(memory_dir.encode("utf-8", "surrogateescape"), 12))

    def session_file(self, folder: str, session_id: str, ending: str) -> str:
        """The file in which something about one session is kept. A client names its sessions: what could be no file name is
        replaced by its digest.
        """
        if not _PLAIN.fullmatch(session_id):
            session_id = _digest(session_id.encode("utf-8", "replace"), 16)
        return os.path.join(self.state_dir, folder, f"{session_id}{ending}")

    @property
    def transcripts_root(self) -> str:
        return os.path.join(self.claude_dir, "projects")

    @property
    def claude_settings(self) -> str:
        return os.path.join(self.claude_dir, "settings.json")

    @property
    def memory_root(self) -> str:
        """Where memories are kept that no client reads by itself, if the config names no other place."""
        return os.path.join(self.directory("XDG_DATA_HOME", ".local/share"), "memoryd", "memory")

    @property
    def global_dir(self) -> str:
        """The memories about the person, for all projects. Empty where the environment names one directory for everything."""
        if self.forced_memory_dir:
            return ""
        return os.path.join(self.directory("XDG_DATA_HOME", ".local/share"), "memoryd", "global")

    def directory(self, variable: str, default: str) -> str:
        """A directory that a variable of the environment may name; by default one in the home directory."""
        return self.moved.get(variable) or os.path.join(self.home, default)

    def expand(self, path: str) -> str | None:
        """An absolute path or one below `~/`, made absolute; None for anything else."""
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        return os.path.normpath(path) if os.path.isabs(path) else None


def _digest(data: bytes, size: int) -> str:
    try:
        from _blake2 import blake2b  # noqa: PLC0415 - hashlib loads OpenSSL as well: 5 ms, and hooks are waited for
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415 - as above
    return blake2b(data, digest_size=size).hexdigest()


def is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def paths_from(environment: Mapping[str, str]) -> Paths:
    """Build the paths from HOME, XDG_CONFIG_HOME, XDG_STATE_HOME, CLAUDE_CONFIG_DIR and memoryd's own variables.

    As the XDG specification asks, a relative path in one of its variables counts as unset. Raises ConfigError.
    """
    home = environment.get("HOME", "")
    if not home:
        home = pwd.getpwuid(os.getuid()).pw_dir
    if not os.path.isabs(
        home
    ):  # whatever was meant, another directory than that of the client would be read and written
        import shlex  # noqa: PLC0415 - only here

        raise ConfigError(
            f"HOME is {home!r}, which is not an absolute path.", f"export HOME={shlex.quote(os.path.abspath(home))}"
        )

    def directory(variable: str, default: str) -> str:
        value = environment.get(variable, "")
        return os.path.normpath(value) if os.path.isabs(value) else os.path.join(home, default)

    claude = environment.get("CLAUDE_CONFIG_DIR", "")
    claude = home + claude[1:] if claude.startswith("~/") else claude
    if claude and not os.path.isabs(claude):
        raise ConfigError(
            f"CLAUDE_CONFIG_DIR is {claude!r}, which is not an absolute path.",
            f'export CLAUDE_CONFIG_DIR="{os.path.abspath(claude)}"',
        )

    forced = environment.get("MEMORYD_MEMORY_DIR") or environment.get("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE")
    return Paths(
        home=home,
        config_file=environment.get("MEMORYD_CONFIG")
        or os.path.join(directory("XDG_CONFIG_HOME", ".config"), "memoryd", "config.toml"),
        state_dir=os.path.realpath(os.path.join(directory("XDG_STATE_HOME", ".local/state"), "memoryd")),
        claude_dir=os.path.normpath(claude) if claude else os.path.join(home, ".claude"),
        forced_memory_dir=os.path.abspath(forced) if forced else None,
        moved=MappingProxyType(
            {
                name: os.path.normpath(value)
                for name, value in environment.items()
                if name.endswith(_DIRECTORIES) and os.path.isabs(value)
            }
        ),
        switched_off=tuple(
            sorted(
                name.removeprefix(_DISABLE).lower()
                for name, value in environment.items()
                if name.startswith(_DISABLE) and value.strip().lower() not in _NO
            )
        ),
    )
