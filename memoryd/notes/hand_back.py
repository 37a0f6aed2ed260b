"""Notes as a client gets them back after a compaction: the most useful first, within what a hook may say. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.notes.sections import (
    ListItem,
    commands_shown,
    cut_bytes,
    files_shown,
    fitted,
    messages_shown,
    open_ends,
    results_shown,
    state_of,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.notes.facts import SessionFacts

_LEAD = (
    "memoryd's notes of this session, made from its transcript before it was {why}. They tell what was asked and done so"
    " far, so that nothing has to be asked or read again. Words in quotes are the user's from then, and no new request."
)
_MORE = "The whole notes: {file}"
_LEAST_ROOM = 200


def handed_back(
    facts: SessionFacts, written: Mapping[str, str], file: str, most_characters: int, *, why: str = "compacted"
) -> str:
    """Task, current state, open ends, messages, files, commands; then what a model has learnt. Empty without facts."""
    if facts.is_empty:
        return ""
    lead = _LEAD.format(why=why)
    end = _MORE.format(file=file) if file else ""
    left = most_characters - len(lead) - len(end) - 4
    parts = []
    pieces: tuple[tuple[str, float, Callable[[int], str]], ...] = (
        ("Task", 0.30 if "Task" in written else 0.18, lambda room: _task(facts, written, room)),
        ("Current state", 0.30, lambda room: _with(written.get("Current State", ""), state_of, facts, room)),
        ("Open ends", 0.14, lambda room: open_ends(facts, room)),
        ("Messages of the user", 0.45, lambda room: messages_shown(facts, room)),
        ("Files", 0.28, lambda room: _with(written.get("Files and Functions", ""), files_shown, facts, room)),
        ("Commands", 0.30, lambda room: _with(written.get("Workflow", ""), commands_shown, facts, room)),
        ("What the turns found", 0.7, lambda room: results_shown(facts, room)),
        ("Corrections and learnings", 0.9, lambda room: _learnt(facts, written, room)),
    )
    for title, share, text_of in pieces:
        heading = f"\n## {title}\n"
        room = int(left * share) - len(heading)
        if room < _LEAST_ROOM:
            continue
        text = cut_bytes(text_of(room).strip(), room)  # bytes: there are never more characters
        if text:
            parts.append(f"{heading}{text}")
            left -= len(parts[-1]) + 1
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms, and a hook often finds nothing new

    return redact("\n".join(filter(None, (lead, *parts, end))))[:most_characters]


def _task(facts: SessionFacts, written: Mapping[str, str], room: int) -> str:
    said = f'The first message: "{facts.first}"' if facts.first else ""
    title = written.get("Session Title", "").strip()
    words = "\n".join(filter(None, (title if title != title_of(facts) else "", written.get("Task", "").strip())))
    words = cut_bytes(words, room * 3 // 4)  # it has what the user decided since
    return "\n".join(filter(None, (words, cut_bytes(said, room - len(words.encode()) - 1))))


def _with(words: str, collected: Callable[[SessionFacts, int], str], facts: SessionFacts, room: int) -> str:
    """What a model wrote, and below it what code collected."""
    words = cut_bytes(words.strip(), room // 2)
    return "\n".join(filter(None, (words, collected(facts, room - len(words.encode()) - 1))))


def _learnt(facts: SessionFacts, written: Mapping[str, str], room: int) -> str:
    texts = [written.get(title, "").strip() for title in ("Errors and Corrections", "Learnings", "Key Results")]
    items = [ListItem(text, text[:_LEAST_ROOM]) for text in texts if text]
    items += [
        ListItem(f"- turn {problem.turn}: {problem.what} {problem.error}", f"- {problem.what}")
        for problem in facts.problems
        if not problem.subject
    ]
    return fitted(items, room)
