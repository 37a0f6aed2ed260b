"""Explicit wishes: "remember that …", "from now on …", "always …", "never …", "stop …". Pure.

The first slice of the engine, and deliberately narrow: what it takes for a wish must be one.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.dates import day_of, with_absolute_dates
from memoryd.engines.offline.sentences import is_in_quotes, sentences_of
from memoryd.model import Evidence, Finding
from memoryd.security.secrets import find_secret

if TYPE_CHECKING:
    from memoryd.model import MemoryType, Said

_LEAD = r"(?:(?:ok(?:ay)?|great|thanks|and|also|but|so|oh|btw|by the way|please|pls|hey|yes|no|well|one more thing)[,:.!]?\s+)*"
_REMEMBER = re.compile(
    rf"(?i){_LEAD}(?:(?:please\s+)?(?:remember|keep in mind|bear in mind|don'?t forget)(?:\s+that|\s*[:,])|"
    r"(?:please\s+)?(?:note|remember) for (?:the )?(?:future|later|next time)\s*[:,])\s*(?P<wish>.+)"
)
_FROM_NOW_ON = re.compile(
    rf"(?i){_LEAD}(?:from now on[,:]?|going forward[,:]?|from here on(?: out)?[,:]?|in (?:the )?future[,:]|for all future \w+[,:]?)\s+(?P<wish>.+)"
)
_FROM_NOW_ON_BEHIND = re.compile(r"(?i)(?P<wish>.+?),?\s+(?:from now on|going forward|from here on out)[.!]*")
_ALWAYS_NEVER = re.compile(
    rf"(?i){_LEAD}(?:you (?:should|must)\s+|i want you to\s+|i'?d like you to\s+)?(?P<wish>(?:always|never|don'?t ever)\s+(?P<verb>[a-z]+)\b.+)"
)
_STOP = re.compile(rf"(?i){_LEAD}(?P<wish>stop\s+[a-z]+ing\b.+)")

# After always or never these make a statement or a phrase, not a wish.
_NOT_A_VERB = re.compile(
    r"(?i)(?:mind|again|ever|been|had|got|saw|seen|was|were|is|are|did|does|heard|knew|thought|found|happened?s?|works?|worked"
    r"|the|a|an|that|this|it|in|on|at|to|so|quite|really|fails?|failed|the|more|less|true|null|\w+ed"
    r"|have|has|gets?|comes?|goes|seems?|could|would|say|says|\w{3,}[^s]s|show|display|render|hide|throw|return|redirect|log|emit)"
)
# Habits of an assistant; to stop polling or logging is what the program at hand shall do.
_STOPPING_A_HABIT = re.compile(
    r"(?i)stop\s+(?:adding|apologi[sz]ing|asking|assuming|changing|committing|creating|explaining|formatting|generating"
    r"|guessing|inventing|leaving|making|mocking|pushing|putting|repeating|rewriting|suggesting|summari[sz]ing|using|wrapping"
    r"|writing)\b"
)
# A statement about how things are, or words that point to something said before.
_NO_RULE = re.compile(r"(?i)(?:the|this|that|it|there|these|those|an?|he|she|they|versions?|same)\b")
_SAYS_NOTHING = re.compile(
    r"(?i)^(?:time|day|bug|one|when|how)\b|^\W*\w*\W*$|\b(?:that|this|it|same)(?: again)?[.!]*$|^we already\b"
)
_QUESTION = re.compile(r"\?\s*$|(?i:^(?:should|do|does|did|can|could|would|will|is|are|what|why|how|when|who|which)\b)")
_NOT_MEANT = re.compile(
    r"(?i)\b(?:if (?:i|we) (?:said|told|asked|were|wanted)|what if|suppose|imagine|hypothetically|maybe|perhaps|not sure"
    r"|i (?:guess|wonder|think)|might want|just kidding|lol|sarcas\w*|joking|he said|she said|they said|someone said"
    r"|(?:the )?(?:docs?|readme|article|error|log|message|comment|test|manual) says?)\b"
)
_ONLY_NOW = re.compile(
    r"(?i)\b(?:for now|for the moment|this time|just this once|for this (?:one|task|change|pr|commit|file|session)|in this"
    r" (?:pr|commit|change|file|branch|session|turn)|right now|when you(?:'re| are) done|before you (?:finish|stop)"
    r"|after (?:this|that)|until i say|in this (?:test|function|handler|method|class|component|module)|from this function|for this \w+|for a while|just for)\b"
)
_DASHES = r",;:\s\u2013\u2014-"
_BECAUSE = re.compile(
    rf"(?i)(?<![{_DASHES}])[{_DASHES}]{{1,5}}(?:because|since|as otherwise|so that|otherwise|due to)\s+(?P<why>.+)$"
)
_WHY_NEXT = re.compile(
    r"(?i)(?:because|the reason(?: is)?(?: that)?|that'?s because|this is because)\s*:?\s*(?P<why>.+)|(?P<otherwise>otherwise\b.+)"
)
_HOW_NEXT = re.compile(
    r"(?i)(?P<how>(?:this|that|it) (?:also )?(?:applies|goes|counts|holds|includes|means)\b.+|(?:except|unless|only) .+|exceptions?:.+)"
)
_PERSON = re.compile(
    r"(?i)(?:i'?m|i am|i work|i know|i'?ve (?:been|worked|used)|i have (?:been|worked|used|\d+ years)|i'?m new|i prefer|i like|i hate|my (?:role|job|name|background|team) (?:is|are))\b"
)
_PLACE = re.compile(
    r"(?i)https?://|\b(?:dashboard|tracker|wiki|channel|board|runbook|docs?|document|spreadsheet|jira|linear|grafana|confluence|notion|slack)\b.*\b(?:is|are|lives?|at|in|under|tracked)\b"
    r"|\b(?:is|are) (?:tracked|documented|kept|listed) (?:in|at|on)\b"
)
_DOING = re.compile(
    r"(?i)(?:always|never|don'?t|do not|stop|use|keep|run|write|avoid|prefer|ask|check|add|make|put|split|commit|name|call|start|end|explain|answer|reply|show|please|we (?:always|never|don'?t)|i (?:want|need) you to|you (?:should|must))\b"
)
_SMALL_WORDS = re.compile(
    r"a|an|and|are|as|at|be|but|by|do|for|from|has|have|i|if|in|is|it|its|me|my|of|on|or|our|so|that|the|their|them|then|there|they|this|to|us|was|we|were"
    r"|will|with|you|your|always|please|should|must|use|when|than|into|about"
)


_TAKEN_BACK = re.compile(
    r"(?i)(?:^|[.!?,]\s+|\b(?:actually|no|wait|sorry|hm+|ok|oh)\b[,.]?\s+)(?:please )?(?:(?:forget|scratch|strike|ignore|disregard)"
    r"\s+(?:that\b|it\b|what i (?:just )?said|my last \w+|(?:the|about the|what i said about)\s+(?P<what>\w{3,}))"
    r"|i take that back|i(?:'ve)? changed my mind)"
)

_BOUNDED = re.compile(r"(?i)\b(?:until|by|before|after|starting)\b")

_OF_ONESELF = (
    (r"(?i)^i(?:'m| am)\b", "The user is"),
    (r"(?i)^i(?:'ve| have)\b", "The user has"),
    (r"(?i)^i (prefer|like|hate|work|know)\b", r"The user \1s"),
    (r"(?i)^my\b", "The user's"),
)


class _Wish(NamedTuple):
    text: str
    quote: str
    is_rule: bool


def wishes_in(said: Said) -> list[Finding]:
    """The wishes in one message. A sentence with a secret in it is passed over whole."""
    found = []
    sentences = sentences_of(said.text)
    for number, sentence in enumerate(sentences):
        wish = _wish(sentence)
        if wish is None or find_secret(sentence):
            continue
        following = sentences[number + 1] if number + 1 < len(sentences) else ""
        found.append(_finding(said, wish, "" if find_secret(following) else following))
    return found


def is_taken_back(finding: Finding, last: Finding, said: Said) -> bool:
    """Whether a message takes a wish back: the last one ("scratch that"), or one it names ("forget the squash thing")."""
    match = _TAKEN_BACK.search(said.text)
    if match is None:
        return False
    if not match["what"]:
        return finding is last
    stem = match["what"].lower().rstrip("s")[:5]
    return stem in f"{finding.description} {finding.name}".lower()


def statement(said: Said) -> Finding:
    """What the user asks to be remembered in so many words, taken as it is."""
    text = " ".join(said.text.split())
    match = _REMEMBER.fullmatch(text)
    return _finding(said, _Wish(match["wish"] if match else text, text, is_rule=False), "")


def _wish(sentence: str) -> _Wish | None:
    if (
        _QUESTION.search(sentence)
        or _NOT_MEANT.search(sentence)
        or _ONLY_NOW.search(sentence)
        or is_in_quotes(sentence)
    ):
        return None
    if match := _REMEMBER.fullmatch(sentence):
        return None if _SAYS_NOTHING.search(match["wish"]) else _Wish(match["wish"], sentence, is_rule=False)
    for pattern in (_FROM_NOW_ON, _FROM_NOW_ON_BEHIND):
        if match := pattern.fullmatch(sentence):
            says_nothing = _NO_RULE.match(match["wish"]) or _SAYS_NOTHING.search(match["wish"])
            return None if says_nothing else _Wish(match["wish"], sentence, is_rule=True)
    match = _ALWAYS_NEVER.fullmatch(sentence)
    if match and not _NOT_A_VERB.fullmatch(match["verb"]) and not _SAYS_NOTHING.search(match["wish"]):
        return _Wish(match["wish"], sentence, is_rule=True)
    match = _STOP.fullmatch(sentence)
    if match and _STOPPING_A_HABIT.match(match["wish"]) and not _SAYS_NOTHING.search(match["wish"]):
        return _Wish(match["wish"], sentence, is_rule=True)
    return None


def _finding(said: Said, wish: _Wish, following: str) -> Finding:
    fact, why, how = wish.text, "", ""
    if match := _BECAUSE.search(fact):
        fact, why = fact[: match.start()], match["why"]
    quote = wish.quote
    if not why and (match := _WHY_NEXT.fullmatch(following)):
        why, quote = match["why"] or match["otherwise"], f"{quote} {following}"
    elif match := _HOW_NEXT.fullmatch(following):
        how, quote = match["how"], f"{quote} {following}"
    kind = _type_of(fact, is_rule=wish.is_rule)
    day = day_of(said.said_at) if said.said_at is not None else None
    if day is not None and (not wish.is_rule or _BOUNDED.search(fact)):  # "on Mondays we deploy" is no single Monday
        fact, why, how = (with_absolute_dates(text, day) for text in (fact, why, how))
    fact = _as_sentence(_about_the_user(fact) if kind == "user" else fact)
    parts = [fact]
    if why:
        parts.append(f"**Why:** {_as_sentence(why)}")
    if how:
        parts.append(f"**How to apply:** {_as_sentence(how)}")
    description = fact.rstrip(".") + (f"; {_lower_first(why).rstrip('.')}" if why else "")
    return Finding(kind, _name_of(fact), description, "\n\n".join(parts) + "\n", evidence_of(said, quote))


def evidence_of(said: Said, quote: str) -> Evidence:
    """The quoted words as evidence; their hash is over the words alone, whatever stands between them."""
    words = " ".join(quote.split())
    digest = hashlib.blake2b(words.casefold().encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return Evidence(said.session_id, said.message_id, words, digest, said.said_at)


def _type_of(fact: str, *, is_rule: bool) -> MemoryType:
    if is_rule:
        return "feedback"
    if _PERSON.match(fact):
        return "user"
    if _DOING.match(fact):
        return "feedback"
    return "reference" if _PLACE.search(fact) else "project"


def _about_the_user(fact: str) -> str:
    """Said of oneself, to be read by somebody else."""
    for said, told in _OF_ONESELF:
        if (changed := re.sub(said, told, fact, count=1)) != fact:
            return changed
    return fact


def _name_of(fact: str) -> str:
    # What negates stays: "push-to-main" would be the opposite of "never push to main".
    plain = re.sub(r"(?i)\bdon'?t\b", "do not", fact.lower())
    words = [word for word in re.findall(r"[^\W\d_]{2,}", plain) if not _SMALL_WORDS.fullmatch(word)]
    return "-".join(words[:5])[:60].strip("-") or "note"


def _as_sentence(text: str) -> str:
    text = text.strip(" ,;:-–—")  # noqa: RUF001
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "…", ")", "`")) else text + "."


def _lower_first(text: str) -> str:
    return (
        text
        if text[:2] in ("I ", "I'") or not (text[1:2].islower() or text[1:2] == " ")
        else text[:1].lower() + text[1:]
    )
