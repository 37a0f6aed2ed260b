"""Print all that is needed to go on with a session elsewhere: its notes, the last messages, files read last, plan, skills.

    memoryd summary --latest | pbcopy            to open a session in another agent with
    memoryd summary 6897cab2 > handover.md
    claude "$(memoryd summary --latest)"

The notes cost nothing. A session without notes is summarized by the model that reads your turns, if there is one, and by
its transcript alone if there is none, or if the model failed three times in a row.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from memoryd.cli.notes import kept_notes, notes_now
from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.cli.session_names import add_session_arguments, session_meant
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.jobs.summary import SessionSummary
    from memoryd.state.notes import KeptNotes

NAME = "summary"
HELP = "what another agent needs to go on with a session"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_session_arguments(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.summary import as_markdown, summary_of
    from memoryd.state.database import open_database

    if not context.arguments.session and not context.arguments.latest:
        raise UsageError("Which session? Name one, or the latest.", "memoryd summary --latest")
    kept = kept_notes(context)
    notes, facts = notes_now(context, session_meant(context, kept), kept)
    with closing(open_database(context.paths)) as database:
        summary = summary_of(database, context.paths, context.config, context.environment, context.clock, notes, facts)
    if summary.why_no_model:
        print_message(f"{summary.why_no_model} This was made from the transcript.")
    if summary.is_transcript_gone:
        print_message("The transcript is gone: these are the notes that were kept, without the last messages.")
    if context.arguments.json:
        print_json(_as_json(notes, summary))
    else:
        print(as_markdown(summary), end="")
    return 0


def _as_json(notes: KeptNotes, summary: SessionSummary) -> dict[str, Any]:
    return {
        "session": notes.session_id,
        "source": summary.source,
        "text": summary.text,
        "messages": [{"who": message.who, "text": message.text} for message in summary.messages],
        "files": [{"path": file.path, "text": file.text} for file in summary.files],
        "plan": [{"text": step.text, "status": step.status} for step in summary.plan],
        "plan_text": summary.plan_text or None,
        "skills": list(summary.skills),
    }
