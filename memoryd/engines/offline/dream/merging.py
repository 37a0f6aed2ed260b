"""Memories that say the same become one: they differ only in case, punctuation, order or function words.

Two memories that share most of their words are no doubles: "island routes take 90 minutes", "fjord routes take 30 minutes".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.offline.dream.naming import name_in_words
from memoryd.engines.offline.wording import DESCRIPTION_LENGTH
from memoryd.language.lexicon import small
from memoryd.language.parts import Parts, body_of, parts_of, united
from memoryd.language.same_words import is_repeated_in
from memoryd.language.tokens import is_without_spaces, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.engines.offline.dream.draft import Draft

_COUNT = {2: "two", 3: "three", 4: "four"}
_CLAUSE_END = re.compile(r"[,;:]\s+|[，；：、]|\s[-–—]\s")  # noqa: RUF001

Content = frozenset[tuple[str, ...]]


def join(drafts: list[Draft]) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change.

    In each group one stays and says what the others said, with their reasons; those leave the list.
    """
    free = [draft for draft in drafts if not draft.is_fixed and not draft.is_archived and draft.type is not None]
    for group in _groups(free):
        target, *others = sorted(group, key=lambda draft: (not draft.files, -len(draft.body), draft.written_at))
        for other in others:
            _take_in(target, other)
            # By identity: two drafts may be equal, and only this one is to go.
            drafts[:] = [draft for draft in drafts if draft is not other]
        yield target.change("merged", f"Merging {_COUNT.get(len(group), 'several')} {name_in_words(target, 2)} notes")


def _groups(drafts: Sequence[Draft]) -> list[list[Draft]]:
    """Drafts of one type that state the same, two or more."""
    alike: dict[tuple[str | None, Content], list[Draft]] = {}
    for draft in drafts:
        content = content_of(parts_of(draft.body).fact)
        if content:
            alike.setdefault((draft.type, content), []).append(draft)
    return [group for group in alike.values() if len(group) > 1]


def content_of(text: str) -> Content:
    """The sentences of a text without function words, each by its clauses in an order of their own.

    Clauses may change places, and the last words may stand first ("before a commit, run the linter"). Other changes of order
    make another sentence: "tabs, not spaces" and "spaces, not tabs".
    """
    found = set()
    for sentence in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", text):  # noqa: RUF001
        clauses = (_content_words(clause) for clause in _CLAUSE_END.split(sentence))
        words = tuple(word for clause in sorted(filter(None, clauses)) for word in clause)
        if words:
            found.add(_first_rotation(words))
    return frozenset(found)


def _content_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in words_of(text) if word not in small("function"))


def _first_rotation(words: tuple[str, ...]) -> tuple[str, ...]:
    """The first, in the order of the alphabet, of the sequences that begin at one word and go round."""
    return min(words[at:] + words[:at] for at in range(len(words)))


def _take_in(target: Draft, other: Draft) -> None:
    """Make the target say what the other one says, too."""
    own, others = parts_of(target.body), parts_of(other.body)
    parts = Parts(own.fact, united(own.why, others.why), united(own.how, others.how))
    both = _joined(target.description, other.description)
    if both is None and not _is_said(other.description, f"{target.description}\n{body_of(parts)}"):
        parts = parts._replace(fact=united(parts.fact, _ended(other.description)))
    target.description = both or target.description
    target.body = body_of(parts)
    target.files += other.files
    target.evidence += other.evidence
    target.from_index += other.from_index
    target.keys += other.keys
    target.written_at = max(target.written_at, other.written_at)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "。")) else text + ("。" if is_without_spaces(text) else ".")


def _joined(description: str, other: str) -> str | None:
    """Both descriptions in one line; None where that is too long for one."""
    if not other or _is_said(other, description):
        return description
    mark = "；" if is_without_spaces(description) else "; "  # noqa: RUF001
    text = f"{description.rstrip('.。; ')}{mark}{other}" if description else other
    return text if len(text) <= DESCRIPTION_LENGTH else None


def _is_said(text: str, where: str) -> bool:
    """Whether a text says what another one says, in the same words or with other function words."""
    return is_repeated_in(text, where) or content_of(text) <= content_of(where)
