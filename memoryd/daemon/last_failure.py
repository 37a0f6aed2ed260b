"""Failure of the last start of `memoryd run`: sent to its supervisor, and kept in a small file for `status`."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd import atomic_file
from memoryd.clock import iso, parse_iso
from memoryd.errors import BusyError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.paths import Paths

SUPERVISOR_VARIABLE = "MEMORYD_SUPERVISOR"
LAUNCHD = "launchd"
NOT_AGAIN = (BusyError.exit_code, ConfigError.exit_code)
"""Exit codes after which a restart would not help."""
_MOST_BYTES = 16_384


class Failure(NamedTuple):
    at: float
    exit_code: int
    sentence: str
    fix: str = ""


def report(environment: Mapping[str, str], paths: Paths | None, failure: Failure) -> int:
    """Tell the supervisor why `run` failed, record it, and return the exit code to end with."""
    from memoryd.daemon.sd_notify import Supervisor  # noqa: PLC0415 - `status` reads the file and needs no socket

    by_launchd = environment.get(SUPERVISOR_VARIABLE) == LAUNCHD
    Supervisor(environment).status(f"{failure.sentence} fix: {failure.fix}" if failure.fix else failure.sentence)
    # A second `run` by hand, beside a running one, is no failure to record.
    if paths is not None and (failure.exit_code != BusyError.exit_code or by_launchd or "NOTIFY_SOCKET" in environment):
        record(paths, failure)
    # launchd restarts whatever does not end with 0, for ever.
    return 0 if by_launchd and failure.exit_code in NOT_AGAIN else failure.exit_code


def record(paths: Paths, failure: Failure) -> None:
    """Keep the failure until the next good start. On a full disk the sentence on stderr has to do."""
    body = {**failure._asdict(), "at": iso(failure.at)}
    with suppress(OSError):
        atomic_file.write(_file(paths), json.dumps(body).encode())


def clear(paths: Paths) -> None:
    """Delete the failure after a good start."""
    with suppress(OSError):
        os.remove(_file(paths))


def last(paths: Paths) -> Failure | None:
    """Failure of the last start; None after a good one."""
    try:
        body = json.loads(atomic_file.read(_file(paths), _MOST_BYTES))
        at = parse_iso(body["at"])
        return None if at is None else Failure(at, int(body["exit_code"]), str(body["sentence"]), str(body["fix"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _file(paths: Paths) -> str:
    return os.path.join(paths.state_dir, "failure.json")
