"""Request for review's question about meaning: one message with a clean context, answered as JSON."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from memoryd.engines.model import prompt_cache

if TYPE_CHECKING:
    from memoryd.engines.model.reply import ModelReply
    from memoryd.review.meaning import Question

OUTPUT_TOKENS = 4_000


def prompt_name(question: Question) -> str:
    """A name for the part that all questions share: the log tells by it whether an endpoint had kept it."""
    return f"review {hashlib.blake2b(question.system.encode(), digest_size=4).hexdigest()}"


def request_of(question: Question, model: str) -> dict[str, Any]:
    return {
        "model": model,
        "max_tokens": OUTPUT_TOKENS,
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": question.schema}},
        "system": [{"type": "text", "text": question.system, "cache_control": prompt_cache.LONG}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": question.text}]}],
    }


def text_of(reply: ModelReply) -> str:
    """The words of a reply; empty where it was cut off or declined, which answers nothing."""
    if reply.stop_reason in ("max_tokens", "model_context_window_exceeded", "refusal"):
        return ""
    return "".join(block["text"] for block in reply.content if block["type"] == "text")
