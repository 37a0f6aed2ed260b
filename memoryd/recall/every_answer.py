"""Rules about every answer ("in German", "no emojis"): they share no word with the prompts that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.memory.quick_parse import QuickParse

_LEAST = {"feedback": 0.45, "user": 0.8}
"""Of the probability that a sentence is about how the person wants to be talked to, by type. For rules it is less than decides
where a memory is kept: a line that comes once a session in vain costs little. What somebody is like has to be more."""


def is_about_every_answer(memory: QuickParse) -> bool:
    """Whether a rule is about answers as such, by its sentence; for when a memory is indexed."""
    sentence = memory.description or memory.body.strip().partition("\n")[0]
    least = _LEAST.get(memory.type or "")
    if least is None or not sentence:
        return False
    from memoryd.engines.offline.classifier import is_manner  # noqa: PLC0415 - 10 ms that a prompt need not pay

    return is_manner(sentence) >= least
