"""Question to a model: which of these memories would help with this prompt? Pure.

Its request begins with what stays the same between two prompts, the brief and the memories, so that an endpoint can keep
it. Whatever the texts in it say, nothing but names of memories that were asked about comes out.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.engines.model import briefs, prompt_cache
from memoryd.engines.model.context_window import text_tokens, window_of
from memoryd.language.excerpt import cut
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoryd.config import Config
    from memoryd.engines.model.reply import ModelReply

MOST_SELECTED = 5
OUTPUT_TOKENS = 256
MOST_LINES = 200
_JOB = "select"
_LINE_CHARACTERS = 400
_PROMPT_CHARACTERS = 4_000
_MOST_TOOLS = 20
_TOOL_CHARACTERS = 60
_OF_THE_WINDOW = 0.5
"""The part of a small window that the memories may take."""
_ANSWER = "selected_memories"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {_ANSWER: {"type": "array", "items": {"type": "string"}}},
    "required": [_ANSWER],
    "additionalProperties": False,
}


class NoChoiceError(Exception):
    """The model answered with something that is no choice."""


class SelectionQuestion(NamedTuple):
    """A prompt, and what can be picked for it."""

    prompt: str
    manifest: Sequence[str]
    """A line for each memory, newest first."""
    names: Collection[str]
    """Their files."""
    tools: Sequence[str] = ()
    """What the agent is working with."""


def prefix_name(request: dict[str, Any]) -> str:
    """Name and version of the brief, and which memories stand behind it: all that an endpoint can have kept."""
    return f"{briefs.static(_JOB)[0]} {hashlib.blake2b(_memories(request).encode(), digest_size=4).hexdigest()}"


def shown_in(request: dict[str, Any], names: Collection[str]) -> frozenset[str]:
    """Those of the memories that have a line in the request: nobody can choose the others."""
    memories = _memories(request)
    return frozenset(name for name in names if f"] {name}" in memories)


def _memories(request: dict[str, Any]) -> str:
    text: str = request["messages"][0]["content"][0]["text"]
    return text


def request_of(question: SelectionQuestion, config: Config) -> dict[str, Any]:
    """What the model is asked, without secrets."""
    model = config.anthropic.extraction_model
    lines = _fitting(question.manifest, window_of(model, config.anthropic.context_window_tokens))
    memories = _clean("<memories>\n" + "\n".join(lines) + "\n</memories>")
    tools = ", ".join(tool[:_TOOL_CHARACTERS] for tool in question.tools[:_MOST_TOOLS])
    # First redacted, then cut: half a secret is not seen as one.
    prompt = cut(_clean(question.prompt), _PROMPT_CHARACTERS)
    task = (_clean(f"<tools>\n{tools}\n</tools>\n") if tools else "") + f"<prompt>\n{prompt}\n</prompt>"
    return {
        "model": model,
        "max_tokens": OUTPUT_TOKENS,
        "thinking": {"type": "disabled"},  # thoughts would use the tokens up, and the time
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        "system": [{"type": "text", "text": briefs.static(_JOB)[1]}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": memories, "cache_control": prompt_cache.LONG},
                    {"type": "text", "text": task},
                ],
            }
        ],
    }


def choice_in(reply: ModelReply, names: Collection[str], limit: int = MOST_SELECTED) -> tuple[str, ...]:
    """The memories that a reply picks, in its order; what is none of them is left out. Raises NoChoiceError."""
    if reply.stop_reason == "refusal":
        raise NoChoiceError("the model does not want to choose")
    if reply.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise NoChoiceError("the model's reply was cut off")
    text = "".join(block["text"] for block in reply.content if block["type"] == "text")
    try:
        # A server that does not know about schemas may put words or a fence around it.
        given = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError) as error:
        raise NoChoiceError("the model's reply is no JSON") from error
    chosen = given.get(_ANSWER) if isinstance(given, dict) else None
    if not isinstance(chosen, list) or not all(isinstance(name, str) for name in chosen):
        raise NoChoiceError("the model's reply is no list of memories")
    known = dict.fromkeys(name.strip() for name in chosen if name.strip() in names)
    return tuple(known)[: min(limit, MOST_SELECTED)]


def _fitting(manifest: Sequence[str], window_tokens: int) -> list[str]:
    """As many lines as may be shown, and as a small window has room for."""
    room = window_tokens * _OF_THE_WINDOW
    lines = []
    for line in manifest[:MOST_LINES]:
        cut = line[:_LINE_CHARACTERS]
        room -= text_tokens(cut)
        if room < 0:
            break
        lines.append(cut)
    return lines


def _clean(text: str) -> str:
    """Without secrets, and without half an emoji, which no request can hold."""
    return redact(text.encode("utf-8", "replace").decode())
