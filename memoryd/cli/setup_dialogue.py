"""Talk of `memoryd setup` with the user, and the record that grows before each change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.cli import Context
    from memoryd.cli.screen import Block
    from memoryd.errors import MemorydError
    from memoryd.setup.record import SetupRecord


class SetupDialogue:
    """One run: what is told and asked, and the record that grows before each change."""

    def __init__(self, context: Context, record: SetupRecord) -> None:
        from memoryd.cli.screen import Screen

        self._context = context
        self._paths = context.paths
        self._record = record
        self._screen = Screen(context.environment)
        self._number = 0
        self.has_failed = False

    # --- talk ---------------------------------------------------------------------------------------------------------

    def begin(self, title: str) -> None:
        from memoryd.cli.screen import Paragraph, strong

        self._number += 1
        self._screen.show([Paragraph([strong(f"{self._number}  {title}")])])

    def tell(self, *sentences: str) -> None:
        from memoryd.cli.screen import Paragraph

        self._screen.show([Paragraph(sentence, indent=3) for sentence in sentences])

    def fail(self, error: MemorydError) -> None:
        from memoryd.cli.screen import Command

        self.has_failed = True
        self.tell(error.sentence)
        if error.fix:
            self._screen.show([Command(error.fix, before="   fix: ")])

    def agrees(self, question: str) -> bool:
        """The user's answer; yes is preselected."""
        if self._context.arguments.yes:
            return True
        print(f"   {question} [Y/n] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        return answer.strip().lower() in ("", "y", "yes") and answer != ""

    def note(self, record: SetupRecord) -> None:
        """Before anything is changed."""
        from memoryd.setup.record import write_record

        self._record = record
        write_record(self._paths, record)

    def end(self) -> None:
        from memoryd.cli.screen import Command, Paragraph
        from memoryd.clients import client_named

        blocks: list[Block] = [Paragraph("")]
        titles = ["Claude Code"] if self._record.plugin_folder else []
        titles += dict.fromkeys(client_named(piece.client).title for piece in self._record.pieces)
        if titles:
            blocks.append(Paragraph(f"The next session of {' or '.join(titles)} knows what is remembered."))
        blocks += [Command("memoryd status", before="what it does:  ")]
        blocks += [Command("memoryd uninstall", before="to undo this:  ")]
        self._screen.show(blocks)

    def _short(self, path: str) -> str:
        from memoryd.formatting import short

        return short(path, self._paths.home)
