"""The brief for a dream: what has changed since the last one, where to look, and the turns that nobody has read. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.model import briefs
from memoryd.engines.model.agent import Brief, RunLimits
from memoryd.engines.model.context_window import prompt_limit, text_tokens, tokens_in, window_of
from memoryd.engines.model.cost import prompt_tokens_for
from memoryd.formatting import count, size
from memoryd.memory.index import entry_of
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.config import Config
    from memoryd.engines.model.prices import Price
    from memoryd.model import Exchange

TURNS = 30
OUTPUT_TOKENS = (8_000, 4_000, 2_000)
"""Of one reply: as many as the cap lets have, where a prompt is to be more than its beginning."""
LOGS, INSTRUCTIONS, REPOSITORY, TRANSCRIPTS = "logs", "instructions", "repository", "transcripts"
"""The folders beside the memories in the agent's view."""
_JOB = "dream"
_RUN_PROMPTS = TURNS
_DECENT = 2
"""Times what every run begins with: less is no prompt to work with."""
_BELOW_THE_STEP = 0.6
"""Of the length from which on a model is dearer; what reserves money counts more tokens than we do."""
_OF_THE_CAP = 0.45
"""What one request may cost: the many that follow are mostly read from the cache."""
_NEARLY_SPENT = 0.4
_FOR_RESULTS = 0.6
"""The part of a prompt that is left free for what the agent reads."""
_LAST_TURNS = 3
_MOST_CHANGED = 200
_CHANGED_CHARACTERS = 200
_INDEX_CHARACTERS = 8_000
_FOLDERS = {
    LOGS: "daily logs, by year and month",
    INSTRUCTIONS: "the instruction files, one for each",
    REPOSITORY: "the project's files",
    TRANSCRIPTS: "past sessions; search them with Grep, or Read a few lines",
}


class Listed(NamedTuple):
    """A session that the agent can search."""

    name: str
    """Its file in the folder of transcripts."""
    at: float
    size: int
    place: str
    """The directory of the project that it was at work in; empty: its root."""


class Material(NamedTuple):
    """What a dream is told beside the turns."""

    manifest: Sequence[str]
    number: int
    """How many memories there are: the manifest may be too long to be shown."""
    folders: Sequence[str]
    changed: Sequence[str]
    """What has changed since the last dream, a line each."""
    sessions: Sequence[Listed]
    now: float
    index_text: str = ""
    """MEMORY.md: somebody may have written memories into it."""


def prompt_name() -> str:
    return briefs.static(_JOB)[0]


def limits_of(config: Config, model: str, price: Price | None, deadline: float, answered_tokens: int = 0) -> RunLimits:
    """What a run may take, where the model's endpoint says that it can read so many tokens.

    Raises EngineStoppedError where window or cap leave no room for anything.
    """
    window = window_of(model, config.anthropic.context_window_tokens, answered_tokens)
    tokens = prompt_limit(window)
    if price is not None and price.above_tokens:
        tokens = min(tokens, int(price.above_tokens * _BELOW_THE_STEP))
    usd = config.budget.usd_per_run * _OF_THE_CAP
    decent = briefs.static_tokens(_JOB) * _DECENT
    affordable = (most for most in OUTPUT_TOKENS if prompt_tokens_for(price, usd, most) >= decent)
    output = min(next(affordable, OUTPUT_TOKENS[-1]), tokens // 2)
    tokens = briefs.affordable_tokens(config, model, price, _JOB, window, tokens, output, _OF_THE_CAP)
    results = briefs.result_bytes(config.agent, tokens)
    return RunLimits(TURNS, output, tokens, tokens * _RUN_PROMPTS, deadline, results)


def shared_by_runs(material: Material, limits: RunLimits) -> tuple[str, ...]:
    return (briefs.memories_part(material.manifest, limits),)


def fitting(exchanges: Sequence[Exchange], material: Material, limits: RunLimits) -> int:
    """How many of the turns, from the first on, a run can take; one at least, if there is any."""
    told = tokens_in(shared_by_runs(material, limits)) + text_tokens(_task(material, ()))
    room = limits.prompt_tokens - briefs.static_tokens(_JOB) - told
    return briefs.fitting(exchanges, room * (1 - _FOR_RESULTS))


def brief_of(exchanges: Sequence[Exchange], material: Material, limits: RunLimits) -> Brief:
    """What the agent is told: what varies, the date among it, comes last."""
    return Brief(briefs.static(_JOB)[1], shared_by_runs(material, limits), _task(material, exchanges))


def _task(material: Material, exchanges: Sequence[Exchange]) -> str:
    changed = [line[:_CHANGED_CHARACTERS] for line in material.changed[:_MOST_CHANGED]]
    if len(material.changed) > _MOST_CHANGED:
        changed.append(f"and {len(material.changed) - _MOST_CHANGED} more")
    folders = [f"{name}/: {_FOLDERS[name]}" for name in material.folders]
    folders.insert(0, f"the memories: {count(material.number, 'file')}; Glob lists those that are not shown above")
    sessions = [
        f"- {TRANSCRIPTS}/{one.name} ({_day(one.at)}, {size(one.size)}{', in ' if one.place else ''}{one.place})"
        for one in material.sessions
    ]
    parts = [
        _part("today", [_day(material.now)]),
        _part("folders", folders),
        _part("changed", changed or ["nothing is known"]),
        _part("sessions", sessions or ["none"]),
    ]
    # First redacted, then cut: half a secret is not seen as one.
    loose = redact("\n".join(line for line in material.index_text.split("\n") if entry_of(line) is None)).strip()
    if loose:
        parts.append(_part("index", [loose[:_INDEX_CHARACTERS]]))
    if exchanges:
        parts.append(briefs.conversation_part(exchanges))
    return "\n\n".join(parts)


def _part(name: str, lines: Sequence[str]) -> str:
    return f"<{name}>\n" + "\n".join(lines) + f"\n</{name}>"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%A %Y-%m-%d")


def hint(turns_left: int, spent_usd: float, usd_per_run: float) -> str:
    """What to tell the model before a limit ends its run, since nothing of a run counts that it has not ended itself."""
    if turns_left == 1:
        return "Your next reply is the last one. It must hold no call, or nothing of your work counts."
    if turns_left <= _LAST_TURNS:
        return f"You have {turns_left} replies left. Finish what you have begun, then answer without a call."
    if spent_usd > usd_per_run * _NEARLY_SPENT:
        return "This run has little money left. Finish what you have begun in one reply, then answer without a call."
    return ""
