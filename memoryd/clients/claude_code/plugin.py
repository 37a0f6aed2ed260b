"""memoryd's plugin for Claude Code: hooks, MCP server and skills in one folder of the client's, made and taken away.

    <config dir>/skills/memoryd/.claude-plugin/plugin.json      the manifest: without it the folder is no plugin
                                hooks/hooks.json  .mcp.json  skills/<name>/SKILL.md

The folder `plugin` beside this file has the same plugin for whoever installs it from the repository: there the command is
`memoryd`, wherever the client finds it. The manifest is written last and removed first, so the plugin is there whole or not at
all, wherever this is killed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memoryd import atomic_file
from memoryd.clients.claude_code.hook_events import ClaudeCodeHooks
from memoryd.clients.hook_dialect import command_of
from memoryd.clients.settings import HooksState, PluginChange
from memoryd.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from memoryd.clients.hook_dialect import HookEvent
    from memoryd.clients.settings import State
    from memoryd.paths import Paths

MANIFEST = ".claude-plugin/plugin.json"
HOOKS_FILE = "hooks/hooks.json"
SERVERS_FILE = ".mcp.json"
SOURCE = os.path.join(os.path.dirname(__file__), "plugin")
_MOST_BYTES = 1 << 20


HOOKS = tuple(event for event in ClaudeCodeHooks.events if event.kind != "call")
CALL_HOOK = next(event for event in ClaudeCodeHooks.events if event.kind == "call")
"""Only there while some memory speaks of tool calls: it starts a process for each of them."""


def _entry(hook: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    """Without a shell: `args` need no quoting."""
    program, *arguments = command
    return {
        "type": "command",
        "command": program,
        "args": [*arguments, "hook", hook.argument],
        "timeout": hook.timeout_seconds,
    }


def _group(hook: HookEvent, command: Sequence[str]) -> dict[str, Any]:
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [_entry(hook, command)]}


def plugin_files(command: Sequence[str], *, with_calls: bool = False) -> dict[str, bytes]:
    """Every file of the plugin by its path; the manifest comes last. `with_calls`: with the hook before tool calls."""
    files = dict(_files_in(SOURCE))
    manifest = files.pop(MANIFEST)
    program, *arguments = command
    servers = {"mcpServers": {"memoryd": {"command": program, "args": [*arguments, "mcp"]}}}
    return {
        **files,
        HOOKS_FILE: _hooks(command, with_calls=with_calls),
        SERVERS_FILE: _json(servers),
        MANIFEST: manifest,
    }


def _hooks(command: Sequence[str], *, with_calls: bool) -> bytes:
    hooks = (*HOOKS, CALL_HOOK) if with_calls else HOOKS
    return _json({"hooks": {hook.name: [_group(hook, command)] for hook in hooks}})


def plugin_folder(paths: Paths) -> str:
    return os.path.join(paths.claude_dir, "skills", "memoryd")


def plugin_state(paths: Paths, python: str) -> State:
    """Whether the plugin is there, and runs this Python's memoryd."""
    folder = plugin_folder(paths)
    if atomic_file.read_regular(os.path.join(folder, MANIFEST), _MOST_BYTES) is None:
        return "missing"
    forms = [plugin_files(command_of(python), with_calls=with_calls) for with_calls in (False, True)]
    found = {name: atomic_file.read_regular(os.path.join(folder, name), _MOST_BYTES) for name in forms[0]}
    return "installed" if found in forms else "outdated"


def hook_states(paths: Paths, environment: Mapping[str, str], python: str) -> list[HooksState]:
    """Each hook of the plugin, and whether it runs this Python's memoryd."""
    folder, search = plugin_folder(paths), environment.get("PATH")
    is_there = os.path.isfile(os.path.join(folder, MANIFEST))
    data = atomic_file.read_regular(os.path.join(folder, HOOKS_FILE), _MOST_BYTES) if is_there else None
    found = []
    for hook in (*HOOKS, CALL_HOOK):
        entry = _entry_of(data or b"", hook.name)
        if entry is None and hook is CALL_HOOK:
            continue  # no memory speaks of tool calls
        if entry is None:
            found.append(HooksState(hook.name, "missing"))
            continue
        command, arguments = str(entry.get("command", "")), entry.get("args")
        words = [command, *(str(word) for word in arguments if isinstance(arguments, list))] if arguments else [command]
        found.append(
            HooksState(
                hook.name,
                "installed" if entry == _entry(hook, command_of(python)) else "outdated",
                shlex.join(words),
                command,
                shutil.which(command, path=search) is not None,
            )
        )
    return found


