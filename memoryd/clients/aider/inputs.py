"""aider's record of what was typed, `.aider.input.history`: it tells prompts from what a model wrote in the same shape.

It also has the time of each, which the chat history has not; both without a zone, in that of this machine.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import NamedTuple

from memoryd.clients.aider import INPUTS_NAME
from memoryd.sources.lines import whole_lines
from memoryd.sources.session import NotATranscriptError, open_regular


class Inputs(NamedTuple):
    """What was typed, and when; nothing where there is no record."""

    times: dict[str, list[float]]

    def look_up(self, text: str, chat: str, number: int) -> tuple[bool, float | None]:
        """Whether words were typed, as the `number`-th of the same ones in a chat, and when."""
        started = local_time(chat)
        times = self.times.get(_plain(text))
        if times is None:
            return False, None
        later = [time for time in times if started is None or time >= started - 1]
        return True, later[min(number, len(later) - 1)] if later else started


def read_inputs(folder: str) -> Inputs:
    """The record in a folder; an unreadable one counts as none."""
    try:
        descriptor = open_regular(os.path.join(folder, INPUTS_NAME))
    except (OSError, NotATranscriptError):
        return Inputs({})
    times: dict[str, list[float]] = {}
    at: float | None = None
    text: list[str] = []

    def keep() -> None:
        if text and at is not None:
            said = _plain("\n".join(text))
            times.setdefault(said, []).append(at)
            if said.startswith("/"):  # `/ask why` asks `why`, which the history has by itself
                times.setdefault(said.partition(" ")[2].strip(), []).append(at)
            text.clear()

    try:
        for line in whole_lines(descriptor, 0):
            content = (line.data or b"").decode("utf-8", "replace").rstrip("\n")
            if content.startswith("# "):
                keep()
                at = local_time(content[2:])
            elif content.startswith("+"):
                text.append(content[1:])
        keep()
    except OSError:
        return Inputs({})
    finally:
        os.close(descriptor)
    return Inputs(times)


def local_time(text: str) -> float | None:
    """Seconds since 1970 of a time in the zone of this machine; None where it is none."""
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        return None


def _plain(text: str) -> str:
    """A text as it can be compared: aider strips the ends of lines in one of the two files."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()
