"""Runs systemctl and launchctl, and writes the file that each of them reads."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from memoryd import atomic_file
from memoryd.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS = 400.0
"""Longest time of a command; a stop and a start together take less."""


class Done(NamedTuple):
    code: int
    out: str
    error: str


def is_there(program: str, environment: Mapping[str, str]) -> bool:
    return shutil.which(program, path=environment.get("PATH")) is not None


def call(environment: Mapping[str, str], program: str, *arguments: str) -> Done:
    """Run a program to its end, in English and without a pager."""
    found = shutil.which(program, path=environment.get("PATH"))
    if found is None:
        raise ServiceError(f"There is no {program} here.", "memoryd run")
    plain = {**environment, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
    try:
        done = subprocess.run(  # noqa: S603 - the program was found on the user's own path
            [found, *arguments],
            env=plain,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceError(f"{program} {arguments[0]} does not end.", "memoryd service status") from error
    return Done(done.returncode, done.stdout, done.stderr.strip())


def read_own(path: str) -> bytes | None:
    """Content of the file; None where there is none, empty for a symlink or a folder, which are not ours."""
    try:
        return atomic_file.read(path)
    except FileNotFoundError:
        return None
    except OSError:
        return b""


def make_directory(path: str) -> None:
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise ServiceError(f"{path} cannot be made: {error.strerror}.", f"ls -ld {os.path.dirname(path)}") from error


def write_own(path: str, data: bytes) -> None:
    """Put the file in place in one step. A symlink of that name is replaced, not followed."""
    make_directory(os.path.dirname(path))
    try:
        atomic_file.write(path, data)
    except OSError as error:
        raise ServiceError(f"{path} cannot be written: {error.strerror}.", f"ls -ld {os.path.dirname(path)}") from error


def remove_own(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ServiceError(f"{path} cannot be deleted: {error.strerror}.", f"ls -ld {path}") from error
