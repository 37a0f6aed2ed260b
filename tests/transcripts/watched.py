"""A root with a transcript that is watched, and a system that can be made to refuse."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.registry import ALL
from memoryd.daemon.wake_file import prepare
from memoryd.daemon.wakeup import Wakeup
from memoryd.transcripts.watch import WatchedPlace, Watcher

if TYPE_CHECKING:
    import pytest

    from memoryd.paths import Paths

PATIENCE_SECONDS = 180.0


class Place:
    """A root with one folder and one transcript, and a wakeup that the watch rings."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.root = Path(paths.transcripts_root)
        self.folder = self.root / "-code-acme"
        self.memory = self.folder / "memory"
        self.memory.mkdir(parents=True)
        self.transcript = self.folder / "one.jsonl"
        self.transcript.write_bytes(b"{}\n")
        prepare(paths)
        self.wakeup = Wakeup()
        self.heard: set[str] = set()
        self.watched = WatchedPlace(str(self.root), is_deep=True, counts=ALL[0].is_session)
        self._watchers: list[Watcher] = []

    def watch(self) -> Watcher:
        watcher = Watcher([self.watched], self.paths.wake_file, lambda: self.wakeup.wake("change"))
        self._watchers.append(watcher)
        return watcher

    def reports(self, watcher: Watcher, folder: Path | str) -> None:
        """Wait until a folder was reported."""
        while str(folder) not in self.heard:
            assert self.wakeup.wait(PATIENCE_SECONDS), f"nobody reported {folder}, only {self.heard}"
            self.heard |= watcher.take()

    def grow(self, path: Path | None = None) -> None:
        with (path or self.transcript).open("ab") as file:
            file.write(b"{}\n")

    def close(self) -> None:
        for watcher in self._watchers:
            watcher.stop()
        self.wakeup.__exit__(None, None, None)


def refuse_watches(monkeypatch: pytest.MonkeyPatch, number: int, behind: int) -> None:
    """Let the system refuse with this error, behind so many watches."""
    from watchdog.observers import inotify_c  # noqa: PLC0415 - there is none but on Linux

    add, added = inotify_c.inotify_add_watch, 0

    def refusing(descriptor: int, path: bytes, mask: int) -> int:
        nonlocal added
        added += 1
        if added > behind:
            ctypes.set_errno(number)
            return -1
        return int(add(descriptor, path, mask))

    monkeypatch.setattr(inotify_c, "inotify_add_watch", refusing)
