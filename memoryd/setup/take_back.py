"""Take back what `memoryd setup` has changed, with nothing but Python's standard library.

    python3 uninstall.py [--yes] [--keep-history]

`memoryd uninstall` does this and more; a copy lies beside the record of what was changed, as `uninstall.py`, for the day when
memoryd itself is gone. Memories stay where they are. Stopped anywhere, it can be run again.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if __name__ == "__main__":  # the modules below lie beside the script
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from memoryd.clients import json_comments, json_entries, replaced_file, toml_tables

if TYPE_CHECKING:
    from collections.abc import Callable

RECORD = ("setup", "record.json")
SCRIPT = "uninstall.py"
_NAMES = ("json_spans", "json_entries", "json_comments", "toml_tables", "replaced_file")
MODULES = tuple(f"memoryd/clients/{name}.py" for name in _NAMES)
"""Those that the script needs: they lie beside it, in a package of memoryd's name that holds nothing else."""
PACKAGES = ("memoryd/__init__.py", "memoryd/clients/__init__.py")
FILE_MARK = "Made by memoryd setup"
"""In the first line of every file in a client's folder that is memoryd's alone."""
STILL_THERE = "Then the same command takes back the rest."
_TRIES = 3
_MANIFEST = ".claude-plugin/plugin.json"
_UNIT = "memoryd.service"
_DATABASE = "memoryd.sqlite3"


class TakenBack(NamedTuple):
    told: list[str]
    """A line for each thing that is gone, or that stays since it is not memoryd's."""
    left: list[str]
    """A line and its fix for each file that memoryd is still in: the record stays for the next run."""


class _LeftError(Exception):
    """A file stays as it is: a sentence, and the command that fixes it."""

    def __init__(self, sentence: str, fix: str) -> None:
        super().__init__(f"{sentence}\n  fix: {fix}")


def take_back(record: dict[str, Any], *, keeps_history: bool = False) -> TakenBack:
    """Undo each step of a record.

    With the history, the database stays: what was changed and why, and what was read already.
    """
    told = [
        *_remove_service(str(record.get("service_file") or ""), str(record.get("service_manager") or "")),
        *_remove_plugin(
            str(record.get("plugin_folder") or ""), [str(name) for name in record.get("plugin_files") or ()]
        ),
    ]
    left: list[str] = []
    pieces = sorted(record.get("pieces") or (), key=lambda piece: os.path.islink(piece["file"]))
    for piece in pieces:  # links last: what they lead to may be a piece, too
        try:
            told += _take_out(piece)
        except _LeftError as error:
            left.append(str(error))
    try:
        told += _restore_config(record.get("config"))
    except _LeftError as error:
        left.append(str(error))
    folders = [str(folder) for folder in record.get("folders") or ()]
    _remove_empty(folders)  # before the record goes: a second run would not know of them
    told += _remove_state(str(record.get("state_dir") or ""), keeps_history=keeps_history, keeps_record=bool(left))
    _remove_empty(folders)
    return TakenBack(told, left)


def _remove_empty(folders: list[str]) -> None:
    for folder in reversed(folders):
        with suppress(OSError):
            os.rmdir(folder)


def _remove_service(file: str, manager: str) -> list[str]:
    if not file or not os.path.lexists(file):
        return []
    if manager == "launchd":
        _run("launchctl", "bootout", f"gui/{os.getuid()}/{os.path.basename(file).removesuffix('.plist')}")
    else:
        _run("systemctl", "--user", "stop", _UNIT)
        _run("systemctl", "--user", "disable", _UNIT)
        with suppress(OSError):
            os.remove(os.path.join(os.path.dirname(file), "default.target.wants", _UNIT))
    os.remove(file)
    if manager != "launchd":
        _run("systemctl", "--user", "daemon-reload")
    return [f"Stopped the service and removed {file}."]


