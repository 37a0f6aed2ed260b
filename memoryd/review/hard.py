"""Hard checks: what no change may do, told by code from the difference between the memories and the proposal.

They look at the whole file: name, title, description, body, keys and the rest of the frontmatter. What the author can mend
is repairable, with a sentence that says how; only what may not be tried at all is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.language.evidence import overlap
from memoryd.language.expiry import is_expired
from memoryd.language.instructed import is_instructed, paragraphs_of
from memoryd.language.same_words import is_repeated_in, statements_in
from memoryd.language.statements import statements_of
from memoryd.memory.index import entry_of, hook_of
from memoryd.memory.limits import INDEX_NAME
from memoryd.memory.tier_names import without_tier
from memoryd.review.changes import OPEN_REASONS, stated_text, written_keys
from memoryd.review.literals import DAY, joined_numbers, unfounded_literal
from memoryd.review.sources import literal_sources
from memoryd.review.words import content_words, is_founded
from memoryd.security.invisible import without_invisible
from memoryd.security.redact import find_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoryd.memory.document import Document
    from memoryd.model import Evidence, StoredMemory
    from memoryd.review.changes import GroupView, ReviewedChange
    from memoryd.review.context import ReviewContext

NOT_QUOTED = (
    "The quote is not in what the user said. Quote a whole statement of theirs, letter by letter; what the agent, a tool or a"
    " pasted text said is no ground for a memory."
)
ONLY_CORRECTS = "What the repository shows may correct a memory that is there: it makes none, since everybody can look it up, and ends none."
DESCRIPTION_CHARACTERS = 300
NAME_CHARACTERS = 80
KEY_WORDS = 8
MASS_SHARE = 1 / 3
MASS_COUNT = 8
"""A run that takes away more than this share of a directory, and so many memories, is held as a whole."""
_PLAIN_NAME = re.compile(r"[^/\\\x00-\x1f\x7f\ud800-\udfff]{1,200}\.md")
_SHAPES = {
    "type": re.compile(r"user|feedback|project|reference"),
    "originSessionId": re.compile(r"[\w.:/-]{0,100}"),  # of a line of a daily log: the name of that
    "evidence": re.compile(r"[0-9a-f ,]{0,400}"),
    "modified": re.compile(r"[\dTZ:.+ -]{0,40}"),
    "mergedFrom": re.compile(r"[^\x00-\x1f]*\.md"),
}
"""The keys of a frontmatter that are memoryd's own, and what may stand there: no words."""
_MARK = re.compile(r"\[(?:…|redacted\b|line cut|cut:|the file has|only the first)")
"""What stands for something that is not shown: who writes it has not read what he replaces."""
_DATE_RULE = "A date has to follow from the day of its message."
_COMMENT = re.compile(r"(?m)^\s*#.*$|^[^\"'\n]*\s#.*$")
_VALUE = re.compile(r"\d[\d.,:-]*\d|\d")


class ReviewProblem(NamedTuple):
    """Why a change cannot be accepted."""

    state: Literal["repairable", "held", "refused"]
    reason: str


_RANK = {"refused": 0, "repairable": 1, "held": 2}


def worst(problems: Iterator[ReviewProblem]) -> ReviewProblem | None:
    """The problem that decides: a refused one, then what can be mended, then what waits for the user."""
    return min(problems, key=lambda problem: _RANK[problem.state], default=None)


def problems_of(view: GroupView, *, is_finished: bool = True) -> Iterator[ReviewProblem]:
    """What is wrong with a group by itself; of a file that its author may still be editing, not whether its parts agree."""
    for change in view.changes:
        yield from _file_problems(change, view.context)
        yield from _owner_problems(change, view)
        if change.after is not None:
            yield from _form_problems(change, change.after)
        yield from _quote_problems(change, view)
    yield from _index_problems(view)
    if any(change.after is not None and change.after.problem for change in view.changes):
        return
    sources = literal_sources(view)
    for change in view.writes:
        yield from _literal_problems(change, sources)
        if is_finished:
            yield from _description_problems(change)
        yield from _repetition_problems(change, view)


