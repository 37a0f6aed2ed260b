"""Record of what setup changed, noted before it is changed: whatever is killed, `uninstall` knows of it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import memoryd
from memoryd import __version__, atomic_file
from memoryd.clients.connections import PieceNote
from memoryd.errors import StateError
from memoryd.jobs.process_lock import only_process
from memoryd.setup import take_back

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from memoryd.paths import Paths

_MOST_BYTES = 4 << 20
_ABOVE = os.path.dirname(os.path.dirname(memoryd.__file__))
_SCRIPT = "memoryd/setup/take_back.py"


class ConfigChange(NamedTuple):
    """The config file without what setup chose, and with it; None: there was no file."""

    file: str
    before: str | None
    after: str


class SetupRecord(NamedTuple):
    state_dir: str
    python: str = ""
    folders: tuple[str, ...] = ()
    """Folders that setup was the first to need, outermost first: they go again if they are empty."""
    plugin_folder: str = ""
    plugin_files: tuple[str, ...] = ()
    pieces: tuple[PieceNote, ...] = ()
    """What was put into the files of other clients."""
    config: ConfigChange | None = None
    service_file: str = ""
    service_manager: str = ""
    engine: str = ""
    """What was chosen; empty: nothing yet."""
    history_at: float | None = None
    """When the history was worked on."""

    def with_folders_of(self, paths: Iterable[str]) -> SetupRecord:
        """With every folder that is missing on the way to these files."""
        missing = list(self.folders)
        for path in paths:
            way: list[str] = []
            folder = os.path.dirname(path)
            while folder and not os.path.isdir(folder):
                way.append(folder)
                folder = os.path.dirname(folder)
            missing += [folder for folder in reversed(way) if folder not in missing]
        return self._replace(folders=tuple(missing))


def record_file(paths: Paths) -> str:
    return paths.setup_record


def uninstaller(paths: Paths) -> str:
    """The script that takes everything back where memoryd itself is gone."""
    return os.path.join(os.path.dirname(record_file(paths)), take_back.SCRIPT)


def only_setup(paths: Paths) -> AbstractContextManager[None]:
    """The lock of setup and uninstall: one of them at a time. Raises BusyError."""
    busy = "Another memoryd setup or uninstall is going on, in another terminal perhaps. Nothing was done here."
    return only_process(paths, "", take_back.RECORD[0], busy, "memoryd setup --show")


def read_record(paths: Paths) -> SetupRecord | None:
    """What setup has noted; None where it was never run, or where its note is damaged."""
    data = atomic_file.read_regular(record_file(paths), _MOST_BYTES)
    try:
        found: dict[str, Any] = json.loads(data or b"null")
        config = found.get("config")
        return SetupRecord(
            paths.state_dir,
            str(found["python"]),
            tuple(map(str, found["folders"])),
            str(found["plugin_folder"]),
            tuple(map(str, found["plugin_files"])),
            tuple(map(_piece, found.get("pieces", ()))),
            ConfigChange(str(config["file"]), config["before"], str(config["after"])) if config else None,
            str(found["service_file"]),
            str(found["service_manager"]),
            str(found["engine"]),
            found["history_at"],
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _piece(noted: dict[str, Any]) -> PieceNote:
    """What a later version has noted beside is passed over."""
    return PieceNote(**{name: noted[name] for name in PieceNote._fields if name in noted})


def _script_files() -> Iterator[tuple[str, bytes]]:
    """The script and what it imports, by their places beside the record; the script last."""
    yield from ((name, b"") for name in take_back.PACKAGES)
    for name, place in (*((module, module) for module in take_back.MODULES), (take_back.SCRIPT, _SCRIPT)):
        with open(os.path.join(_ABOVE, place), "rb") as file:
            yield name, file.read()


def as_dict(record: SetupRecord) -> dict[str, Any]:
    """As `take_back` reads it."""
    config = record.config._asdict() if record.config else None
    return {**record._asdict(), "config": config, "pieces": [piece._asdict() for piece in record.pieces]}


def write_record(paths: Paths, record: SetupRecord) -> None:
    """Note what is about to be changed, and leave the script beside it. Raises StateError."""
    noted = {"memoryd": __version__, **as_dict(record)}
    try:
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        for name, source in _script_files():
            copy = os.path.join(os.path.dirname(record_file(paths)), name)
            if atomic_file.read_regular(copy, _MOST_BYTES) != source:
                atomic_file.write(copy, source)
        atomic_file.write(record_file(paths), json.dumps(noted, indent=2).encode() + b"\n")
    except OSError as error:
        raise StateError(
            f"{record_file(paths)} cannot be written: {error.strerror}.", f"ls -ld {paths.state_dir}"
        ) from error
