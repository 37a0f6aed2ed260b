"""Sandbox of the agent: one directory and what lies below it, the only files that its tools can open or write.

A path is walked component by component from the directory's descriptor, and no component may be a link: whoever renames
things meanwhile gets an error or a file of this directory, never one of another. All checks are made on what was opened.
Other directories can be mounted below it, to be read only: nothing is ever written but in the directory itself.
"""

from __future__ import annotations

import copy
import errno
import fnmatch
import os
import re
import stat
import unicodedata
from contextlib import contextmanager, suppress
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self

from memoryd.memory.limits import INDEX_NAME
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

MOST_ENTRIES = 20_000
MOST_DEPTH = 20
MOUNTED_BYTES = 262_144
"""Of a file that is mounted: what people write by hand is shorter, and taking the secrets out of it takes its time."""
WINDOW_LINES = 40
PASSED_OVER = ("node_modules", "__pycache__", "site-packages")
"""Folders of a mounted directory that nobody who works on it wrote."""
_NONE: Mapping[str, str] = MappingProxyType({})
_FILE_BYTES = 1 << 20
_LOOK_FOR_NUL_BYTES = 8_192
_SLACK_BYTES = 16_384
"""Longer than any secret, a private key for instance: what may be one that is cut off is read, and not shown."""
_CACHE_BYTES = 32 << 20
_PATH_CHARACTERS = 1_000
_SHOWN_CHARACTERS = 80

_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY = ".memoryd-write"
_NEW_NAME = re.compile(r"\w[\w.-]{0,99}\.md")
_NO_PATH = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\\]")


class ToolError(Exception):
    """Why a call has no result, in a sentence for the model."""


class NotAllowedError(ToolError):
    """The call asks for what no model may have or do: a line of the log as well."""


class MissingError(ToolError):
    """There is no such file."""


class Opened(NamedTuple):
    name: str
    """Its path without what means nothing: `results/7.txt`, and `.` for the directory itself."""
    descriptor: int
    status: os.stat_result

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


class SandboxEntry(NamedTuple):
    name: str
    is_directory: bool


class Text(NamedTuple):
    text: str
    is_cut: bool