def run_problems(views: Sequence[GroupView], context: ReviewContext) -> list[ReviewProblem | None]:
    """What is wrong with groups beside each other: a file, a quote or a fact that two of them use, and a mass removal."""
    found: list[ReviewProblem | None] = [None] * len(views)
    files: set[str] = set()
    used: list[tuple[str, Evidence]] = []
    said: dict[frozenset[tuple[str, ...]], str] = {}
    for number, view in enumerate(views):
        for change in view.changes:
            problem = _used_before(change, files, used, said, view)
            found[number] = found[number] or problem
            files.add(change.name.casefold())
            # One sentence may bring two memories up to date; it makes or takes away one.
            used += [(change.name, quoted.evidence) for quoted in change.quotes if not change.is_rewrite]
            if change.after is not None:
                said.setdefault(statements_in(change.after.body), change.name)
    if reason := _mass_removal(views, context):
        return [problem or ReviewProblem("held", reason) for problem in found]
    return found


def _used_before(
    change: ReviewedChange,
    files: set[str],
    used: Sequence[tuple[str, Evidence]],
    said: Mapping[frozenset[tuple[str, ...]], str],
    view: GroupView,
) -> ReviewProblem | None:
    """Whether an earlier change of the run has this file, these words or this fact already."""
    if change.name.casefold() in files:
        return ReviewProblem("repairable", f"{change.name} is changed twice in this run: say all of it in one change.")
    # A memory and those that it takes the place of go by the same words.
    together = view.changes if change.is_removal else view.removals
    own = {other.name for other in together} if view.writes else set()
    for quoted in () if change.is_rewrite else change.quotes:
        if other := used_elsewhere(change.name, quoted.evidence, used, own):
            return ReviewProblem("repairable", other)
    same = said.get(statements_in(change.after.body), "") if change.after is not None else ""
    if same and same != change.name:
        return ReviewProblem("repairable", f"{same} says this already in this run: leave this one.")
    return None


def used_elsewhere(
    name: str, evidence: Evidence, used: Sequence[tuple[str, Evidence]], own: frozenset[str] | set[str] = frozenset()
) -> str:
    """Why words cannot be quoted: another memory of the run rests on them. `own` are files that change together with it."""
    for other, earlier in used:
        if (
            other not in (name, *own)
            and earlier.message_id == evidence.message_id
            and overlap(earlier.quote, evidence.quote)
        ):
            return (
                f"These words are what {other} rests on. One quote is for one memory: quote other words, or leave it."
            )
    return ""


def _mass_removal(views: Sequence[GroupView], context: ReviewContext) -> str:
    """Why a run is held as a whole: it takes away too much that is neither expired nor merged."""
    gone = {(view.reason, change.name) for view in views for change in view.removals if not _is_merge(view)}
    if len(gone) < MASS_COUNT:
        return ""
    ended = {memory.name for memory in context.snapshot.memories if is_expired(memory, context.now)}
    count = sum(reason != "expired" or name not in ended for reason, name in gone)
    if count >= MASS_COUNT and count > len(context.snapshot.files) * MASS_SHARE:
        return f"This run would remove {count} of {len(context.snapshot.files)} memories."
    return ""


def _is_merge(view: GroupView) -> bool:
    return view.reason == "merged" and bool(view.writes)


# --- one file ---------------------------------------------------------------------------------------------------------


def _file_problems(change: ReviewedChange, context: ReviewContext) -> Iterator[ReviewProblem]:
    name = change.name
    folder, _, rest = name.partition("/")
    plain = rest if folder in context.snapshot.folders else name
    if not _PLAIN_NAME.fullmatch(plain) or plain.startswith(".") or plain.casefold() == INDEX_NAME.casefold():
        yield ReviewProblem("refused", f"{name!r} is no name for a memory: a plain file name that ends in .md is.")
    if without_invisible(name) != name:
        yield ReviewProblem("refused", "The file name holds characters that nobody sees.")
    if name in context.snapshot.odd:
        yield ReviewProblem("refused", f"{name} is left alone: it is {context.snapshot.odd[name]}.")
    elif change.before is None and name.casefold() in context.snapshot.names:
        yield ReviewProblem(
            "repairable", f"A file is named like {name}, but for the case of its letters: edit that one."
        )
    if change.before is None and change.after is None:
        yield ReviewProblem("repairable", f"There is no {name} to remove.")
    if change.after is not None:
        text = change.after.text
        if kind := find_secret(text):
            yield ReviewProblem("refused", f"{name} would hold a secret ({kind}), which is never kept.")
        old = change.before.text if change.before is not None else ""
        if without_invisible(text) != text and without_invisible(old) == old:
            yield ReviewProblem("refused", f"{name} would hold characters that nobody sees.")


