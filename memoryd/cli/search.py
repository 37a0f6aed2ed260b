"""Search memories, daily logs and what was said, in all projects and clients, newest first.

All words have to be there; a word is also found inside of a longer one. Your own words and the agent's are searched, not
what tools answered. Sessions are read as they are now, so neither a running memoryd nor the project's directory is needed.

    memoryd search pnpm
    memoryd search billing dana --limit 5

All of your projects are searched, wherever you are.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.formatting import count, part_around, short, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.cli.screen import Block, Word
    from memoryd.jobs.search import SearchHit

NAME = "search"
HELP = "memories, daily logs and what was said, in all projects"
_MOST = 20
_JSON_CHARACTERS = 2_000
_CHARACTERS = 240
_SHORT_ID = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", help="what to look for")
    parser.add_argument(
        "--limit", metavar="N", type=int, help=f"the N newest; 0 for all (default: {_MOST}; with --json all)"
    )
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.screen import Screen
    from memoryd.errors import UsageError
    from memoryd.jobs.search import search
    from memoryd.transcripts.search import SearchWords

    arguments = context.arguments
    if not SearchWords(arguments.words):
        raise UsageError("There is nothing to look for.", "memoryd search --help")
    if arguments.limit is not None and arguments.limit < 0:
        raise UsageError("--limit takes a number of results, 0 for all.", "memoryd search WORDS --limit 0")
    limit = arguments.limit if arguments.limit is not None else 0 if arguments.json else _MOST
    # One more than is shown, to tell whether there are more.
    hits = search(context.paths, context.config, arguments.words, limit + 1 if limit > 0 else None)
    has_more = 0 < limit < len(hits)
    hits = hits[:limit] if has_more else hits
    if arguments.json:
        print_json([_as_json(hit) for hit in hits])
        return 0
    Screen(context.environment).show(_blocks(hits, context.paths.home))
    if has_more:
        words = " ".join(arguments.words)
        print_message(f"The {limit} newest; there are more: memoryd search {words} --limit 0")
    else:
        print_message(f"{count(len(hits), 'result')}." if hits else "Nothing was found.")
    return 0


def _as_json(hit: SearchHit) -> dict[str, Any]:
    from memoryd.clock import iso

    return {
        "kind": hit.kind,
        "who": hit.who,
        "text": part_around(hit.text, hit.place, _JSON_CHARACTERS),
        "file": hit.file,
        "project": hit.project,
        "client": hit.client,
        "session": hit.session,
        "at": iso(hit.at) if hit.at is not None else None,
        "resume": hit.resume,
        "author": hit.author,
        "line": hit.line,
    }


def _blocks(hits: list[SearchHit], home: str) -> list[Block]:
    """A line about each, its words below, and once for each session the command that goes on with it."""
    from memoryd.cli.screen import Command, Paragraph, dim, strong
    from memoryd.clients.registry import client_named

    blocks: list[Block] = []
    resumed: set[str | None] = {None}
    for hit in hits:
        when = datetime.fromtimestamp(hit.at).astimezone().strftime("%Y-%m-%d %H:%M") if hit.at else "some time"
        where = f"  {short(hit.project, home)}" if hit.project else ""
        if hit.kind == "memory":
            head: list[str | Word] = [
                strong("memory"),
                f" of the team, by {shown(hit.author)}" if hit.author else "",
                f"  {when}{where}",
                dim(f"  {client_named(hit.client).title}" if hit.client else ""),
            ]
        elif hit.kind == "log":
            head = [strong("daily log"), f"  {when}{where}"]
        else:
            client = client_named(hit.client).title if hit.client else ""
            session = f"  {client} {(hit.session or '')[:_SHORT_ID]}".rstrip()
            head = [strong("you" if hit.who == "user" else "agent"), f"  {when}{where}", dim(session)]
        blocks.append(Paragraph(head))
        blocks.append(Paragraph(part_around(" ".join(hit.text.split()), _flat_place(hit), _CHARACTERS), indent=4))
        if hit.kind != "said":
            line = f":{hit.line}" if hit.line is not None else ""
            blocks.append(Command(f"{short(hit.file, home)}{line}", before="    file: "))
        elif hit.resume not in resumed:
            resumed.add(hit.resume)
            blocks.append(Command(hit.resume or "", before="    resume: "))
    return blocks


def _flat_place(hit: SearchHit) -> int:
    """The place in the text once its lines are joined."""
    return len(" ".join(hit.text[: hit.place].split()))
