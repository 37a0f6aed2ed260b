"""Answer a hook of a client: its JSON on standard input, ours on standard output.

    memoryd hook user-prompt-submit     the memories that help with the prompt
    memoryd hook session-start          the index, where the client does not load it by itself;
                                        after a compaction, what was shown may be shown again
    memoryd hook pre-tool-use           the rules that speak of the tool call, or the refusal of one that binds
    memoryd hook stop                   tell the daemon that a turn has ended
    memoryd hook pre-compact            and that the client is about to forget what was said
    memoryd hook session-end            and that the session has ended

The client's own spelling (`UserPromptSubmit`) is understood too; --client names another one than Claude Code, whose events
and JSON differ. `memoryd setup` sets them up. Whatever goes wrong, it ends
with 0 and prints nothing; `memoryd logs` tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clients.hook import all_events, answer
from memoryd.clients.registry import WITH_HOOKS

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "hook"
HELP = "for a client: answer one of its hooks"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("event", metavar="EVENT", help=", ".join(all_events()))
    parser.add_argument("--client", default=WITH_HOOKS[0].name, help="whose hook it is")


def execute(context: Context) -> int:
    return answer([context.arguments.event, "--client", context.arguments.client], context.environment)