def _owner_problems(change: ReviewedChange, view: GroupView) -> Iterator[ReviewProblem]:
    before = change.before
    if before is None:
        return
    if before.problem or not before.body_start or before.type is None:
        yield ReviewProblem("refused", f"{change.name} is no memory that memoryd understands, and stays as it is.")
        return
    stored = next((memory for memory in view.context.snapshot.memories if memory.name == change.name), None)
    if before.is_pinned or (stored is not None and stored.is_hand_edited):
        whose = "is pinned" if before.is_pinned else "was edited by hand"
        if _is_named(before, view):
            yield ReviewProblem("held", f"{change.name} {whose}: only your own yes changes it.")
        else:
            yield ReviewProblem("refused", f"{change.name} {whose} and stays as it is.")


def _is_named(before: Document, view: GroupView) -> bool:
    """Whether the user's words speak of a memory: of something that its title or description names."""
    said = content_words("\n".join(message.text for message in view.messages))
    return any(is_founded(word, said) for word in content_words(f"{before.name} {before.description}"))


def _form_problems(change: ReviewedChange, after: Document) -> Iterator[ReviewProblem]:
    if after.problem or not after.body_start:
        why = after.problem or "there is none"
        yield ReviewProblem("repairable", f"The file needs frontmatter between two lines of ---; {why}.")
        return
    if after.type is None:
        yield ReviewProblem("repairable", "`type` must be user, feedback, project or reference.")
    if not after.name or not after.description or "\n" in f"{after.name}{after.description}":
        yield ReviewProblem("repairable", "`name` and `description` must be given, one line each.")
    if len(after.description) > DESCRIPTION_CHARACTERS or len(after.name) > NAME_CHARACTERS:
        yield ReviewProblem(
            "repairable", "`name` or `description` is too long: two to six words, and the fact itself in one line."
        )
    if not after.body.strip() or not after.text.endswith("\n"):
        yield ReviewProblem("repairable", "The text below the frontmatter is empty or cut off.")
    if strange := _strange_key(after, change.before):
        yield ReviewProblem(
            "repairable", f"Leave `{strange}` out of the frontmatter: name, description and type are enough."
        )
    old = change.before.text if change.before is not None else ""
    for mark in _MARK.findall(after.text):
        if mark not in old:
            yield ReviewProblem(
                "repairable", f"The text holds {mark!r}, which stands for words that you were not shown."
            )
    for key in written_keys(after):
        if len(key.split()) > KEY_WORDS:
            yield ReviewProblem(
                "repairable", f"The key {key!r} is a statement: give a few words that somebody would type."
            )


def _strange_key(after: Document, before: Document | None) -> str:
    """A key of the frontmatter that is new and is none of ours, or a value of ours that is no such value."""
    old = before.values if before is not None else {}
    own = before.metadata if before is not None else {}
    for place, known in ((after.values, old), (after.metadata, own)):
        for key, value in place.items():
            if known.get(key) == value or key in ("name", "description", "metadata", "keys"):
                continue
            if key not in _SHAPES or not isinstance(value, str) or not _SHAPES[key].fullmatch(value):
                return key
    if not isinstance(after.values.get("metadata", {}), dict):
        return "metadata"
    head = after.text[: after.body_start]
    old_head = before.text[: before.body_start] if before is not None else ""
    return next((line.strip()[:40] for line in _COMMENT.findall(head) if line not in old_head), "")


# --- what it rests on -------------------------------------------------------------------------------------------------


def _quote_problems(change: ReviewedChange, view: GroupView) -> Iterator[ReviewProblem]:
    for quoted in change.quotes:
        if quoted.is_read:
            if not change.is_rewrite:
                yield ReviewProblem("repairable", ONLY_CORRECTS)
        elif quoted.message is None:
            yield ReviewProblem("repairable", NOT_QUOTED)
        if view.context.is_refused(quoted.evidence):
            yield ReviewProblem("refused", "The user took back what these words had led to.")
    has_words = any(not quoted.is_read for quoted in change.quotes)
    if has_words or view.context.job == "remember" or _has_expired(change, view):
        return
    if view.is_dream and _needs_no_quote(change, view):
        return
    what = "removed" if change.is_removal else "written"
    yield ReviewProblem(
        "repairable", f"{change.name} is {what} without words of the user. Quote what they said, or leave it."
    )


