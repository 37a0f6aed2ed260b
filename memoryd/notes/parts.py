"""Parts of session notes that a later session on the same branch may look for: one for each of the last turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.notes.facts import SessionFacts

_MOST_TURNS = 40
_WRITTEN = ("Current State", "Learnings", "Key Results")
_WRITTEN_CHARACTERS = 800


def parts_of(facts: SessionFacts, written: Mapping[str, str]) -> tuple[str, ...]:
    """What was asked in each of the last turns, what came of it and which files changed; then what a model wrote."""
    results = dict(facts.results)
    found = [
        "\n".join(
            (
                *([f"Asked: {line.prompt}"] if line.prompt else ()),
                f"Answered: {results.get(line.number, line.answer)}",
                *([f"Changed: {', '.join(line.files)}"] if line.files else ()),
            )
        )
        for line in facts.lines[-_MOST_TURNS:]
        if line.answer
    ]
    found += [
        f"{title}: {words[:_WRITTEN_CHARACTERS]}" for title in _WRITTEN if (words := written.get(title, "").strip())
    ]
    if not found:
        return ()
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms, and a hook often finds nothing new

    return tuple(dict.fromkeys(map(redact, found)))