def _run(*command: str) -> None:
    program = shutil.which(command[0])
    if program:
        with suppress(OSError):
            subprocess.run([program, *command[1:]], capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603


def _remove_plugin(folder: str, files: list[str]) -> list[str]:
    if not folder or os.path.islink(folder) or not os.path.isdir(folder):
        return []
    for name in sorted(files, key=lambda name: name != _MANIFEST):  # without its manifest it is no plugin any more
        place = os.path.normpath(os.path.join(folder, name))
        if not place.startswith(folder + os.sep):
            continue
        above, file = os.path.split(place)
        for gone in (place, os.path.join(above, f".{file}.new")):
            with suppress(FileNotFoundError, NotADirectoryError):
                os.remove(gone)
        while above.startswith(folder):
            with suppress(OSError):
                os.rmdir(above)
            above = os.path.dirname(above)
    if os.path.isdir(folder):
        return [f"{folder} holds something that is not memoryd's, which stays."]
    return [f"Removed the plugin {folder}."]


def _take_out(piece: dict[str, Any]) -> list[str]:
    """What was put into a file of a client goes; every other byte stays. Raises _LeftError."""
    file = str(piece["file"])
    return _change(file, lambda text: _without_piece(text, piece), f"Took memoryd out of {file}.")


def _change(file: str, change: Callable[[str], str | None], done: str) -> list[str]:
    """Give a file the text that `change` makes of it, None: it goes. Raises _LeftError where it has to stay as it is."""
    try:
        for _ in range(_TRIES):
            found = replaced_file.read(os.path.realpath(file))
            text = replaced_file.text_of(found.data)
            after = None if text is None else change(text)
            if after == text and not (text is None and os.path.islink(file)):
                _clear_leftovers(file)
                return []
            _refuse_link(file)
            _refuse_what_is_read_only(file, found)
            if replaced_file.replace(file, found, None if after is None else after.encode()):
                return [f"Removed {file}." if after is None else done]
    except OSError as error:
        raise _LeftError(f"{file} stays as it is: {error.strerror}.", _by_hand(file)) from error
    except ValueError as error:
        raise _LeftError(f"{file} {error}, so it stays as it is.", _by_hand(file)) from error
    raise _LeftError(f"{file} is being changed by somebody else again and again.", "close what writes it")


def _by_hand(file: str) -> str:
    return f"${{EDITOR:-vi}} {shlex.quote(file)}, and take out what memoryd setup put in"


def _refuse_link(file: str) -> None:
    """A file that has become a link since setup is a decision of the user's."""
    target = os.path.realpath(file)
    if os.path.islink(file):
        sentence = (
            f"{file} has become a link to {target}, which may be shared with other machines, so it stays as it is."
        )
        raise _LeftError(sentence, _by_hand(target))


def _refuse_what_is_read_only(file: str, found: replaced_file.FileFound) -> None:
    if part := replaced_file.read_only_part(file, found):
        rights = "u+w" if part == file else "u+wx"
        raise _LeftError(f"{part} is read-only, so {file} stays as it is.", f"chmod {rights} {shlex.quote(part)}")


def _clear_leftovers(file: str) -> None:
    """What a setup left that was killed before it had changed the file."""
    with suppress(FileNotFoundError, NotADirectoryError):
        replaced_file.clear_leftovers(*os.path.split(file))


def _without_piece(text: str, piece: dict[str, Any]) -> str | None:
    """None: the file is to go."""
    before, table, trusts = piece["before"], str(piece["table"]), str(piece["trusts"])
    if piece["kind"] == "json":
        return json_comments.edited(text, lambda bare: json_entries.without_entries(bare, json_entries.Before(before)))
    if piece["kind"] == "file":
        return None if FILE_MARK in text.partition("\n")[0] else text
    if piece["kind"] != "toml":
        raise json_entries.UnusableError("was changed by a later memoryd than this one")

    def is_ours(name: str) -> bool:
        is_trust = trusts and not os.path.exists(trusts) and name.startswith(f'hooks.state."{trusts}:')
        return name == table or name.startswith(f"{table}.") or bool(is_trust)

    if not json_entries.is_own(toml_tables.table_at(text, table)):
        return text
    after = toml_tables.without_tables(text, is_ours, before)
    if toml_tables.table_at(after, table) is not None:
        raise json_entries.UnusableError(f"has `{table}` in an inline table, where you put it by hand")
    if trusts and toml_tables.is_left_alone(after, "hooks.state"):
        after = toml_tables.without_tables(after, "hooks.state".__eq__)
    return after if after.strip() or before is not None else None


def _restore_config(change: object) -> list[str]:
    """The file goes back to what it was, unless somebody has changed it since. Raises _LeftError."""
    if not isinstance(change, dict):
        return []
    file, after = str(change["file"]), change["after"]
    before: str | None = change["before"]
    by_hand = f"{file} was changed by hand and stays."
    told: list[str] = []

    def restored(now: str) -> str | None:
        if now == after:
            return before
        told.extend([by_hand] if now != before else [])
        return now

    return _change(file, restored, f"Took the choice of setup out of {file}.") or told


def _remove_state(folder: str, *, keeps_history: bool, keeps_record: bool) -> list[str]:
    """The record goes last: until then it can be begun again."""
    if not folder or os.path.basename(folder) != "memoryd" or not os.path.isdir(folder):
        return []
    own = os.path.join(folder, RECORD[0])
    for name in os.listdir(folder):
        place = os.path.join(folder, name)
        if place == own or (keeps_history and name.startswith(_DATABASE)):
            continue
        if os.path.isdir(place) and not os.path.islink(place):
            shutil.rmtree(place)
        else:
            os.remove(place)
    if keeps_record and os.path.isdir(own):
        return []
    for name in sorted(os.listdir(own) if os.path.isdir(own) else (), key=lambda name: name == RECORD[1]):
        place = os.path.join(own, name)
        if os.path.isdir(place) and not os.path.islink(place):
            shutil.rmtree(place)
        else:
            os.remove(place)
    shutil.rmtree(own, ignore_errors=True)
    if os.listdir(folder):
        return [f"Kept the history of your memories in {folder}."]
    os.rmdir(folder)
    return [f"Removed {folder}."]


def main(arguments: list[str]) -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, RECORD[1]), encoding="utf-8") as file:
        record = json.load(file)
    if "--yes" not in arguments:
        print("This takes back what memoryd setup has changed; memories stay. Go on? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("Nothing was done.")
            return 0
    done = take_back(record, keeps_history="--keep-history" in arguments)
    for line in done.told:
        print(line)
    for line in done.left:
        print(line, file=sys.stderr)
    if done.left:
        print(STILL_THERE, file=sys.stderr)
    return 1 if done.left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