def _has_expired(change: ReviewedChange, view: GroupView) -> bool:
    """Whether a memory is taken away whose own end has passed, and that says nothing else: its dates tell, whoever asks."""
    stored = next((memory for memory in view.context.snapshot.memories if memory.name == change.name), None)
    is_archived = view.reason == "expired" and change.is_removal
    return is_archived and stored is not None and is_expired(stored, view.context.now)


def _needs_no_quote(change: ReviewedChange, view: GroupView) -> bool:
    """Whether a dream may do this without a quote: it says nothing that the memories, the index or the code do not say.

    A memory that holds a secret was not shown as it is, so nobody can tell what would be lost.
    """
    if change.before is not None and find_secret(change.before.text):
        return False
    if view.reason in OPEN_REASONS:
        return bool(view.old_text.strip())
    if change.is_removal:
        return any(other.quotes for other in view.writes)  # another memory, which is quoted for, takes its place
    stated = "\n".join((*(stated_text(other.before) for other in view.changes), *view.group.from_index))
    shown = content_words(f"{view.context.repository.text()}\n{stated}")
    is_shown = all(is_founded(word, shown) for word in content_words(stated_text(change.after)))
    return view.reason == "updated" and change.before is not None and is_shown


def _literal_problems(change: ReviewedChange, sources: str) -> Iterator[ReviewProblem]:
    after = change.after
    if after is None:
        return
    # A name that was in use has got a number.
    file = (
        re.sub(r"[-_]\d{1,2}$|[-_]", " ", without_tier(change.name).removesuffix(".md"))
        if change.before is None
        else ""
    )
    title = after.name.replace("-", " ").replace("_", " ")
    literal = (
        unfounded_literal(f"{file}\n{title}", f"{sources}\n{joined_numbers(sources)}")
        or unfounded_literal(f"{after.description}\n{after.body}", sources)
        or unfounded_literal("\n".join(written_keys(after)), sources, with_words=False)
    )
    if literal:
        yield ReviewProblem(
            "repairable",
            f"Nobody said {literal[:120]}, which stands in the name, the description, the text or the keys: leave it out, or"
            f" quote the words that it comes from.{' ' + _DATE_RULE if DAY.search(literal) else ''}",
        )


def _description_problems(change: ReviewedChange) -> Iterator[ReviewProblem]:
    """Whether the description has kept a value that the text has replaced."""
    after = change.after
    if change.before is not None and after is not None:
        old_body, new_body = _values(change.before.body), _values(after.body)
        described, brought = _values(after.description), new_body - old_body
        stale = described & (old_body - new_body)
        if stale and brought and not described & brought:
            yield ReviewProblem("repairable", f"`description` still says {min(stale)}, which the text no longer does.")


def _values(text: str) -> frozenset[str]:
    return frozenset(_VALUE.findall(text))


def _index_problems(view: GroupView) -> Iterator[ReviewProblem]:
    """Whether a dream takes away a line of the index in which a person wrote a number or a name that stands nowhere else."""
    gone = {change.name for change in view.removals} if view.is_dream else set()
    if not gone:
        return
    known = {form for statement in statements_of(f"{view.old_text}\n{view.new_text}") for form in statement.forms}
    for line in view.context.snapshot.index_text.split("\n"):
        if entry_of(line) in gone:
            told = (value for statement in statements_of(hook_of(line)) for value in statement.values)
            if any(value not in known for value in told):
                yield ReviewProblem("held", f"Only the index says this of it: {line.strip()}")


def _repetition_problems(change: ReviewedChange, view: GroupView) -> Iterator[ReviewProblem]:
    """Whether another memory or an instruction file says all of this already, in the same words."""
    if change.after is None:
        return
    body = change.after.body
    is_new = change.before is None or not is_repeated_in(body, change.before.body)
    if not is_new:
        return
    leaving = {other.name for other in view.changes}
    for memory in view.context.snapshot.memories:
        if memory.name not in leaving and is_repeated_in(body, _told(memory)):
            yield ReviewProblem("repairable", f"{memory.name} says this already: leave it, or edit that file.")
            break
    if (
        change.before is None
        and not view.group.from_index
        and is_instructed(body, paragraphs_of(view.context.instructions))
    ):
        yield ReviewProblem("repairable", "The instruction files say this already: leave it.")


def _told(memory: StoredMemory) -> str:
    return f"{memory.description}\n\n{memory.body}"
