"""Question to a model: by which words will somebody look for these memories? Pure.

Nothing but short search words comes out, and none that names what the memory itself does not.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.engines.model import briefs, prompt_cache
from memoryd.language.excerpt import cut
from memoryd.memory.keys import bounded, joined
from memoryd.review.hard import KEY_WORDS
from memoryd.review.literals import unfounded_literal
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.config import Config
    from memoryd.engines.model.reply import ModelReply

MOST_AT_ONCE = 40
_TOKENS_EACH = 200
_TEXT_CHARACTERS = 800
_JOB = "keys"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "notes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "keys": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["number", "keys"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["notes"],
    "additionalProperties": False,
}


class NoKeysError(Exception):
    """The model answered with something that holds no keys."""


class Keyless(NamedTuple):
    """A memory without keys."""

    name: str
    description: str
    body: str


def prefix_name() -> str:
    return briefs.static(_JOB)[0]


def request_of(memories: Sequence[Keyless], config: Config) -> dict[str, Any]:
    """What the model is asked about at most MOST_AT_ONCE memories, without secrets."""
    notes = [
        {
            "number": number,
            "title": _clean(memory.name),
            "summary": _clean(memory.description),
            "text": cut(_clean(memory.body.strip()), _TEXT_CHARACTERS),
        }
        for number, memory in enumerate(memories, 1)
    ]
    return {
        "model": config.anthropic.extraction_model,
        "max_tokens": _TOKENS_EACH * len(memories),
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        "system": [{"type": "text", "text": briefs.static(_JOB)[1], "cache_control": prompt_cache.LONG}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": f"<notes>\n{json.dumps(notes, ensure_ascii=False, indent=0)}\n</notes>"}
                ],
            }
        ],
    }


def keys_in(reply: ModelReply, memories: Sequence[Keyless]) -> list[str]:
    """The keys for each memory, with semicolons between; empty where the model gave none that will do. Raises NoKeysError.

    A reply that was cut off is of use as far as it goes only where it is whole: JSON that ends early says nothing.
    """
    if reply.stop_reason in ("refusal", "max_tokens", "model_context_window_exceeded"):
        raise NoKeysError("the model's reply was cut off or declined")
    text = "".join(block["text"] for block in reply.content if block["type"] == "text")
    try:
        given = json.loads(text[text.find("{") : text.rfind("}") + 1])
        entries = {entry["number"]: entry["keys"] for entry in given["notes"]}
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise NoKeysError("the model's reply is no list of keys") from error
    return [_checked(entries.get(number), memory) for number, memory in enumerate(memories, 1)]


def _checked(keys: Any, memory: Keyless) -> str:
    """Keys that state nothing, in one string."""
    if not isinstance(keys, list):
        return ""
    sources = "\n".join(memory)
    return joined(
        key
        for key in bounded(key for key in keys if isinstance(key, str))
        if len(key.split()) <= KEY_WORDS and not unfounded_literal(key, sources, with_words=False)
    )


def _clean(text: str) -> str:
    """Without secrets, and without half an emoji, which no request can hold."""
    return redact(text.encode("utf-8", "replace").decode())
