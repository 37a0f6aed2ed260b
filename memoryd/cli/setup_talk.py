"""Talk of setup with the user: sentences, questions, answers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.cli import Context
    from memoryd.errors import MemorydError
    from memoryd.setup.record import SetupRecord


class SetupTalk:
    """One run of setup: what is told and asked, and the record that grows before each change."""

    def __init__(self, context: Context, record: SetupRecord) -> None:
        from memoryd.cli.screen import Screen

        self.context = context
        self.paths = context.paths
        self.record = record
        self.screen = Screen(context.environment)
        self._number = 0
        self.has_failed = False
        self.connected: list[str] = []
        """Titles of the clients that have memoryd after this run."""

    # --- talk ---------------------------------------------------------------------------------------------------------

    def begin(self, title: str) -> None:
        from memoryd.cli.screen import Paragraph, strong

        self._number += 1
        self.screen.show([Paragraph([strong(f"{self._number}  {title}")])])

    def tell(self, *sentences: str) -> None:
        from memoryd.cli.screen import Paragraph

        self.screen.show([Paragraph(sentence, indent=3) for sentence in sentences])

    def fail(self, error: MemorydError) -> None:
        from memoryd.cli.screen import Command

        self.has_failed = True
        self.tell(error.sentence)
        if error.fix:
            self.screen.show([Command(error.fix, before="   fix: ")])

    def agrees(self, question: str) -> bool:
        """The user's answer; yes is preselected."""
        if self.context.arguments.yes:
            return True
        while answer := self.answer(f"{question} [Y/n] "):
            if answer.strip().lower() in ("", "y", "yes"):
                return True
            if answer.strip().lower() in ("n", "no"):
                break
            self.tell("Type y for yes or n for no.")
        self.tell("Left out. memoryd setup asks again.")
        return False

    def answer(self, question: str) -> str:
        """A line with its end; empty where nobody answers."""
        print(f"   {question}", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline()

    def note(self, record: SetupRecord) -> None:
        """Before anything is changed."""
        from memoryd.setup.record import write_record

        self.record = record
        write_record(self.paths, record)

    def short(self, path: str) -> str:
        from memoryd.formatting import short

        return short(path, self.paths.home)

    def line(self, question: str, preselected: str = "") -> str:
        """What the user types; asked until there is something, unless nobody answers."""
        shown = f" [{preselected}]" if preselected else ""
        while answer := self.answer(f"{question}{shown}: "):
            if answer.strip() or preselected:
                return answer.strip() or preselected
        return preselected
