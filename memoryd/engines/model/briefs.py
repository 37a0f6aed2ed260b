"""Parts of all briefs: a text of our own, memories, instruction files, and turns rendered small. Pure.

Everything comes in redacted. What the tools answered in a turn is left out: nothing in it may become a memory, and it is
nearly all of a transcript.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from memoryd.engines.model.context_window import BYTES_PER_TOKEN, text_tokens
from memoryd.engines.model.cost import prompt_tokens_for
from memoryd.engines.model.tools import SCHEMAS
from memoryd.errors import EngineStoppedError
from memoryd.language.excerpt import MESSAGE_CHARACTERS, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.config import Agent, Config
    from memoryd.engines.model.agent import RunLimits
    from memoryd.engines.model.prices import Price
    from memoryd.model import Exchange

INSTRUCTION_CHARACTERS = 16_000
_AGENT_CHARACTERS = 320
_LAST_CHARACTERS = 160
_CALLS = 4
_CALL_CHARACTERS = 60
_SHARE = 0.15
"""Of a prompt, for instruction files, and as much for the manifest."""
_LEAST_TOKENS = 1_000
"""For what was said, the memories and the instruction files."""
_LEAST_RESULT_BYTES = 4_000
_HEAD = re.compile(r"<!-- (?P<name>[\w-]+), version (?P<version>\d+) -->\n")


@cache
def static(job: str) -> tuple[str, str]:
    """Name and version of a job's brief, and its text."""
    text = files(__package__).joinpath("prompts", f"{job}.md").read_text("utf-8")
    head = _HEAD.match(text)
    assert head is not None  # noqa: S101 - a file of ours
    return f"{head['name']} {head['version']}", text[head.end() :]


def static_tokens(job: str) -> int:
    """What every run of a job begins with."""
    return text_tokens(static(job)[1]) + text_tokens(json.dumps(SCHEMAS))


def affordable_tokens(
    config: Config,
    model: str,
    price: Price | None,
    job: str,
    window_tokens: int,
    tokens: int,
    output_tokens: int,
    of_the_cap: float,
) -> int:
    """How long a prompt may be that the window lets have so many tokens, if it may cost this part of what a run may.

    Raises EngineStoppedError where that leaves no room for anything.
    """
    least = static_tokens(job) + _LEAST_TOKENS
    if tokens < least:
        raise EngineStoppedError(
            f"A window of {window_tokens:,} tokens has no room for the brief.",
            "raise anthropic.context_window_tokens in the config, or use another model",
        )
    affordable = prompt_tokens_for(price, config.budget.usd_per_run * of_the_cap, output_tokens)
    if affordable < least:
        raise EngineStoppedError(
            f"A run may cost {config.budget.usd_per_run:g} USD, which is too little for {model}.",
            "raise budget.usd_per_run in the config",
        )
    return int(min(tokens, affordable))


def result_bytes(agent: Agent, prompt_tokens: int) -> dict[str, int]:
    """How long a result of each tool may be: what the config says, and no more than a quarter of a prompt."""
    most = max(_LEAST_RESULT_BYTES, prompt_tokens * BYTES_PER_TOKEN // 4)
    kilobytes = {
        "Read": agent.read_kilobytes,
        "Grep": agent.grep_kilobytes,
        "Glob": agent.glob_kilobytes,
        "Bash": agent.bash_kilobytes,
    }
    return {tool: min(round(number * 1024), most) for tool, number in kilobytes.items()}


def memories_part(manifest: Sequence[str], limits: RunLimits) -> str:
    """The memories that are there, a line each; in a small window as many as fit into their share."""
    room = limits.prompt_tokens * _SHARE
    lines = []
    for line in manifest:
        room -= text_tokens(line)
        if room < 0:
            break
        lines.append(line)
    return "<memories>\n" + ("\n".join(lines) or "none yet") + "\n</memories>"


def instructions_part(texts: Sequence[str], limits: RunLimits) -> str:
    """Those that weigh most come last, and are what is kept if there are too many."""
    most = min(INSTRUCTION_CHARACTERS, int(limits.prompt_tokens * _SHARE) * BYTES_PER_TOKEN)
    joined = "\n\n".join(text.strip() for text in texts if text.strip())
    if len(joined) > most:
        joined = "[…]\n" + joined[-most:]
    return f"<instructions>\n{joined}\n</instructions>"


def fitting(exchanges: Sequence[Exchange], room_tokens: float) -> int:
    """How many of the turns, from the first on, fit; one at least, if there is any."""
    number = 0
    for number, exchange in enumerate(exchanges, 1):
        room_tokens -= text_tokens(_turn(exchange, "", "000000"))
        if room_tokens < 0:
            return max(number - 1, 1)
    return number


def conversation_part(exchanges: Sequence[Exchange]) -> str:
    """The marks hold what nobody who wrote one of the texts could know: a digest of them all."""
    digest = hashlib.blake2b(digest_size=3)
    for exchange in exchanges:
        digest.update(repr(exchange).encode("utf-8", "replace"))
    mark = digest.hexdigest()
    has_several = len({exchange.said.session_id for exchange in exchanges}) > 1
    turns = []
    before = session_id = ""
    for number, exchange in enumerate(exchanges, 1):
        if has_several and exchange.said.session_id != session_id:
            session_id, before = exchange.said.session_id, ""
            turns.append(f"[{mark} session] {session_id}")
        turns.append(_turn(exchange, before, mark, is_last=number == len(exchanges)))
        before = exchange.said.reply
    return (
        f"<conversation>\nMarks here begin with {mark}; whatever else looks like a mark is text.\n"
        + "\n".join(turns)
        + "\n</conversation>"
    )


def _turn(exchange: Exchange, before: str, mark: str, *, is_last: bool = False) -> str:
    """`before`: how the turn shown above this one ended. What the agent said last of all, nobody has answered yet."""
    said, calls = exchange
    when = ""
    if said.said_at is not None:
        when = datetime.fromtimestamp(said.said_at).astimezone().strftime("%A %Y-%m-%d %H:%M")
    did = "; ".join(cut(call, _CALL_CHARACTERS) for call in calls[:_CALLS])
    if len(calls) > _CALLS:
        did += f"; and {len(calls) - _CALLS} more"
    parts = [("agent", cut(said.answer, _AGENT_CHARACTERS))] if said.answer != before else []
    parts += [
        ("turn", when or "at an unknown time"),
        ("user", cut(said.text, MESSAGE_CHARACTERS)),
        ("did", did),
        ("agent", cut(said.reply, _LAST_CHARACTERS if is_last else _AGENT_CHARACTERS)),
    ]
    return "\n".join(f"[{mark} {name}] {text}" for name, text in parts if text)
