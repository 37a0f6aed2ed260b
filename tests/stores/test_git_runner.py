"""Running git: what hangs is ended, whoever holds its pipes."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from memoryd.stores import git_runner
from memoryd.stores.base import StoreError
from memoryd.stores.git_runner import GitRunner

if TYPE_CHECKING:
    from pathlib import Path


def test_a_helper_that_holds_the_pipes_of_a_git_that_was_ended_keeps_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\nsetsid sh -c 'echo $$ >{tmp_path}/pid; exec sleep 60' &\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(git_runner, "LOCAL_SECONDS", 0.5)
    monkeypatch.setattr(git_runner, "_KILLED_SECONDS", 0.1)
    began = time.monotonic()
    with pytest.raises(StoreError, match="was ended"):
        GitRunner(str(tmp_path), {"PATH": f"{tmp_path}:{os.environ['PATH']}"}).run("fetch")
    assert time.monotonic() - began < 30
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
