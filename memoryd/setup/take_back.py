"""Take back what `memoryd setup` has changed, with nothing but Python's standard library.

    python3 uninstall.py [--yes] [--keep-history]

`memoryd uninstall` does this and more; a copy lies beside the record of what was changed, as `uninstall.py`, for the day when
memoryd itself is gone. Memories stay where they are. Stopped anywhere, it can be run again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import Any

if __name__ == "__main__":  # the modules below lie beside the script
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from memoryd.clients import json_entries, toml_tables

RECORD = ("setup", "record.json")
SCRIPT = "uninstall.py"
MODULES = tuple(f"memoryd/clients/{name}.py" for name in ("json_spans", "json_entries", "toml_tables"))
"""Those that the script needs: they lie beside it, in a package of memoryd's name that holds nothing else."""
PACKAGES = ("memoryd/__init__.py", "memoryd/clients/__init__.py")
FILE_MARK = "Made by memoryd setup"
"""In the first line of every file in a client's folder that is memoryd's alone."""
_MOST_BYTES = 16 << 20
_MANIFEST = ".claude-plugin/plugin.json"
_UNIT = "memoryd.service"
_DATABASE = "memoryd.sqlite3"


def take_back(record: dict[str, Any], *, keeps_history: bool = False) -> list[str]:
    """Undo each step of a record; returns a line for each thing that is gone, or that stays for a reason.

    With the history, the database stays: what was changed and why, and what was read already.
    """
    told = [
        *_remove_service(str(record.get("service_file") or ""), str(record.get("service_manager") or "")),
        *_remove_plugin(
            str(record.get("plugin_folder") or ""), [str(name) for name in record.get("plugin_files") or ()]
        ),
        *(line for piece in record.get("pieces") or () for line in _take_out(piece)),
        *_restore_config(record.get("config")),
    ]
    folders = [str(folder) for folder in record.get("folders") or ()]
    _remove_empty(folders)  # before the record goes: a second run would not know of them
    told += _remove_state(str(record.get("state_dir") or ""), keeps_history=keeps_history)
    _remove_empty(folders)
    return told


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
    """What was put into a file of a client goes; every other byte stays."""
    file = str(piece["file"])
    try:
        if os.path.islink(file) or not os.path.isfile(file) or os.path.getsize(file) > _MOST_BYTES:
            return []
        with open(file, encoding="utf-8", newline="") as opened:
            text = opened.read()
        after = _without_piece(text, piece)
        if after == text:
            return []
        if after is None:
            os.remove(file)
            return [f"Removed {file}."]
        _write(file, after)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return [f"{file} stays as it is ({why}); take out of it what runs memoryd."]
    return [f"Took memoryd out of {file}."]


def _without_piece(text: str, piece: dict[str, Any]) -> str | None:
    """None: the file is to go."""
    before, table, trusts = piece["before"], str(piece["table"]), str(piece["trusts"])
    if piece["kind"] == "json":
        return json_entries.without_entries(text, json_entries.Before(before))
    if piece["kind"] == "file":
        return None if FILE_MARK in text.partition("\n")[0] else text

    def is_ours(name: str) -> bool:
        is_trust = trusts and not os.path.exists(trusts) and name.startswith(f'hooks.state."{trusts}:')
        return name == table or name.startswith(f"{table}.") or bool(is_trust)

    if not json_entries.is_own(toml_tables.table_at(text, table)):
        return text
    after = toml_tables.without_tables(text, is_ours, before)
    if trusts and toml_tables.is_left_alone(after, "hooks.state"):
        after = toml_tables.without_tables(after, "hooks.state".__eq__)
    return after if after.strip() or before is not None else None


def _write(file: str, text: str) -> None:
    """In one step, with the rights that the file has."""
    fresh = f"{file}.new"
    with open(fresh, "w", encoding="utf-8", newline="") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    shutil.copymode(file, fresh)
    os.replace(fresh, file)


def _restore_config(change: object) -> list[str]:
    """The file goes back to what it was, unless somebody has changed it since."""
    if not isinstance(change, dict) or not os.path.exists(change["file"]):
        return []
    file, before = change["file"], change["before"]
    with open(file, encoding="utf-8") as opened:
        now = opened.read()
    if now != change["after"]:
        return [] if now == before else [f"{file} was changed by hand and stays."]
    if before is None:
        os.remove(file)
        return [f"Removed {file}."]
    _write(file, before)
    return [f"Took the choice of setup out of {file}."]


def _remove_state(folder: str, *, keeps_history: bool) -> list[str]:
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
    for line in take_back(record, keeps_history="--keep-history" in arguments):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
