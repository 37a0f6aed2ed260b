"""Session notes by a model: an agent that may edit one file, with the sections of the notes; and a summary in one request."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd import atomic_file
from memoryd.engines.model import briefs, prompt_cache
from memoryd.engines.model.agent import AgentRun, Brief, RunFailedError, RunLimits
from memoryd.engines.model.context_window import prompt_limit, text_tokens, window_of
from memoryd.engines.model.tools import ToolBox
from memoryd.notes.sections import NOTHING, TITLES, WRITTEN_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.config import Config
    from memoryd.engines.model.prices import Price
    from memoryd.engines.model.reply import ModelReply
    from memoryd.review.context import Writing

FILE = "notes.md"
_JOB, _SUMMARY = "notes", "summary"
_TURNS = 3
_OUTPUT_TOKENS = 8_000
_MOST_TOKENS = 50_000
_OF_THE_CAP = 0.5
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_PARTS = (
    *("Request and intent", "Concepts", "Files and code", "Errors and fixes", "Problem solving", "All user messages"),
    *("Open tasks", "Current work", "Next step"),
)
_PERMITS = frozenset({"Read", "Edit", "Write"})


class NotesTask(NamedTuple):
    """What the agent is told of a session. All of it is redacted."""

    facts: str
    conversation: str
    written: Mapping[str, str]


def prompt_name() -> str:
    return briefs.static(_JOB)[0]


def summary_prompt_name() -> str:
    return briefs.static(_SUMMARY)[0]


def limits_of(config: Config, model: str, price: Price | None, deadline: float, answered_tokens: int = 0) -> RunLimits:
    """What a run may take. Raises EngineStoppedError where window or cap leave no room for anything."""
    window = window_of(model, config.anthropic.context_window_tokens, answered_tokens)
    tokens = min(prompt_limit(window), _MOST_TOKENS)
    output = min(_OUTPUT_TOKENS, tokens // 2)
    tokens = briefs.affordable_tokens(config, model, price, _JOB, window, tokens, output, _OF_THE_CAP)
    return RunLimits(_TURNS, output, tokens, tokens * _TURNS, deadline, briefs.result_bytes(config.agent, tokens))


def room_for_conversation(limits: RunLimits, facts: str) -> int:
    """Tokens that are left for what was said."""
    return max(1_000, limits.prompt_tokens - briefs.static_tokens(_JOB) - text_tokens(facts) - 12_000)


def add_to_notes(
    task: NotesTask,
    place: str,
    *,
    model: str,
    limits: RunLimits,
    ask: Callable[[dict[str, Any]], ModelReply],
    now: Callable[[], float],
    note: Callable[[str, str], None],
) -> dict[str, str]:
    """What the agent writes, by section; sections in which it has nothing to say are left out.

    1. lay out the file with what it wrote before, alone in a directory of its own
    2. let the agent edit it: a write that breaks the headings or a limit is refused as it comes
    3. read it back

    Raises what `AgentRun` raises.
    """
    shutil.rmtree(place, ignore_errors=True)  # what a killed run has left
    text = as_file(task.written)
    try:
        atomic_file.write(os.path.join(place, FILE), text.encode("utf-8", "replace"))
        parts = (
            f"<facts>\n{task.facts}\n</facts>",
            f"<conversation>\n{task.conversation}\n</conversation>\n\n<notes>\n{text}</notes>",
        )
        brief = Brief(briefs.static(_JOB)[1], parts[:1], parts[1])
        with ToolBox(place, _judge, permits=_PERMITS) as box:
            AgentRun(brief, model, box, ask, limits, now, note).to_the_end()
        data = atomic_file.read_regular(os.path.join(place, FILE), 1 << 20)
        return sections_in((data or b"").decode("utf-8", "replace"))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def as_file(written: Mapping[str, str]) -> str:
    return "\n".join(f"# {title}\n{written.get(title, '').strip() or NOTHING}\n" for title in TITLES)


def sections_in(text: str) -> dict[str, str]:
    """The sections of a file with our headings, without empty ones."""
    pieces = _HEADING.split(text)
    found = {title.strip(): body.strip() for title, body in zip(pieces[1::2], pieces[2::2], strict=True)}
    return {title: found[title] for title in TITLES if found.get(title, NOTHING) != NOTHING and found[title]}


def _judge(writing: Writing) -> str | None:
    """Why a write is refused; None where it is fine."""
    if writing.name != FILE:
        return f"only {FILE} may be changed"
    text = (writing.after or b"").decode("utf-8", "replace")
    headings = [match[1].strip() for match in _HEADING.finditer(text)]
    if headings != list(TITLES):
        return f"the ten headings have to stay as they are, in their order: {', '.join(TITLES)}; use ## below them"
    for title, body in sections_in(text).items():
        if text_tokens(body) > WRITTEN_TOKENS:
            return f"{title} is longer than {WRITTEN_TOKENS} tokens; shorten what is oldest"
    return None


# --- a summary in one request -----------------------------------------------------------------------------------------


def summary_request(conversation: str, model: str, limits: RunLimits) -> dict[str, Any]:
    return {
        "model": model,
        "max_tokens": limits.output_tokens,
        "output_config": {"effort": "low"},
        "system": [{"type": "text", "text": briefs.static(_SUMMARY)[1], "cache_control": prompt_cache.LONG}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": f"<session>\n{conversation}\n</session>"}]}],
    }


def summary_in(reply: ModelReply) -> str:
    """The nine parts, without the analysis before them. Raises RunFailedError where they are not there."""
    text = "".join(block["text"] for block in reply.content if block["type"] == "text")
    match = re.search(r"<summary>(.*?)(?:</summary>|\Z)", text.rpartition("</analysis>")[2], re.DOTALL)
    body = match[1].strip() if match and reply.stop_reason not in ("max_tokens", "refusal") else ""
    headings = [line.removeprefix("## ").strip() for line in body.splitlines() if line.startswith("## ")]
    if headings != list(_PARTS):
        raise RunFailedError("the model's answer is no summary with nine parts", is_by_reply=True)
    return body
