"""Doubts: where no model judges meaning, rules that may hold a change back with a sentence, and never decide.

They look at structure: who said it and when, where a quote is cut, which words of each part come from somewhere, what goes
away that nobody spoke of. Each yields the first thing that a person should look at.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memoryd.language import lexicon
from memoryd.language.certainty import is_in_other_units, is_meant, is_taken_back
from memoryd.language.cues import cues_of, reports_in
from memoryd.language.date_phrases import candidates, languages_of
from memoryd.language.evidence import sentences_around
from memoryd.language.expiry import is_expired
from memoryd.language.quotations import without_quotations
from memoryd.language.same_words import is_repeated_in
from memoryd.language.sentences import sentences_of
from memoryd.language.statements import plain, statement_of
from memoryd.language.subjects import mentions_taking_back
from memoryd.language.taken_back import is_correction, is_off_the_record, taken_back_by
from memoryd.language.tokens import words_of
from memoryd.review.changes import later_messages, stated_text
from memoryd.review.comparison import flipped_word, lost_clause, swapped_words, unlimited_word
from memoryd.review.parts import parts_of, strange_names
from memoryd.review.pasted import is_pasted
from memoryd.review.sources import moments_of, words_approved, words_said
from memoryd.review.words import (
    clause_around,
    clauses_of,
    content_words,
    founded_share,
    is_founded,
    is_other_language,
    unfounded_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.model import UserMessage
    from memoryd.review.changes import GroupView, Quoted, ReviewedChange

_QUOTATION = re.compile(r"[\"“„«「『]([^\"“”„«»「」『』\n]{6,400})[\"”“»」』]")
_DEMONSTRATIVE = re.compile(
    r"(?i)\b(?:for|in|on|during|while|with|bei|für|in|während|mit|en|para|durante|por|pour|dans|pendant)\b(?: \w+){0,2} "
    r"(?:this|diese[mnrs]?|este|esta|ce|cet|cette)\b (?!is\b|was\b|are\b)(?P<noun>[^\W\d_]+)"
    r"|\b(?:for (?:now|the moment|today)|just today|vorerst|fürs erste|por ahora|de momento|pour l'instant)\b|这次|暂时|今回|とりあえず"
)
"""A place or an occasion that is pointed at: what is ordered there is for it alone."""
_LIMIT = re.compile(
    r"(?i)\b(?:for|in|on|at|during|inside|within|under|für|in|im|auf|bei|beim|während|para|en|durante|pour|dans|sur|pendant)\s+"
    r"(?:(?:the|a|an|our|my|der|die|das|den|dem|el|la|los|las|le|les)\s+)?"
    r"(?!(?:all|every|any|each|next|alle[nr]?|jede\w*|todos|todas|cada|tous|toutes|chaque)\b)(?P<noun>[^\W\d_][\w/-]{2,})"
)
_CONDITION = re.compile(
    r"(?i)\b(?:if|when|unless|while|until|as long as|wenn|falls|sobald|solange|si|cuando|mientras|quand|tant que)\b(?P<what>[^,.;!?\n]*)"
)
_WOULD = re.compile(r"(?i)\b(?:would|could|might)\b|'d\b|\b(?:würde|könnte)\w*\b|\b\w+(?:ría|ríamos|rait|rions)\b")
_SOMEBODY = re.compile(r"(?i)\b(?:i|we|ich|wir|yo|je|on|nous)\b\W*$")
_ENDED = re.compile(
    r"(?i)\b(?:(?:is|are|was|were|we'?re|its|it'?s) (?:out|over|gone|off|done|history|dead|cancel+ed|finished)|no longer|any ?more|no more"
    r"|nicht mehr|vorbei|ya no|se acabó|ne \w+ plus|fini|terminé|olvida\w*|vergiss|oublie|scrap|drop|forget|remove|delete)\b|不再|取消|作废|忘了|やめ|なし|廃止"
)
_FACT_FOUNDED = 0.4
_PART_FOUNDED = 0.5
_CLAUSE_FOUNDED = 0.2
_OWN_CLAUSE = 3
_CUT_WORDS = 2
_REPORTED = 2
_LAUGH_WORDS = 3


def doubts_about(view: GroupView) -> list[str]:
    """What a person should look at before a group is written; empty where nothing speaks against it."""
    found: list[str] = []
    for quoted in view.quotes:
        if quoted.message is not None:
            found += _meant_doubts(quoted, quoted.message, view)
    found += _age_doubts(view)
    found += _approval_doubts(view)
    for change in view.changes:
        found += _removal_doubts(change, view) if change.is_removal else _text_doubts(change, view)
    found += _loss_doubts(view)
    return list(dict.fromkeys(found))


# --- are the words meant ----------------------------------------------------------------------------------------------


def _meant_doubts(quoted: Quoted, said: UserMessage, view: GroupView) -> Iterator[str]:
    own = without_quotations(said.text)
    sentence = sentences_around(quoted.evidence, said)
    cues = {*cues_of(sentence)}
    if sentence.rstrip().endswith(("?", "？")) or ("question" in cues and not is_meant(sentence)):  # noqa: RUF001
        yield "The quoted words stand in a question."
    elif cues & {"hedge", "hypothetical"} or (_CONDITION.match(sentence) and _WOULD.search(sentence)):
        yield "The quoted words sound like a guess or a supposition."
    elif "joke" in cues or _is_laughed_at(quoted.evidence.quote, own):
        yield "The quoted words may be a joke."
    elif _is_hearsay(sentence):
        yield "The quoted words may be what somebody else says."
    elif not is_meant(sentence):
        yield "The quoted words may not be meant as a statement."
    if is_off_the_record(own):
        yield "The user asked not to keep this message."
    if any(quoted.evidence.quote in inside for inside in _QUOTATION.findall(said.text)):
        yield "The quoted words stand in quotation marks."
    if is_pasted(quoted.evidence.quote, said.text):
        yield "The quoted words may be a text that the user pasted."
    pointed = [match for match in _DEMONSTRATIVE.finditer(sentence) if not _is_time(match["noun"] or "")]
    if pointed and not view.removals and not _DEMONSTRATIVE.search(view.new_text):
        yield f'This may hold for the task at hand alone: "{pointed[0][0].strip()}".'
    if cut := _cut_away(quoted.evidence.quote, sentence, view.new_text + view.old_text):
        yield f'The quote is cut: "{cut}" belongs to it.'
    if _is_withdrawn(quoted, said, view):
        yield "The user may have taken this back in a later message."


def _is_laughed_at(quote: str, own: str) -> bool:
    """Whether nothing but a laugh stands right behind quoted words; one elsewhere in the message is about something else."""
    sentences = sentences_of(own)
    behind = [number + 1 for number, sentence in enumerate(sentences) if plain(sentence) in plain(quote)][-1:]
    return any(
        "joke" in cues_of(sentence) and len(sentence.split()) <= _LAUGH_WORDS
        for number in behind
        for sentence in sentences[number : number + 1]
    )


def _is_hearsay(sentence: str) -> bool:
    """Whether a sentence tells what somebody says, and that is not the user."""
    for match in reports_in(sentence):
        edges = sentence[max(0, match.start() - 1) : match.start()] + sentence[match.end() : match.end() + 1]
        is_word = not match[0].isascii() or not any(letter.isalnum() for letter in edges)
        is_report = len(content_words(sentence[match.end() :])) >= _REPORTED  # "legal insists" is a reason
        if is_word and is_report and not _SOMEBODY.search(sentence[: match.start()]):
            return True
    return False


def _is_time(noun: str) -> bool:
    return noun.casefold() in lexicon.small("values") or "deadline" in cues_of(f"this {noun}")


def _cut_away(quote: str, sentence: str, told: str) -> str:
    """Words of the clause in which a quote begins or ends that are neither quoted nor told: they may limit it."""
    known = content_words(f"{quote} {told}")
    pieces = _beside(quote, sentence)
    return next((piece for piece in pieces if len(unfounded_words(piece, known)) >= _CUT_WORDS), "")


def _beside(quote: str, sentence: str) -> tuple[str, str]:
    """What stands before and behind a quote in the clauses in which it begins and ends."""
    text, wanted = " ".join(sentence.split()), " ".join(quote.split())
    at = text.casefold().find(wanted.casefold())
    return clause_around(text, at, at + len(wanted)) if at >= 0 else ("", "")


def _is_withdrawn(quoted: Quoted, said: UserMessage, view: GroupView) -> bool:
    """Whether a later message takes the words back: one that says nothing else, or that has words of them.

    "Ignore that warning, it is harmless" is about the task.
    """
    following = later_messages(said, view.context.messages)
    words = content_words(quoted.evidence.quote)
    for later in following[:1]:
        if is_correction(later.text, quoted.evidence.quote):
            return True
    if not is_taken_back(quoted.evidence, view.context.messages):
        return False
    return any(
        is_taken_back(quoted.evidence, [later])
        and (_is_bare_take_back(later.text) or not words.isdisjoint(content_words(later.text)))
        for later in view.context.messages
        # "Forget what I just said" is about the message right before it, whatever was said earlier.
        if later in following[:1] or mentions_taking_back(later.text) != (True, "")
    )


def _is_bare_take_back(text: str) -> bool:
    take_back = taken_back_by(text)
    return take_back is not None and take_back.is_bare


def _age_doubts(view: GroupView) -> Iterator[str]:
    for change in view.changes:
        if change.before is None or not change.quotes:
            continue
        said = [quoted.evidence.said_at for quoted in change.quotes if quoted.evidence.said_at is not None]
        if said and max(said) < max(moments_of(view, change.name), default=0.0):
            yield f"{change.name} rests on newer words than the quoted ones."


def _approval_doubts(view: GroupView) -> Iterator[str]:
    """Whether what is written comes from the agent, and the quoted words do not say yes to it."""
    for said in view.messages:
        if not said.answer or words_approved(view):
            continue
        own = content_words(f"{words_said(view)}\n{view.old_text}")
        told = content_words(said.answer)
        taken = [word for word in content_words(view.new_text) if is_founded(word, told) and not is_founded(word, own)]
        if len(taken) > len(content_words(view.new_text)) / 3:
            yield "Most of this is what the agent said, and the quoted words do not approve of it."


# --- is the text carried ----------------------------------------------------------------------------------------------


def _text_doubts(change: ReviewedChange, view: GroupView) -> Iterator[str]:
    assert change.after is not None  # noqa: S101 - a write has a text
    said = f"{words_said(view)}\n{words_approved(view)}"
    known = content_words(f"{said}\n{view.old_text}\n{view.context.repository.text() if view.is_dream else ''}")
    old = content_words(view.old_text)
    if any(is_other_language(other.old_text, change.text) for other in view.changes if other.before):
        return  # a merge of languages: words cannot be compared, and numbers and names have been
    for label, text in parts_of(change.after):
        there = known | content_words(change.after.body) if label == "description" else known
        least = _FACT_FOUNDED if label in ("description", "fact") else _PART_FOUNDED
        new = " ".join(content_words(text) - old)
        is_reason = label not in ("description", "fact")
        if new and (founded_share(text, there) < least or (is_reason and founded_share(new, there) < least)):
            yield f"Little of the {label} comes from what was said: {_listed(unfounded_words(text, there))}."
            continue
        for clause in clauses_of(text):
            strange = unfounded_words(clause, there)
            if len(strange) >= _OWN_CLAUSE and founded_share(clause, there) <= _CLAUSE_FOUNDED:
                yield f'Nobody said this: "{clause}".'
                break
    # Keys are other words for the same thing: names that nobody said are what they are for.
    if names := strange_names(stated_text(change.after), f"{said}\n{view.old_text}\n{change.name}"):
        yield f"Nobody named {_listed(names)}."
    for quoted in change.quotes:
        yield from _turn_doubts(change, quoted, view)
    yield from _same_elsewhere(change, view)
    if change.after.type == "user" and any("self_mock" in cues_of(quoted.evidence.quote) for quoted in change.quotes):
        yield "This may belittle a person."


def _turn_doubts(change: ReviewedChange, quoted: Quoted, view: GroupView) -> Iterator[str]:
    assert change.after is not None  # noqa: S101 - a write has a text
    sentence = sentences_around(quoted.evidence, quoted.message) if quoted.message else quoted.evidence.quote
    parts = parts_of(change.after)
    reasons = "\n".join(text for _, text in parts[2:])
    for label, text in parts[:2]:
        if word := flipped_word(sentence, text, view.old_text):
            yield f"The {label} may say the opposite of the quoted words about {word!r}."
        if pair := swapped_words(sentence, text):
            yield f"The {label} may have put {pair[0]!r} and {pair[1]!r} in each other's place."
        # The limit may belong to the reason: "on Tuesdays because support is only staffed then".
        if word := unlimited_word(sentence, f"{text}\n{reasons}"):
            yield f"The {label} leaves out what the quoted words limit {word!r} to."
        if is_in_other_units(statement_of(sentence), statement_of(text)):
            yield f"The {label} has another unit than the quoted words."
    told = content_words(change.text)
    before, behind = _beside(quoted.evidence.quote, sentence)
    whole = _without_days(f"{before} {quoted.evidence.quote} {behind}")
    for match in _LIMIT.finditer(whole):
        nouns = content_words(match["noun"]) - lexicon.small("values")
        if nouns and not any(is_founded(noun, told) for noun in nouns):
            yield f'The quoted words hold for a part alone, "{match[0].strip()}", which the memory does not say.'
            break
    for match in _CONDITION.finditer(whole):
        nouns = content_words(match["what"])
        if nouns and not any(is_founded(noun, told) for noun in nouns):
            yield f'The condition "{match[0].strip()}" is not in the memory.'
            break


def _without_days(text: str) -> str:
    """The text without phrases that name a day: they have become dates."""
    parts, past = [], 0
    for start, end, *_ in candidates(text, languages_of(text)):
        if start >= past:
            parts.append(text[past:start])
            past = end
    return "".join((*parts, text[past:]))


def _same_elsewhere(change: ReviewedChange, view: GroupView) -> Iterator[str]:
    """Whether another memory has every word of this one. Whole words: two facts may differ in one identifier."""
    if change.before is not None or change.after is None or view.group.from_index:
        return
    fact = set(words_of(parts_of(change.after)[1][1])) - lexicon.small("subjects") - lexicon.small("names")
    leaving = {other.name for other in view.changes}
    for memory in view.context.snapshot.memories:
        if memory.name not in leaving and fact <= _word_set(f"{memory.description}\n{memory.body}"):
            yield f"{memory.name} may say this already."


@lru_cache(maxsize=4096)
def _word_set(text: str) -> frozenset[str]:
    """The words of a memory, which every change of a run is held against."""
    return frozenset(words_of(text))


# --- what goes away ---------------------------------------------------------------------------------------------------


def _removal_doubts(change: ReviewedChange, view: GroupView) -> Iterator[str]:
    if view.writes and not any(quoted.message for quoted in change.quotes):
        return  # it goes into another memory: what is lost on the way is looked at below
    if view.reason == "expired":
        stored = next((memory for memory in view.context.snapshot.memories if memory.name == change.name), None)
        if stored is not None and not is_expired(stored, view.context.now, is_said=bool(change.quotes)):
            yield f"The end of {change.name} has not come, or it says something that goes on."
        return
    if not change.quotes:
        if not _is_said_elsewhere(change, view):
            yield f"No other memory says what {change.name} says."
        return
    if view.writes:
        return
    if _takes_back_the_last(change, view):
        return
    said = "\n".join(quoted.message.text for quoted in change.quotes if quoted.message)
    quote = "\n".join(quoted.evidence.quote for quoted in change.quotes)
    called = _tokens(_called(change))
    # The rest of a message may speak of other memories: "forget the changelog thing. the english messages stay".
    words = _tokens(quote) if _tokens(quote) & called else _tokens(said)
    if not (fit := len(words & called)):
        yield f"The quoted words do not speak of {change.name}."
        return
    for memory in view.context.snapshot.memories:
        other = f"{memory.name.removesuffix('.md').replace('_', ' ')} {memory.description} {memory.body}"
        if memory.name != change.name and len(words & _tokens(other)) > fit - (memory.name in _changed(view)):
            yield f"The quoted words may mean {memory.name}."
            return
    if not (_ENDED.search(said) or mentions_taking_back(quote)[0] or "moved" in cues_of(quote)):
        yield f"The quoted words do not say that {change.name} is over."


def _takes_back_the_last(change: ReviewedChange, view: GroupView) -> bool:
    """Whether the quoted words take something back without a name, right after the message that a memory rests on."""
    evidence = view.context.snapshot.contents.evidence.get(change.name, ())
    return bool(evidence) and any(
        mentions_taking_back(quoted.evidence.quote) == (True, "")
        and quoted.message is not None
        and evidence[-1].message_id in quoted.message.after[:1]
        for quoted in change.quotes
    )


def _is_said_elsewhere(change: ReviewedChange, view: GroupView) -> bool:
    return change.before is not None and any(
        is_repeated_in(change.before.body, memory.body)
        for memory in view.context.snapshot.memories
        if memory.name not in _changed(view)
    )


def _changed(view: GroupView) -> set[str]:
    return {change.name for change in view.changes}


def _called(change: ReviewedChange) -> str:
    return f"{change.name.removesuffix('.md').replace('_', ' ')}\n{change.old_text}"


def _tokens(text: str) -> frozenset[str]:
    """Words by how they begin, and numbers."""
    numbers = re.findall(r"\d+", text)
    return frozenset({word[:5] for word in content_words(text)} | set(numbers))


def _loss_doubts(view: GroupView) -> Iterator[str]:
    """What the memories of the group said, no new text says, and the quoted words do not speak of."""
    if not view.writes:
        return
    quote = "\n".join(said.text for said in view.messages)
    for change in view.changes:
        if change.before is not None and (clause := lost_clause(change.before, view.new_text, quote)):
            yield f'This would be gone, and nobody spoke of it: "{clause}".'


def _listed(words: list[str]) -> str:
    return ", ".join(words[:4])
