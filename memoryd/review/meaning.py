"""Meaning: the question that a model is asked about proposed changes, and its answer as verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clock import iso
from memoryd.language.dates import day_of
from memoryd.language.evidence import is_of_repository
from memoryd.language.excerpt import cut
from memoryd.model import Verdict
from memoryd.review.words import content_words, is_founded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.memory.document import Document
    from memoryd.model import Evidence, StoredMemory
    from memoryd.review.changes import GroupView

NOT_REVIEWED = "Not reviewed: the model gave no usable answer."
_QUESTIONS = ("meant", "carried", "newest", "nothing_else_lost", "worth_keeping")
_STATES = {"accept": "accepted", "repair": "repairable", "hold": "held", "reject": "repairable"}
"""What the author is told to mend includes what should not be: who made it may try something else, or leave it."""
_ASKED_AGAIN = "An earlier answer could not be used: answer with one entry for every id, as JSON and nothing else."
_MESSAGE_CHARACTERS = 2_000
_ANSWER_CHARACTERS = 1_200
"""Of what the agent had said before the quoted words, which may approve it."""
_LATER_ANSWER_CHARACTERS = 320
"""Before later words, which count only where they take the quoted ones back."""
_FILE_CHARACTERS = 6_000
_MOST_BESIDE = 3
_MOST_LATER = 3
_OWN_KEYS = re.compile(r"(?m)^  (?:type|originSessionId|evidence|modified): [^\n]*\n")
"""Lines of a frontmatter that code writes and checks: they tell a reader nothing."""
_TAG = re.compile(r"<(?=/?[A-Za-z!?])")
_HEAD = re.compile(r"<!-- [\w-]+, version \d+ -->\n")


class Question(NamedTuple):
    """One request to a model, with a clean context."""

    system: str
    """The same for all questions, so that endpoints can cache it."""
    text: str
    schema: dict[str, Any]
    """JSON schema of the answer."""


Ask = Callable[[Question], str]
"""Sends a question and returns the model's JSON. Raises what the engine raises where it cannot work."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    **{question: {"type": "boolean"} for question in _QUESTIONS},
                    "verdict": {"type": "string", "enum": list(_STATES)},
                    "problem": {"type": "string"},
                },
                "required": ["id", *_QUESTIONS, "verdict", "problem"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["changes"],
    "additionalProperties": False,
}


class Hints(NamedTuple):
    """What the reviewer of one group is told beside the change itself."""

    doubts: Sequence[str] = ()
    """What rules found suspicious."""
    objections: Sequence[str] = ()
    """What was found wrong with earlier versions of it in this run."""


def judge_meaning(views: Sequence[GroupView], hints: Sequence[Hints], ask: Ask) -> list[Verdict]:
    """A verdict for each group, by one question about all of them; about those without a usable answer, asked once more.

    What `ask` raises is passed on: the job waits then.
    """
    verdicts: dict[int, Verdict] = {}
    for is_again in (False, True):
        left = [number for number in range(len(views)) if number not in verdicts]
        if not left:
            break
        question = question_about([views[number] for number in left], [hints[number] for number in left])
        if is_again:  # in other words: the same question has its answer already
            question = question._replace(text=f"{question.text}\n{_ASKED_AGAIN}")
        answered = verdicts_in(ask(question), len(left))
        verdicts |= {left[number]: verdict for number, verdict in answered.items()}
    return [verdicts.get(number, Verdict("held", NOT_REVIEWED)) for number in range(len(views))]


@cache
def system_brief() -> str:
    """The brief: byte for byte the same for every question."""
    return _HEAD.sub("", files(__package__).joinpath("prompts", "meaning.md").read_text("utf-8"), count=1)


def question_about(views: Sequence[GroupView], hints: Sequence[Hints]) -> Question:
    """One question about these groups, numbered from 1."""
    shown = [_shown(number, view, told) for number, (view, told) in enumerate(zip(views, hints, strict=True), 1)]
    text = f"{_occasion(views)}\n<changes>\n" + "\n".join(shown)
    return Question(
        system_brief(), f"{text}\n</changes>\nAnswer for {len(views)} change(s), ids 1 to {len(views)}.", SCHEMA
    )


def _occasion(views: Sequence[GroupView]) -> str:
    """An extraction is judged as of the day when the words were said: that something has ended since is for a dream."""
    context = views[0].context
    if context.job == "dream":
        return f"Today is {day_of(context.now)}. This is the outcome of a dream."
    said = [message.said_at for view in views for message in view.messages if message.said_at is not None]
    return f"Today is {day_of(max(said, default=context.now))}. This is the outcome of an extraction."