class Sandbox:
    """Holds the directories open; close it.

    `mounts` are directories elsewhere, by the name that they have here; one that is not there is left out. Of the folders
    in `windowed` nothing is shown but by a look that `unguarded` gives. What is mounted or windowed is searched only where
    it is named. Memories are written into the directory itself, and into the folders of it that are `writable`.
    """

    def __init__(
        self,
        root: str,
        mounts: Mapping[str, str] = _NONE,
        windowed: Collection[str] = (),
        writable: Collection[str] = (),
    ) -> None:
        self.descriptor = os.open(root, _DIRECTORY)
        self._writable = frozenset(writable)
        self._windowed = frozenset(windowed)
        self._mounts: dict[str, int] = {}
        for name, path in mounts.items():
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                self._mounts[name] = os.open(path, _DIRECTORY)
                with suppress(FileExistsError):  # so that who lists the directory sees that it is there
                    os.mkdir(name, 0o700, dir_fd=self.descriptor)
        self._apart = self._windowed | self._mounts.keys()
        self._texts: dict[tuple[int, ...], Text] = {}

    def close(self) -> None:
        for descriptor in (self.descriptor, *self._mounts.values()):
            os.close(descriptor)

    def unguarded(self) -> Self:
        """The same view, for a look that is bounded in another way. It is closed with this one."""
        other = copy.copy(self)
        other._windowed = frozenset()  # noqa: SLF001 - its own
        return other

    def is_windowed(self, path: str) -> bool:
        """Whether a path leads to what is shown in windows only, also where the file system takes other cases for it."""
        return any(_folded(part) in self._windowed for part in parts_of(path)[:1])

    @contextmanager
    def open(self, path: str) -> Iterator[Opened]:
        """Open a regular file or a directory. Raises ToolError for what is not there, NotAllowedError for all else."""
        parts = parts_of(path)
        inner_parts, start = parts, self.descriptor
        if parts and parts[0] in self._mounts:
            inner_parts, start = parts[1:], self._mounts[parts[0]]
        descriptor = os.open(".", _LOOK | os.O_DIRECTORY, dir_fd=start)
        try:
            for position, part in enumerate(inner_parts):
                is_last = position == len(inner_parts) - 1
                flags = _LOOK if is_last and not path.endswith(("/", "/.")) else _LOOK | os.O_DIRECTORY
                try:
                    inner = os.open(part, flags, dir_fd=descriptor)
                except OSError as error:
                    raise _why_not(error, path) from error
                os.close(descriptor)
                descriptor = inner
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                if status.st_nlink > 1:
                    raise NotAllowedError(f"{shown(path)} is a hard link, which is not opened")
            elif not stat.S_ISDIR(status.st_mode):
                raise NotAllowedError(f"{shown(path)} is no regular file, and nothing else is opened")
            yield Opened("/".join(parts) or ".", descriptor, status)
        finally:
            os.close(descriptor)

    def walk(self, path: str = ".", *, depth: int = MOST_DEPTH) -> list[SandboxEntry]:
        """The files and directories below a directory, by name; a file alone is itself.

        Links, devices and hidden names are not among them, nor what a rename puts out of reach while we walk; nor, from
        the directory itself, what is mounted there or windowed.
        """
        with self.open(path) as opened:
            if not opened.is_directory:
                return [SandboxEntry(opened.name, is_directory=False)]
            waiting = [(opened.name, depth)]
        found: list[SandboxEntry] = []
        looked_at = 0
        while waiting:
            place, levels = waiting.pop()
            with suppress(ToolError, OSError), self.open(place) as opened, os.scandir(opened.descriptor) as entries:
                for entry in islice(entries, MOST_ENTRIES + 1 - looked_at):
                    looked_at += 1
                    if entry.name.startswith(".") or _NO_PATH.search(entry.name):
                        continue
                    name = entry.name if place == "." else f"{place}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name in PASSED_OVER and self._is_mounted(place):
                            continue
                        found.append(SandboxEntry(name, is_directory=True))
                        if levels > 1 and name not in self._apart:
                            waiting.append((name, levels - 1))
                    elif entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_nlink == 1:
                        found.append(SandboxEntry(name, is_directory=False))
            if looked_at > MOST_ENTRIES:
                raise ToolError(f"{shown(path)} holds more than {MOST_ENTRIES} names; give a narrower path")
        return sorted(found)

    def candidates(self, pattern: str, path: str = ".", *, depth: int = MOST_DEPTH) -> list[SandboxEntry]:
        """What a pattern may be about: what `walk` finds, or what lies below the mounted or windowed folder it names."""
        first = pattern.removeprefix("./").partition("/")[0]
        if path == "." and first in self._apart and first != pattern:
            return self.walk(first, depth=max(depth - 1, 1))
        return self.walk(path, depth=depth)

    def limit_of(self, name: str, limit: int) -> int:
        """How many bytes of a file are read at most, where `limit` is what the caller would take."""
        return min(limit, MOUNTED_BYTES) if self._is_mounted(name) else limit

    def _is_mounted(self, name: str) -> bool:
        return name.partition("/")[0] in self._mounts

    def text(self, path: str, limit: int) -> Text:
        """What a file says, without its secrets, up to about `limit` bytes; a file that is no text says nothing.

        Secrets go before anything looks at the text, so that no option of a command and no pattern can take one apart
        until nothing recognises its pieces.
        """
        if self.is_windowed(path):
            raise NotAllowedError(
                f"{shown(path)} is not shown whole; search it with Grep, or Read it with a limit of {WINDOW_LINES}"
            )
        with self.open(path) as opened:
            if opened.is_directory:
                raise ToolError(f"{shown(path)} is a directory")
            status = opened.status
            limit = self.limit_of(opened.name, limit)
            is_mounted = self._is_mounted(opened.name)
            is_ours = opened.name.partition("/")[0] not in self._apart
            key = (is_ours, limit, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if key in self._texts:
                return self._texts[key]
            data = _read(opened.descriptor, limit + _SLACK_BYTES)
        if is_mounted and b"\0" in data[:_LOOK_FOR_NUL_BYTES]:
            data = b""
        text = redact(data.decode("utf-8", "replace"))
        is_cut = len(data) == limit + _SLACK_BYTES
        result = Text(text[:-_SLACK_BYTES], is_cut) if is_cut else Text(text, is_cut)
        if sum(len(known.text) for known in self._texts.values()) > _CACHE_BYTES:
            self._texts.clear()
        self._texts[key] = result
        return result

    def memory(self, name: str) -> bytes | None:
        """The bytes of a memory, None where there is none of this name."""
        try:
            with self.open(name) as opened:
                if opened.is_directory:
                    raise NotAllowedError(f"{shown(name)} is a directory")
                if opened.status.st_size > _FILE_BYTES:
                    raise NotAllowedError(f"{shown(name)} is larger than {_FILE_BYTES >> 20} MB and left alone")
                return _read(opened.descriptor, _FILE_BYTES)
        except MissingError:
            return None

    def memory_name(self, path: str) -> str:
        """The name of a memory that may be written. Raises NotAllowedError for all other paths."""
        parts = parts_of(path)
        folder = parts[0] if len(parts) == 2 and parts[0] in self._writable else ""  # noqa: PLR2004 - folder and file
        if "/".join(filter(None, (folder, parts[-1]))) != path.removeprefix("./"):
            raise NotAllowedError(f"{shown(path)} is not at the top level; only memories such as deploy.md are written")
        name = parts[-1]
        if _folded(name) == _folded(INDEX_NAME):
            raise NotAllowedError(f"{INDEX_NAME} is rebuilt by code from the memories; write only those")
        with self.open(f"{folder}/" if folder else ".") as opened:
            names = os.listdir(opened.descriptor)
        if name in names and name.endswith(".md"):
            return f"{folder}/{name}" if folder else name
        if not _NEW_NAME.fullmatch(name) or unicodedata.normalize("NFC", name) != name:
            raise NotAllowedError(f"{shown(path)} is no name for a memory; letters, digits, _ . - and then .md")
        for other in names:
            if _folded(other) == _folded(name):
                raise NotAllowedError(
                    f"{shown(name)} differs only in case or spelling from {shown(other)}, which exists"
                )
        return f"{folder}/{name}" if folder else name

    def write(self, name: str, data: bytes | None) -> None:
        """Put a memory in place at once, or remove it. `name` is one that `memory_name` gave.

        What stands there is replaced, never written into: a link that somebody planted meanwhile is gone, its target is
        as it was.
        """
        for key in [key for key in self._texts if key[0]]:
            del self._texts[key]
        folder, _, plain = name.rpartition("/")
        try:
            with self.open(f"{folder}/" if folder else ".") as opened:
                if data is None:
                    os.unlink(plain, dir_fd=opened.descriptor)
                else:
                    _put(opened.descriptor, plain, data)
        except OSError as error:
            raise ToolError(f"{shown(name)} cannot be written: {error.strerror}") from error

    def keep(self, folder: str, name: str, data: bytes) -> None:
        """Put a file of our own into a folder, which is made if there is none. Never into one that is mounted."""
        if folder in self._mounts:
            raise NotAllowedError(f"{shown(folder)} is read only")
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700, dir_fd=self.descriptor)
        with self.open(f"{folder}/") as opened:
            _put(opened.descriptor, name, data)


