"""Show the memories that help with a prompt, as a client would be shown them.

    memoryd recall "which branch do we release from?"
    memoryd recall --tool mcp__linear__create_issue "file these three findings"

Nothing relevant: nothing is printed. With --session, what that session was shown before is left out and its budget counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.cli.project import add_project_option, own_project_of
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.jobs.recall import RecallAnswer

NAME = "recall"
HELP = "the memories that help with a prompt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="+", help="the prompt")
    parser.add_argument("--session", metavar="ID", default="", help="on behalf of this session")
    parser.add_argument(
        "--tool", metavar="NAME", action="append", default=[], help="a tool in use right now; repeatable"
    )
    parser.add_argument(
        "--min-score",
        metavar="X",
        type=float,
        help="how sure to be, from 0 (everything that ranks) to 1 (default: 0.21 for the best, 0.1 where there are 10 memories or less; the others need 0.3 times as much as the best)",
    )
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.recall import recall, record_shown
    from memoryd.jobs.recall_matches import Request

    given = context.arguments
    least = given.min_score
    if least is not None and not 0 <= least <= 1:
        raise UsageError(f"A score is a number from 0 to 1, not {least:g}.", "memoryd recall --help")
    request = Request(" ".join(given.query), given.session, tuple(given.tool), least=least)
    project = own_project_of(context)
    answer = recall(context.paths, context.config, context.environment, context.clock, project.memory_dir, request)
    _show(context, answer, project.memory_dir)
    record_shown(context.paths, project.memory_dir, request, answer, context.clock.now())
    return 0


def _show(context: Context, answer: RecallAnswer, memory_dir: str) -> None:
    from memoryd.formatting import short
    from memoryd.jobs.recall import NO_MEMORIES, NOTHING_RELEVANT

    if context.arguments.json:
        from memoryd.clock import iso

        print_json(
            {
                "selected": [
                    {
                        "file": memory.name,
                        "type": memory.type or None,
                        "description": memory.description,
                        "score": round(memory.score, 3),
                        "modified_at": iso(memory.at),
                        "gone": list(memory.gone),
                        "unconfirmed": memory.is_unconfirmed,
                        "author": memory.author or None,
                    }
                    for memory in answer.memories
                ],
                "selector": answer.selector,
                "why_not": answer.why_not or None,
                "fallback": answer.fallback or None,
            }
        )
        return
    if answer.text:
        print(answer.text)
    elif answer.why_not == NO_MEMORIES:
        place = short(memory_dir, context.paths.home)
        print_message(f"There are no memories in {place} yet; memoryd projects tells where there are.")
    else:
        closest = (
            "; memoryd recall --min-score 0 shows what comes closest" if answer.why_not == NOTHING_RELEVANT else ""
        )
        print_message(f"Nothing: {answer.why_not}{closest}.")
    if answer.fallback:
        print_message(f"Chosen without the model: {answer.fallback}")
