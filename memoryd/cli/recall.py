"""Show the memories that help with a prompt, as a client would be shown them.

    memoryd recall "which branch do we release from?"
    memoryd recall --tool mcp__linear__create_issue "file these three findings"

Nothing relevant: nothing is printed. With --session, what that session was shown before is left out and its budget counts.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, project_of
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

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
        help="how sure to be, from 0 (everything that ranks) to 1 (default: 0.2)",
    )
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.recall import Request, recall
    from memoryd.recall.choose import LEAST_PROBABILITY

    given = context.arguments
    least = LEAST_PROBABILITY if given.min_score is None else given.min_score
    if not 0 <= least <= 1:
        raise UsageError(f"A score is a number from 0 to 1, not {least:g}.", "memoryd recall --help")
    request = Request(" ".join(given.query), given.session, tuple(given.tool), least=least)
    answer = recall(
        context.paths, context.config, context.environment, context.clock, project_of(context).memory_dir, request
    )
    if given.json:
        from memoryd.clock import iso

        print_json(
            {
                "selected": [
                    {
                        "file": one.name,
                        "type": one.type or None,
                        "description": one.description,
                        "score": round(one.score, 3),
                        "modified_at": iso(one.at),
                        "gone": list(one.gone),
                    }
                    for one in answer.memories
                ],
                "selector": answer.selector,
                "why_not": answer.why_not or None,
                "fallback": answer.fallback or None,
            }
        )
        return 0
    if answer.text:
        print(answer.text)
    else:
        print(f"Nothing: {answer.why_not}.", file=sys.stderr)
    if answer.fallback:
        print(f"Chosen without the model: {answer.fallback}", file=sys.stderr)
    return 0
