"""Show what you told your agents more than once in the last 30 days, with your words and the dates.

Reads the transcripts that are there, on this machine, and writes nothing: no memory, no state, no setting.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.errors import UsageError
from memoryd.formatting import count

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.cli.screen import Block
    from memoryd.jobs.audit import AuditReport, Repetition

NAME = "audit"
HELP = "what you told your agents more than once"
_MOST = 20
_MOST_WORDINGS = 3
_CHARACTERS = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", metavar="N", type=float, default=30.0, help="look back so many days (default: 30)")
    parser.add_argument("--limit", metavar="N", type=int, default=_MOST, help=f"show N; 0 for all (default: {_MOST})")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.screen import Screen
    from memoryd.jobs.audit import audit
    from memoryd.setup.record import read_record

    arguments = context.arguments
    if not 0 < arguments.days < float("inf"):
        raise UsageError("--days takes a number of days, more than 0.", "memoryd audit --days 30")
    if arguments.limit < 0:
        raise UsageError("--limit takes a number of things to show, 0 for all.", "memoryd audit --limit 0")
    report = audit(context.paths, context.config, context.clock.now(), arguments.days)
    if arguments.json:
        print_json(_as_json(report))
        return 0
    limit = arguments.limit or len(report.repetitions)
    Screen(context.environment).show(_blocks(report, limit))
    if hidden := len(report.repetitions) - limit if len(report.repetitions) > limit else 0:
        print_message(f"{hidden} more: memoryd audit --limit 0")
    if report.repetitions:
        record = read_record(context.paths)
        if record is not None and record.history_at is not None:
            print_message("\nWhat memoryd keeps of it:\n  memoryd memories --all")
        else:
            print_message("\nmemoryd keeps what you say, so that you need not say it again. To begin with these:")
            print_message("  memoryd setup" if record is None else "  memoryd backfill")
    return 0


def _blocks(report: AuditReport, limit: int) -> list[Block]:
    from memoryd.cli.screen import Command, Gap, Paragraph, dim, strong
    from memoryd.clients.registry import title_of

    read = f"{count(report.messages, 'message')} of yours in {count(report.sessions, 'session')}"
    number = len(report.repetitions)
    if not report.sessions:
        return [
            Paragraph("No session of a coding agent was found here. Where memoryd looks:"),
            Command("memoryd paths", before="  "),
        ]
    if not number:
        return [Paragraph(f"You said nothing to your agents more than once, in {read}.")]
    blocks: list[Block] = [
        Paragraph(strong(f"You said {count(number, 'thing')} to your agents more than once, in {read}.")),
        Gap(),
    ]
    for repetition in report.repetitions[:limit]:
        clients = ", ".join(dict.fromkeys(title_of(sentence.client) for sentence in repetition.said))
        often = f"{len(repetition.said)} times in {count(repetition.sessions, 'session')} of {clients}"
        first, last = _day(repetition.said[0].said_at), _day(repetition.said[-1].said_at)
        when = first if first == last else f"{first} to {last}"
        blocks += [Paragraph(strong(f'"{_cut(repetition.text)}"')), Paragraph(dim(f"{often}, {when}"), indent=4)]
        blocks += [Paragraph(dim(f'{_day(at)}: "{_cut(text)}"'), indent=4) for text, at in _other_wordings(repetition)]
    return blocks


def _other_wordings(repetition: Repetition) -> list[tuple[str, float]]:
    first = {sentence.text: sentence.said_at for sentence in reversed(repetition.said)}
    return [(text, at) for text, at in sorted(first.items(), key=lambda pair: pair[1]) if text != repetition.text][
        :_MOST_WORDINGS
    ]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d")


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else text[:_CHARACTERS].rpartition(" ")[0] + " …"


def _as_json(report: AuditReport) -> dict[str, Any]:
    from memoryd.clock import iso

    return {
        "sessions": report.sessions,
        "messages": report.messages,
        "repeated": [
            {
                "text": repetition.text,
                "times": len(repetition.said),
                "sessions": repetition.sessions,
                "first_at": iso(repetition.said[0].said_at),
                "last_at": iso(repetition.said[-1].said_at),
                "said": [
                    {
                        "text": sentence.text,
                        "at": iso(sentence.said_at),
                        "session": sentence.session_id,
                        "project": sentence.project or None,
                        "client": sentence.client,
                    }
                    for sentence in repetition.said
                ],
            }
            for repetition in report.repetitions
        ],
    }