def parts_of(path: str) -> tuple[str, ...]:
    """The components of a path as a model wrote it; none for the directory itself."""
    if not path or len(path) > _PATH_CHARACTERS:
        raise NotAllowedError(f"a path has 1 to {_PATH_CHARACTERS} characters")
    if path.startswith("/"):
        raise NotAllowedError(f"paths are relative to the memory directory; {shown(path)} is absolute")
    if _NO_PATH.search(path):
        raise NotAllowedError(f"{shown(path)} holds control characters or a backslash; no path here does")
    parts = path.removesuffix("/").split("/")
    for part in parts:
        if part == "..":
            raise NotAllowedError(f"{shown(path)} leads upwards; paths stay inside the memory directory")
        if not part:
            raise NotAllowedError(f"{shown(path)} has an empty component")
        if part.startswith(".") and part != ".":
            raise NotAllowedError(f"{shown(path)} is hidden; names that start with a dot are not opened")
    return tuple(part for part in parts if part != ".")


def shown(text: str) -> str:
    """What a model gave, as a message repeats it: on one line and short."""
    text = "".join(letter if letter.isprintable() else "?" for letter in text[: _SHOWN_CHARACTERS + 1])
    return f"`{text}`" if len(text) <= _SHOWN_CHARACTERS else f"`{text[:_SHOWN_CHARACTERS]}…`"


