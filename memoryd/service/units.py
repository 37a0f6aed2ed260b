"""Unit files: those of systemd/ and launchd/, with the paths of this installation. Pure."""

from __future__ import annotations

import os
import plistlib
import re
from typing import TYPE_CHECKING, Any

from memoryd.clients.registry import ALL
from memoryd.daemon.last_failure import SUPERVISOR_VARIABLE
from memoryd.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.paths import Paths

UNIT = "memoryd.service"
LABEL = "local.memoryd"
AGENT = f"{LABEL}.plist"

MARK = "# Written by `memoryd service install`, which also replaces it; `memoryd service remove` takes it away."
_ABSOLUTE = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")  # a relative one counts as unset
_PLACES = ("MEMORYD_CONFIG", "MEMORYD_MEMORY_DIR", "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE")
_ARGUMENTS = ("-P", "-m", "memoryd", "run")


def kept_variables(environment: Mapping[str, str], paths: Paths) -> dict[str, str]:
    """The variables of this shell without which the service would look elsewhere than the commands do.

    Nothing else is taken: what else stands in an environment may be secret, and a unit file is read by many.
    """
    kept = {name: environment[name] for name in _ABSOLUTE if os.path.isabs(environment.get(name, ""))}
    if environment.get("CLAUDE_CONFIG_DIR"):
        kept["CLAUDE_CONFIG_DIR"] = environment["CLAUDE_CONFIG_DIR"]
    kept |= {name: paths.moved[name] for client in ALL for name in client.moved_by if name in paths.moved}
    kept |= {name: os.path.abspath(environment[name]) for name in _PLACES if environment.get(name)}
    kept |= {f"MEMORYD_DISABLE_{feature.upper()}": "1" for feature in paths.switched_off}
    # git and what api_key_command names are looked for where this shell finds them; never in the working directory.
    places = [place for place in environment.get("PATH", "").split(":") if os.path.isabs(place) and _is_plain(place)]
    if places:
        kept["PATH"] = ":".join(dict.fromkeys(places))
    return kept


def unit_text(python: str, variables: Mapping[str, str]) -> str:
    """The systemd unit. Raises ServiceError where a path cannot be written in one."""
    for text in (python, *variables.values()):
        if not _is_plain(text):
            raise ServiceError(
                f"systemd cannot read this path: {text!r}.", "install memoryd where paths have no control characters"
            )
    lines = [f"ExecStart={_command(python)}"]
    lines += [f"Environment={quoted(f'{name}={value}')}" for name, value in sorted(variables.items())]
    text, number = re.subn(r"^ExecStart=.*$", lambda _: "\n".join(lines), _template(UNIT), flags=re.MULTILINE)
    assert number == 1  # noqa: S101 - the template is ours
    return f"{MARK}\n{text}"


def quoted(text: str) -> str:
    """One word of a setting in a unit file, with nothing in it that systemd would expand."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def agent(python: str, variables: Mapping[str, str], paths: Paths) -> bytes:
    """The launchd agent."""
    made: dict[str, Any] = plistlib.loads(_template(AGENT).encode())
    made["ProgramArguments"] = [python, *_ARGUMENTS]
    made["EnvironmentVariables"] |= variables
    made["StandardErrorPath"] = paths.crash_log
    return plistlib.dumps(made, sort_keys=False)


def is_ours(text: bytes) -> bool:
    """Whether `install` has written this unit or agent."""
    return text.startswith(MARK.encode()) or f"<key>{SUPERVISOR_VARIABLE}</key>".encode() in text


def _command(python: str) -> str:
    words = [python if re.fullmatch(r"[\w/.+-]+", python) else quoted(python).replace("$", "$$"), *_ARGUMENTS]
    if re.search(r"""["'\\$]""", python):
        # systemd takes no such letter in the name of the program; in an argument it takes every one.
        words[:0] = ["/bin/sh", "-c", '\'exec "$$0" "$$@"\'']
    return " ".join(words)


def _is_plain(text: str) -> bool:
    """Whether it is UTF-8 without control characters; a file name need not be."""
    return not re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", text)


def _template(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
