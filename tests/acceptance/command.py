"""Runs the real `memoryd` as a user does."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

PATIENCE_SECONDS = 60


def memoryd(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memoryd", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def as_json(environment: dict[str, str], *arguments: str) -> Any:
    return json.loads(memoryd(environment, *arguments, "--json").stdout)


class Daemon:
    """A running `memoryd run`; what it says can be awaited."""

    def __init__(self, environment: dict[str, str], *before: str) -> None:
        """`before`: a command that becomes it, as `nice` does."""
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "memoryd", "run"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: list[str] = []
        self._spoke = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._spoke:
                self._lines.append(line.rstrip("\n"))
                self._spoke.notify_all()
        with self._spoke:
            self._lines.append("")
            self._spoke.notify_all()

    def says(self, text: str) -> str:
        """Wait until a line holds this text and return it."""

        def heard() -> str | None:
            return next((line for line in self._lines if text in line), None)

        with self._spoke:
            if not self._spoke.wait_for(heard, PATIENCE_SECONDS):
                raise AssertionError(f"never said {text!r}:\n" + "\n".join(self._lines))
        return heard() or ""

    def said_again(self, text: str) -> None:
        """Wait until a second line holds this text."""
        with self._spoke:
            if not self._spoke.wait_for(lambda: sum(text in line for line in self._lines) > 1, PATIENCE_SECONDS):
                raise AssertionError(f"never said {text!r} again:\n" + "\n".join(self._lines))

    @property
    def said(self) -> str:
        return "\n".join(self._lines)

    def stop(self, signal_number: int) -> int:
        self.process.send_signal(signal_number)
        code = self.process.wait(PATIENCE_SECONDS)
        self._listener.join(PATIENCE_SECONDS)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._listener.join()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