def install(paths: Paths, python: str, recorded: Collection[str] = ()) -> PluginChange:
    """Make the plugin's folder, or bring it up to date; `recorded` are files that an earlier memoryd put there.

    Raises ClientError, where the folder is somebody else's or cannot be written.
    """
    folder, before = plugin_folder(paths), plugin_state(paths, python)
    files = plugin_files(command_of(python))
    _check_owner(folder, {*files, *recorded})
    stale = {*recorded} - {*files}
    try:
        if before != "installed":
            for name, data in files.items():
                atomic_file.write(os.path.join(folder, name), data)
        _remove(folder, stale)
    except OSError as error:
        raise _unusable(folder, error) from error
    return PluginChange(folder, before, tuple(files))


def set_call_hook(paths: Paths, *, is_wanted: bool) -> bool:
    """Put the hook before tool calls into the plugin, or take it out; whether that changed anything. Raises OSError.

    Only in a hooks file that is just as `install` writes it: what somebody has changed is theirs.
    """
    folder = plugin_folder(paths)
    file = os.path.join(folder, HOOKS_FILE)
    data = atomic_file.read_regular(file, _MOST_BYTES)
    entry = _entry_of(data or b"", HOOKS[0].name)
    if entry is None or os.path.islink(folder) or not os.path.isfile(os.path.join(folder, MANIFEST)):
        return False
    arguments = entry.get("args")
    command = [str(entry.get("command")), *(arguments[:-2] if isinstance(arguments, list) else ())]
    if data != _hooks(command, with_calls=not is_wanted):
        return False
    atomic_file.write(file, _hooks(command, with_calls=is_wanted))
    if not os.path.isfile(os.path.join(folder, MANIFEST)):
        _remove(folder, (HOOKS_FILE,))  # the plugin was taken away meanwhile
    return True


def is_own(paths: Paths) -> bool:
    """Whether there is such a folder, and memoryd made it."""
    folder = plugin_folder(paths)
    try:
        _check_owner(folder, {*plugin_files(("memoryd",))})
    except ClientError:
        return False
    return os.path.isdir(folder)


def _check_owner(folder: str, known: set[str]) -> None:
    """Raise ClientError for a folder of this name that memoryd did not make."""
    there = {name for name, _ in _files_in(folder)}
    manifest = atomic_file.read_regular(os.path.join(folder, MANIFEST), _MOST_BYTES)
    is_named = False
    with suppress(ValueError):
        is_named = json.loads(manifest or b"null").get("name") == "memoryd" if manifest else False
    if os.path.islink(folder) or (there and not is_named and not there <= {*known, *map(_fresh, known)}):
        raise ClientError(
            f"{folder} holds something that memoryd did not put there, so it stays as it is.",
            f"mv {shlex.quote(folder)} somewhere else, then memoryd setup",
        )


def _remove(folder: str, names: Collection[str]) -> None:
    """Remove these files and the folders that they leave empty; the manifest first."""
    for name in sorted(names, key=lambda name: name != MANIFEST):
        for place in (name, _fresh(name)):
            with suppress(FileNotFoundError, NotADirectoryError):
                os.remove(os.path.join(folder, place))
        parent = os.path.dirname(name)
        while True:
            with suppress(OSError):
                os.rmdir(os.path.join(folder, parent))
            if not parent:
                break
            parent = os.path.dirname(parent)


def _fresh(name: str) -> str:
    """What a killed process may have left of a file."""
    place, file = os.path.split(name)
    return os.path.join(place, f".{file}.new")


def _files_in(folder: str) -> Iterator[tuple[str, bytes]]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            yield os.path.relpath(path, folder), atomic_file.read_regular(path, _MOST_BYTES) or b""


def _entry_of(data: bytes, event: str) -> dict[str, Any] | None:
    """The first hook for an event; None where there is none that can be understood."""
    try:
        entry = json.loads(data)["hooks"][event][0]["hooks"][0]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


def _unusable(folder: str, error: OSError) -> ClientError:
    return ClientError(f"{folder} cannot be written: {error.strerror}.", f"ls -ld {shlex.quote(folder)} && df -h ~")
