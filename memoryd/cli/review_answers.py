"""Answers to rows of the inbox by their numbers: `memoryd review accept ID`, `memoryd review reject ID`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from memoryd.cli.answers import Answers
from memoryd.cli.output import print_json
from memoryd.cli.review_screen import changes_of, difference_blocks
from memoryd.cli.screen import Screen
from memoryd.errors import MemorydError, UsageError
from memoryd.formatting import shown
from memoryd.memory.history import diff
from memoryd.review.inbox import StaleError, accept, reject
from memoryd.state import inbox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.cli import Context
    from memoryd.review.inbox import Acceptance
    from memoryd.state.database import Database
    from memoryd.state.inbox import InboxRow

_LONGEST_NUMBER = 18
_TRIES = 3
_STALE_QUESTION = "It was changed since. Apply this to it as it is now? y yes · n no:"


class _Answered(NamedTuple):
    """Result of one answer, as `--json` prints it."""

    id: int
    outcome: str
    change: int | None = None
    files: tuple[str, ...] = ()
    problem: str | None = None
    diff: str | None = None
    """From the files as they are, where they were changed since the row was made."""


def answer(context: Context, database: Database) -> int:
    """Accept or reject each row; a failure does not stop the others."""
    answer_row = _accepted if context.arguments.action == "accept" else _rejected
    results: list[_Answered] = []
    code = 0
    for row_id in _numbers(context.arguments.ids):
        try:
            results.append(answer_row(context, database, _row(database, row_id)))
        except MemorydError as error:
            code = code or error.exit_code
            results.append(_Answered(row_id, "failed", problem=error.sentence))
            _complain(error)
        else:
            code = code or (1 if results[-1].problem else 0)
    if context.arguments.json:
        print_json([{**answered._asdict(), "files": list(answered.files)} for answered in results])
    return code


def _numbers(given: Iterable[str]) -> list[int]:
    """Row numbers, each once. Raises UsageError before anything is done."""
    for text in given:
        if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST_NUMBER:
            raise UsageError(f"{text!r} is no number of a change that waits.", "memoryd review --list --all")
    return list(dict.fromkeys(map(int, given)))


def _row(database: Database, row_id: int) -> InboxRow:
    row = inbox.find(database, row_id)
    if row is None:
        raise MemorydError(f"There is no {row_id} in the inbox.", "memoryd review --list --all")
    if row.closed_at is not None:
        raise inbox.AnsweredError(row_id, row.outcome or row.held.state)
    return row


def _rejected(context: Context, database: Database, row: InboxRow) -> _Answered:
    reject(database, row, context.clock.now())
    names = tuple(change.name for change in row.group.changes)
    _say(context, f"no: {', '.join(names)}; it is not proposed again from the same words")
    return _Answered(row.id, "rejected", files=names)


def _accepted(context: Context, database: Database, row: InboxRow) -> _Answered:
    now = context.clock.now()
    try:
        return _accepted_result(context, row, accept(database, row, now))
    except StaleError as error:
        stale = error
    difference = ""
    for _ in range(_TRIES):  # somebody may go on editing: what is applied is what was shown
        difference = _shown_difference(context, row, stale)
        if not context.arguments.yes and not _is_confirmed(context):
            break
        try:
            return _accepted_result(context, row, accept(database, row, now, seen=stale.current))._replace(
                diff=difference
            )
        except StaleError as error:
            stale = error
    _complain(stale)
    return _Answered(row.id, "stale", problem=stale.sentence, diff=difference)


def _accepted_result(context: Context, row: InboxRow, done: Acceptance) -> _Answered:
    undo = f"; memoryd undo {done.change_id} takes it back" if done.change_id is not None else ""
    _say(context, f"yes: {', '.join(done.names)}{undo}")
    return _Answered(row.id, "accepted", done.change_id, done.names)


def _shown_difference(context: Context, row: InboxRow, stale: StaleError) -> str:
    """Show what a yes would do to the files as they are now; returns it as text."""
    changes = changes_of(row, stale.current, None)
    if not context.arguments.json:
        Screen(context.environment).show(difference_blocks(changes))
    return "".join(map(diff, changes))


def _is_confirmed(context: Context) -> bool:
    answers = Answers(Screen(context.environment))
    if context.arguments.json or not answers.is_by_keys:
        return False
    return answers.read(_STALE_QUESTION) == "y"


def _say(context: Context, sentence: str) -> None:
    if not context.arguments.json:
        print(shown(sentence))


def _complain(error: MemorydError) -> None:
    fix = f"\n  fix: {shown(error.fix)}" if error.fix else ""
    print(f"memoryd: {shown(error.sentence)}{fix}", file=sys.stderr)
