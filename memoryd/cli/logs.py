"""Show what the daemon did: one line for every job, and every problem. The last 50 lines, unless you ask for more.

`-f` also shows new lines as they come, until Ctrl-C. The log never holds what was said in a session.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import threading
from collections import deque
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option
from memoryd.errors import UsageError
from memoryd.formatting import count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from memoryd.cli import Context
    from memoryd.cli.screen import Meaning, Words
    from memoryd.log.reader import LogEntry

NAME = "logs"
HELP = "what the daemon did, job by job; -f follows"
_LINES = 50
_LOOK_SECONDS = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what comes")
    parser.add_argument("-n", "--lines", type=int, metavar="N", help=f"the last N lines ({_LINES}; 0 for none)")
    parser.add_argument("--job", type=int, metavar="N", help="one job, by its number")
    parser.add_argument("--project", metavar="NAME", help="one project, by the name of its folder or a path in it")
    parser.add_argument("--level", metavar="LEVEL", help="debug, info, warning or error: it and what is worse")
    parser.add_argument(
        "--since", metavar="TIME", help="from then on: 2h, 30min, 3d, 14:30, 2026-10-18, 2026-10-18T14:30"
    )
    add_json_option(parser)
    parser.set_defaults(any_config=True)  # a broken config may be what the user reads about


def execute(context: Context) -> int:
    from memoryd.log.reader import Tail

    wanted = _Wanted(context)
    show = _show_json if context.arguments.json else _Page(context).show
    tail = Tail(context.paths)
    try:
        lines = tail.read() if context.arguments.follow else chain(tail.read(), tail.torn())
        show(wanted.last_of(lines))
        _print_remarks(tail.has_begun, wanted, is_following=context.arguments.follow)
        while context.arguments.follow and _is_read(context):
            show(wanted.among(tail.read()))
    finally:
        tail.close()
    return 0


def _print_remarks(has_begun: bool, wanted: _Wanted, *, is_following: bool) -> None:
    """Print what the lines do not show: an empty log, no match, damaged lines."""
    if not has_begun:
        then = "Waiting for: memoryd run" if is_following else "  fix: memoryd run"
        print(f"Nothing is logged yet.\n{then}", file=sys.stderr)
    elif not wanted.found and not is_following:
        print("No line of the log is about that.", file=sys.stderr)
    if wanted.damaged:
        print(f"{count(wanted.damaged, 'line')} could not be read: left out.", file=sys.stderr)


def _is_read(context: Context) -> bool:
    """Wait a moment; False once the reader has closed the output, as in `memoryd logs -f | head`."""
    descriptor = sys.stdout.fileno()
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return not context.clock.wait(threading.Event(), _LOOK_SECONDS)
    reader = select.poll()
    reader.register(descriptor, 0)
    return not reader.poll(_LOOK_SECONDS * 1000)


# --- which lines ------------------------------------------------------------------------------------------------------


class _Wanted:
    """Filter of log lines, from the arguments. Raises UsageError."""

    def __init__(self, context: Context) -> None:
        given = context.arguments
        self._since = _since(given.since, context.clock.now())
        self._severity = _severity(given.level)
        self._job: int | None = given.job
        self._project: str | None = given.project
        if given.project and ("/" in given.project or given.project in (".", "..", "~")):
            self._project = os.path.abspath(os.path.expanduser(given.project))
        if given.lines is not None and given.lines < 0:
            raise UsageError("-n takes a number of lines, 0 or more.", "memoryd logs -n 100")
        is_bounded = given.since is not None or given.job is not None  # by what was asked for
        self._most: int | None = given.lines if given.lines is not None else None if is_bounded else _LINES
        self.found = 0
        self.damaged = 0

    def among(self, lines: Iterable[bytes]) -> Iterator[tuple[bytes, LogEntry]]:
        from memoryd.log.reader import entry_of

        for line in lines:
            entry = entry_of(line)
            if entry is None:
                self.damaged += 1
            elif self._is_meant(entry):
                self.found += 1
                yield line, entry

    def last_of(self, lines: Iterable[bytes]) -> Iterable[tuple[bytes, LogEntry]]:
        if self._most is None:
            return self.among(lines)
        if self._since is None and not self._severity and self._job is None and self._project is None:
            lines = deque(lines, 4 * self._most)  # the others need not be understood, even if some of these are damaged
        return deque(self.among(lines), self._most)

    def _is_meant(self, entry: LogEntry) -> bool:
        return (
            entry.severity >= self._severity
            and (self._since is None or entry.at >= self._since)
            and (self._job is None or entry.facts.get("job") == self._job)
            and (self._project is None or self._is_about(str(entry.facts.get("project", "")), self._project))
        )

    @staticmethod
    def _is_about(root: str, project: str) -> bool:
        if not os.path.isabs(project):
            return os.path.basename(root) == project
        return bool(root) and f"{project}/".startswith(f"{root.rstrip('/')}/")


def _since(text: str | None, now: float) -> float | None:
    from memoryd.cli.times import moment_in, seconds_in

    if text is None:
        return None
    seconds = seconds_in(text)
    found = moment_in(text, now, ahead=False) if seconds is None else now - seconds
    if found is None:
        raise UsageError(
            f"--since {text!r} is no time; 2h, 30min, 3d, 14:30, 2026-10-18 and 2026-10-18T14:30 are.",
            "memoryd logs --since 2h",
        )
    return found


def _severity(level: str | None) -> int:
    from memoryd.log.reader import LEVELS

    if level is None:
        return 0
    if level.lower() not in LEVELS:
        raise UsageError(f"--level {level!r} is none of {', '.join(LEVELS)}.", "memoryd logs --level warning")
    return LEVELS.index(level.lower())


# --- showing ----------------------------------------------------------------------------------------------------------


def _show_json(lines: Iterable[tuple[bytes, LogEntry]]) -> None:
    """Print the lines as they are stored; those that could harm a terminal in ASCII."""
    import json

    for line, _ in lines:
        text = line.decode("utf-8", "replace")
        print(text if text.isprintable() else json.dumps(json.loads(line)))
    sys.stdout.flush()


class _Page:
    """Lines for a person: on a terminal below the day, elsewhere each with its date, for grep."""

    def __init__(self, context: Context) -> None:
        from memoryd.cli.screen import Screen

        self._screen = Screen(context.environment)
        self._home = context.paths.home
        self._day = ""

    def show(self, lines: Iterable[tuple[bytes, LogEntry]]) -> None:
        from memoryd.cli.screen import Column, Paragraph, Table, Word, dim, strong
        from memoryd.log.reader import line_in_words

        for _, entry in lines:
            here = datetime.fromtimestamp(entry.at).isoformat(" ", "seconds")  # noqa: DTZ006 - where the user is
            words, facts = line_in_words(entry, self._home)
            if not self._screen.is_terminal:
                self._screen.show([Paragraph(f"{here}  {entry.level:<8}  {words}  {facts}".rstrip())])
                continue
            day, time = here.split(" ")
            if day != self._day:
                self._day = day
                self._screen.show([Paragraph(strong(day))])
            level = Word(f"{entry.level:<8}", _MEANINGS.get(entry.level, "bad"))
            row: list[Words] = [dim(time), level, [words, dim(f"  {facts}" if facts else "")]]
            self._screen.show([Table([Column(), Column(), Column()], [row])])
        sys.stdout.flush()


_MEANINGS: dict[str, Meaning] = {"debug": "dim", "info": "dim", "warning": "warn"}
