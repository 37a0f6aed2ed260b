"""The dialogue of `memoryd review`: one row of the inbox after the other is shown and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.answers import END, Answers
from memoryd.cli.editor import edited_text
from memoryd.cli.review_screen import changes_of, difference_blocks, evidence_blocks, row_blocks
from memoryd.cli.screen import Paragraph, Screen, dim, good, warn
from memoryd.clients.registry import client_named
from memoryd.errors import MemorydError
from memoryd.memory.directory import problem_of
from memoryd.memory.guards import RefusedError
from memoryd.review.inbox import StaleError, accept, contents_before, current_contents, reject
from memoryd.security.redact import redact
from memoryd.sources.session import NotATranscriptError
from memoryd.state.inbox import AnsweredError
from memoryd.state.sessions import place_of_message
from memoryd.transcripts.read import TurnPlace, read_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.cli import Context
    from memoryd.cli.screen import Words
    from memoryd.model import Evidence
    from memoryd.review.inbox import FileContents
    from memoryd.state.database import Database
    from memoryd.state.inbox import InboxRow

QUESTION = "y yes · n no · e edit · w why · f file · l later · q quit:"


class Dialogue:
    """Asks for an answer to each row, until there are no more or the user has had enough."""

    def __init__(self, context: Context, database: Database) -> None:
        self._context = context
        self._database = database
        self._screen = Screen(context.environment)
        self._answers = Answers(self._screen)

    def run(self, rows: Sequence[InboxRow], *, with_project: bool) -> None:
        answered = {"accepted": 0, "rejected": 0}
        for number, row in enumerate(rows, 1):
            if problem := problem_of(row.memory_dir):  # it waits, and the rows of other directories are asked
                self._print([warn(f"{number} of {len(rows)}: {problem.sentence}"), f" fix: {problem.fix}"])
                continue
            question = _Question(row, f"{number} of {len(rows)}", row.project if with_project else "")
            outcome = self._ask(question)
            if outcome == "ended":
                break
            if outcome in answered:
                answered[outcome] += 1
        left = len(rows) - sum(answered.values())
        self._print(dim(f"{answered['accepted']} yes, {answered['rejected']} no, {left} left."))

    def _ask(self, question: _Question) -> str:
        """Ask until there is an answer: accepted, rejected, later or ended."""
        self._show(question)
        while True:
            match self._answers.read(QUESTION):
                case "y":
                    outcome = self._accept(question, question.text)
                case "n":
                    outcome = self._reject(question.row)
                case "e":
                    outcome = self._edit(question)
                case "w":
                    self._explain(question.row)
                    continue
                case "f":
                    changes = changes_of(question.row, question.seen, question.text)
                    self._screen.show(difference_blocks(changes))
                    continue
                case "l" | " " | "":
                    return "later"
                case letter if letter == END:
                    return "ended"
                case letter if self._answers.is_by_keys:
                    self._print(dim(f"{letter} is none of them."))
                    continue
                case _:  # lines that nobody sees are not asked for twice
                    return "later"
            if outcome:
                return outcome

    def _show(self, question: _Question) -> None:
        row = question.row
        self._screen.show(
            row_blocks(
                row,
                question.place,
                changes_of(row, question.seen, question.text),
                is_stale=question.seen != contents_before(row),
                project=question.project,
            )
        )

    def _accept(self, question: _Question, text: bytes | None) -> str:
        """Say yes to what was shown, or to the user's own text; empty: something is in the way, and it is asked again."""
        try:
            done = accept(self._database, question.row, self._context.clock.now(), seen=question.seen, edited=text)
        except StaleError as error:
            question.seen, question.text = error.current, text
            self._show(question)
            return ""
        except RefusedError as error:
            self._print(warn(error.sentence))
            return ""
        except AnsweredError as error:
            self._print(warn(error.sentence))
            return "later"
        undo = f"; memoryd undo {done.change_id} takes it back" if done.change_id is not None else ""
        self._print([good("yes: "), ", ".join(done.names), dim(undo)])
        return "accepted"

    def _reject(self, row: InboxRow) -> str:
        try:
            reject(self._database, row, self._context.clock.now())
        except AnsweredError as error:
            self._print(warn(error.sentence))
            return "later"
        self._print([good("no: "), row.first.name, dim("; it is not proposed again from the same words")])
        return "rejected"

    def _edit(self, question: _Question) -> str:
        row = question.row
        if row.first.after is None:
            self._print(warn("It would be removed, so there is no text to edit: y removes it, n keeps it."))
            return ""
        try:
            text = edited_text(question.draft or row.first.after, row.first.name, self._context.environment)
        except MemorydError as error:
            self._print(warn(error.sentence))
            return ""
        if text is None:
            self._print("Nothing was edited.")
            return ""
        question.draft = text  # the next edit goes on from here if a guard refuses this one
        return self._accept(question, text)

    def _explain(self, row: InboxRow) -> None:
        turns = {}
        for _, piece in row.group.evidence:
            if turn := self._turn_around(piece, row.memory_dir):
                turns[piece.message_id] = turn
        self._screen.show(evidence_blocks(row, turns))

    def _turn_around(self, piece: Evidence, memory_dir: str) -> tuple[str, str, str] | None:
        """The answer before a message, the message, and the reply; None where the transcript is gone."""
        place = place_of_message(self._database, piece.session_id, piece.message_id)
        if place is None:
            return None
        turn = TurnPlace(piece.message_id, place.start, place.end, place.before)
        try:
            read = read_turns(client_named(place.client), place.path, [turn], memory_dir).get(piece.message_id)
        except (OSError, NotATranscriptError):
            return None
        return (redact(read.said.answer), redact(read.said.text), redact(read.said.reply)) if read else None

    def _print(self, words: Words) -> None:
        self._screen.show([Paragraph(words)])


class _Question:
    """One row while it is asked about. A yes is always to the difference that was shown last."""

    def __init__(self, row: InboxRow, place: str, project: str) -> None:
        self.row = row
        self.place = place
        self.project = project
        self.seen: FileContents = current_contents(row)
        self.text: bytes | None = None
        """What the user has made of the text; None: it is as proposed."""
        self.draft: bytes | None = None
        """The text as the user left it in the editor."""