class Pattern:
    """A glob over whole paths: `*`, `?` and `[..]` inside of a component, `**` for any number of them.

    All positions that the pattern can be at are followed at once, so no pattern takes longer than its length times that
    of the path; within a component `fnmatch` makes patterns that never go back.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern or len(pattern) > _PATH_CHARACTERS:
            raise NotAllowedError(f"a pattern has 1 to {_PATH_CHARACTERS} characters")
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise NotAllowedError(
                f"patterns are relative to the memory directory and stay in it; {shown(pattern)} does not"
            )
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        if len(parts) > 2 * MOST_DEPTH:
            raise NotAllowedError(f"a pattern has at most {2 * MOST_DEPTH} components")
        self._parts = [None if part == "**" else re.compile(fnmatch.translate(_plain(part))) for part in parts]

    def matches(self, path: str) -> bool:
        places = self._reachable({0})
        for name in path.split("/"):
            onward = set()
            for place in places:
                if place < len(self._parts):
                    part = self._parts[place]
                    if part is None:
                        onward.add(place)
                    elif part.match(name):
                        onward.add(place + 1)
            places = self._reachable(onward)
        return len(self._parts) in places

    def _reachable(self, places: set[int]) -> set[int]:
        """Also the places behind `**`, which may stand for nothing."""
        found = set(places)
        for place, part in enumerate(self._parts):
            if place in found and part is None:
                found.add(place + 1)
        return found


def _plain(part: str) -> str:
    """A run of stars is one star, and brackets hold no bracket: neither means more, and both cost or warn."""
    return re.sub(r"\*+", "*", re.sub(r"(?<=[\[!])\[+", "", part))


def _folded(name: str) -> str:
    """The same for all names that some file system or reader takes for one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _put(directory: int, name: str, data: bytes) -> None:
    with suppress(FileNotFoundError):  # left by a call that was killed
        os.unlink(_TEMPORARY, dir_fd=directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(_TEMPORARY, flags, 0o600, dir_fd=directory), "wb") as file:
        file.write(data)
    os.rename(_TEMPORARY, name, src_dir_fd=directory, dst_dir_fd=directory)


def _read(descriptor: int, limit: int) -> bytes:
    pieces = []
    while limit > 0 and (piece := os.read(descriptor, limit)):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _why_not(error: OSError, path: str) -> ToolError:
    if error.errno == errno.ENOENT:
        return MissingError(f"there is no {shown(path)}")
    if error.errno == errno.ELOOP:
        return NotAllowedError(f"{shown(path)} is a symbolic link, which is not followed")
    if error.errno == errno.ENXIO:
        return NotAllowedError(f"{shown(path)} is no regular file, and nothing else is opened")
    if error.errno == errno.ENOTDIR:
        return ToolError(f"{shown(path)} is no directory or leads through something that is none")
    return ToolError(f"{shown(path)} cannot be opened: {error.strerror}")