def verdicts_in(answer: str, count: int) -> dict[int, Verdict]:
    """The verdicts of an answer by their place, from 0; what is missing or of no use is left out."""
    try:
        # A server that does not know about schemas may put words or a fence around it.
        given = json.loads(answer[answer.find("{") : answer.rfind("}") + 1])
    except (ValueError, RecursionError):
        return {}
    listed = given.get("changes") if isinstance(given, dict) else None
    found: dict[int, Verdict] = {}
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("verdict"), str) or entry["verdict"] not in _STATES:
            continue
        number = entry.get("id")
        if type(number) is int and 1 <= number <= count:
            verdict = _verdict(entry)
            known = found.get(number - 1)
            # Two answers about one change: the stricter one counts.
            found[number - 1] = known if known is not None and known.state != "accepted" else verdict
    return found


def _verdict(entry: dict[str, Any]) -> Verdict:
    failed = [question for question in _QUESTIONS if entry.get(question) is not True]
    problem = " ".join(str(entry.get("problem") or "").split())[:400]
    state = _STATES[entry["verdict"]]
    if state == "accepted":
        if not failed:
            return Verdict("accepted")
        state = "repairable"
    return Verdict(state, problem or f"Review says no to: {', '.join(failed) or 'the change'}.")  # type: ignore[arg-type]


# --- how a change is shown --------------------------------------------------------------------------------------------


def _shown(number: int, view: GroupView, hints: Hints) -> str:
    lines = [f'<change id="{number}" reason="{view.reason}">']
    for change in view.changes:
        operation = "remove" if change.is_removal else "write" if change.before is None else "rewrite"
        lines.append(f'<file operation="{operation}" name={json.dumps(_escaped(change.name), ensure_ascii=False)}>')
        lines.append(_element("old", _file(change.before)) if change.before is not None else "<old/>")
        if change.after is not None:
            lines.append(_element("new", _file(change.after)))
        quotes = [_quote(quoted.evidence) for quoted in change.quotes]
        lines += list(dict.fromkeys(quotes)) or ["<quote/>"]
        lines.append("</file>")
    lines += _conversation(view)
    lines += [_element("moved_from_index", passage) for passage in view.group.from_index]
    lines += [
        _element("beside", f"{memory.name}: {memory.description}\n{cut(memory.body, _FILE_CHARACTERS // 4)}")
        for memory in _alike(view)
    ]
    lines += [_element("look", doubt) for doubt in hints.doubts]
    lines += [_element("earlier", objection) for objection in hints.objections]
    return "\n".join((*lines, "</change>"))


def _quote(evidence: Evidence) -> str:
    if is_of_repository(evidence):
        return _element("quote", evidence.quote, f" repository={json.dumps(_escaped(evidence.message_id))}")
    return _element("quote", evidence.quote)


def _conversation(view: GroupView) -> list[str]:
    """The user's messages around the quoted ones, each once and in order; in between, what the agent had said just before."""
    lines = []
    for session_id in dict.fromkeys(said.session_id for said in view.messages):
        quoted = {said.message_id for said in view.messages if said.session_id == session_id}
        session = [message for message in view.context.messages if message.session_id == session_id]
        places = [place for place, message in enumerate(session) if message.message_id in quoted]
        shown = {
            near for place in places for near in range(max(0, place - 1), min(len(session), place + 1 + _MOST_LATER))
        }
        for place in sorted(shown):
            message = session[place]
            if message.answer and place >= places[0]:
                most = _ANSWER_CHARACTERS if place in places else _LATER_ANSWER_CHARACTERS
                lines.append(_element("agent", cut(message.answer, most)))
            at_time = f' at="{_time(message.said_at)}"' if message.said_at is not None else ""
            mark = ' quoted="true"' if place in places else ""
            tag = "said" if place <= places[-1] else "later"
            lines.append(_element(tag, cut(message.text, _MESSAGE_CHARACTERS), f"{at_time}{mark}"))
    return lines


def _time(moment: float) -> str:
    """The moment with its weekday: relative days are counted from it."""
    day = day_of(moment)
    return iso(moment) + (f" {day:%A}" if day is not None else "")


def _alike(view: GroupView) -> list[StoredMemory]:
    """Memories that do not change and speak of the same: a duplicate, or the one that the words are really about."""
    words = content_words("\n".join((view.new_text, *(change.old_text for change in view.removals))))
    changed = {change.name for change in view.changes}
    shared = [
        (
            sum(is_founded(word, words) for word in content_words(f"{memory.name} {memory.description} {memory.body}")),
            memory,
        )
        for memory in view.context.snapshot.memories
        if memory.name not in changed
    ]
    best = sorted((pair for pair in shared if pair[0] > 1), key=lambda pair: -pair[0])
    return [memory for _, memory in best[:_MOST_BESIDE]]


def _file(document: Document) -> str:
    """A file without the moment of its writing: asked again later, the question is the same and has its answer."""
    head = _OWN_KEYS.sub("", document.text[: document.body_start])
    return cut(head + document.text[document.body_start :], _FILE_CHARACTERS)


def _element(tag: str, text: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>\n{_escaped(text).strip()}\n</{tag}>"


def _escaped(text: str) -> str:
    """Text that cannot end the element it stands in: nothing in it looks like a tag."""
    return _TAG.sub("&lt;", text.replace("\x00", ""))
