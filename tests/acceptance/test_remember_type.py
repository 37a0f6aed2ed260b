"""`memoryd remember` on a terminal: it asks for the type where the words do not tell it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memoryd.memory_types import MEMORY_TYPES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("answer", "kind"), [("reference", "reference"), ("u", "user"), ("", "")])
def test_the_type_is_asked_for_and_the_answer_is_taken(tmp_path: Path, answer: str, kind: str) -> None:
    terminal, ends = pty.openpty()
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "dumb"}
    process = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "remember", "ruby on the server"],
        cwd=tmp_path,
        env=environment,
        stdin=ends,
        stderr=ends,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.close(ends)
    asked = b""
    while b"] " not in asked:
        asked += os.read(terminal, 1024)
    os.write(terminal, f"{answer}\n".encode())
    output, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert asked.startswith(b"What is this about?")
    kind = kind or asked.decode().rpartition("[")[2].partition("]")[0]  # what it would take it for
    assert kind in MEMORY_TYPES
    assert process.returncode == 0
    assert f"/{kind}_ruby_on_the_server.md" in output
