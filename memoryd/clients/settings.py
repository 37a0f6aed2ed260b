"""Settings of a client, as far as they matter to memoryd, and what memoryd gives to it."""

from __future__ import annotations

from typing import Literal

from memoryd.record import NamedTuple

State = Literal["installed", "outdated", "missing"]


class Switch(NamedTuple):
    """Whether something is on, and what says so; None: nothing does."""

    is_on: bool | None
    by: str = ""


class ClientSettings(NamedTuple):
    auto_memory: Switch
    auto_dream: Switch
    cleanup_days: float
    cleanup_by: str
    """What says so; empty: the client's default."""
    writes_transcripts: Switch
    hooks: tuple[str, ...]
    """The commands of all hooks, with their arguments."""
    plugins: tuple[str, ...]
    """Those that are enabled."""
    servers: tuple[str, ...]
    """MCP servers of the user, by name, with their commands."""
    broken: tuple[str, ...]
    """Files that are not JSON: the client does not use them either."""
    hooks_off: Switch = Switch(None)
    """Whether the client leaves the user's own hooks alone."""
    memory_dir: str | None = None
    """Where the environment says that the client keeps all memories; None where it does not."""


class HooksState(NamedTuple):
    """The state of one hook."""

    event: str
    state: State
    command: str = ""
    python: str = ""
    """The one that the command names; empty where there is none."""
    python_exists: bool = False
    """Whether a shell would find it."""


class SettingsChange(NamedTuple):
    """What became of a settings file."""

    path: str
    before: bytes | None
    """None: there was no file."""
    after: bytes | None
    """None: it was removed."""
    backup: str = ""

    @property
    def is_changed(self) -> bool:
        return self.before != self.after


class PluginChange(NamedTuple):
    """What was done to the folder of the plugin."""

    folder: str
    before: State
    files: tuple[str, ...] = ()
    """Those that are there now, by their paths in the folder."""
