"""Whether words of the user are meant, meant of this, and meant of all of it: only then do they change a memory. Pure.

"The billing service deploys on Tuesdays" says nothing of the mail service, "14 days now for electronics" nothing of all
goods, "I wish it deployed on Tuesdays" nothing at all. In doubt they are not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.statements import is_number, stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.engines.statements import Statement
    from memoryd.model import Evidence, Said

_NOT_MEANT = re.compile(
    r"(?i)\b(?:i wish|if only|pretend|suppose|imagine|assume|assuming|let'?s say|say that|what if|would be|could be|might be"
    r"|fixtures? (?:with|that|where|in which|saying)|test data|dummy|placeholder|mock data|lorem|sample (?:text|data)|for example|e\.g\.|hypothetical\w*|in theory"
    r"|(?:write|add|change|fix|update|make|adapt) (?:a|an|the|this|that|some)? ?(?:unit |integration )?(?:tests?|assertion|sentence|string|comment|example)(?![\w-])"
    r"|so that the|as of the next|in the next release|next (?:quarter|year|release|sprint)|stell dir vor|angenommen|wünschte|als ob|zum beispiel"
    r"|supongamos|imagina|ojalá|par exemple|imaginons|supposons)\b"
    r"|\b(?:doesn'?t|isn'?t|don'?t|aren'?t|hasn'?t|didn'?t|won'?t|right|no|oder|nicht wahr|verdad|n'est-ce pas) ?(?:it|they|we|he|she)?\s*\??\s*$(?<=[ity?e])|\?\s*$"
    r"|假设|如果|例如|比如|もし|たとえば"
)
_TAG = re.compile(
    r"(?i),\s*(?:doesn'?t|isn'?t|don'?t|aren'?t|hasn'?t|didn'?t|wasn'?t|won'?t) (?:it|they|we|he|she)\W*$"
)
_ATTRIBUTED = re.compile(
    r"(?i)^\W*(?:(?:the |a |some |our |my )?(?:customer|client|user|guy|article|blog|post|docs?|documentation|readme|manual|ticket|mail|email|log"
    r"|error|message|page|site|forum|vendor's page|other side|kunde|cliente)\b|someone|somebody|they|he|she|jemand|reddit|twitter|stack ?overflow)"
    r"[^:.]{0,40}(?::|\b(?:says?|said|writes?|wrote|claims?|claimed|thinks?|sagt|schreibt|meint|dice|dit)\b)"
)
_ROLLED_BACK = re.compile(
    r"(?i)\b(?:roll(?:ed|ing)? (?:it|that|this|them)? ?back|revert(?:ed|ing)?|undid|put (?:it|that) back|zurückgerollt|rückgängig|revertido|annulé)\b|回滚|撤销"
)
_TAKEN_BACK = re.compile(
    rf"(?i)^\W*(?:oops|ups|nope?\b|no,|wait\b|sorry\b|scratch|forget|never ?mind|ignore|quatsch|unsinn|doch nicht|vergiss|nein\b|scherz|olvida|no,? espera|non,|oublie|laisse tomber|scherzavo|lascia)"
    rf"|{_ROLLED_BACK.pattern.removeprefix('(?i)')}"
    r"|\b(?:i was (?:wrong|mistaken)|my mistake|my bad|that was (?:wrong|nonsense|a joke|the other)|just kidding|(?:was|war) (?:der|die|das) andere"
    r"|back to|as (?:it was|before)|stays? (?:at|on|as)|leave it|ich habe mich (?:geirrt|vertan)|bleibt (?:bei|so)|me equivoqué|je me suis trompée?)\b"
    r"|\bstill\b|算了|弄错|还是|やっぱり|間違"
)
_RESTRICTING = re.compile(
    r"(?i)\b(?:only|just|but only|nur|aber nur|lediglich|solo|sólo|solamente|seulement|uniquement|while|as long as|solange|when|whenever|except|unless|außer|salvo|sauf)\b"
    r"|(?:\b(?:of the|for|on|in|at|during|within|inside|under|für|auf|bei|beim|im|während|unter|para|en|durante|pour|dans|sur|chez|pendant)\s+(?:(?P<all>all|every|any|alle[nr]?|todos|todas|tous|toutes) )?(?:the |a |an |our |my |der |die |das |den |dem |el |la |los |las |le |les )?(?P<where>[^\W\d_][\w-]{2,}))"
)
_CLAUSE = re.compile(r"[,;:.!?]\s+|\s[-–—]\s|[，。；：]")  # noqa: RUF001
_MEMBER = re.compile(r"(?i),\s|;\s|\b(?:and|but|und|aber|y|pero|et|mais)\b")
_WHEN = re.compile(
    r"(?i)(?:week(?:end|s)?|today|tonight|tomorrow|morning|evening|night|noon|afternoon|day|days|month|year|moment|meantime|future|time|mon\w*|tue\w*|wed\w*|thu\w*"
    r"|fri\w*|sat\w*|sun\w*|jan\w*|feb\w*|mar(?:ch)?|apr\w*|may|jun\w*|jul\w*|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*|wochenende|woche|heute|morgen|abend|zukunft"
    r"|fin|semana|mañana|noche|futuro|avenir|soir|matin|general|total|average|least|most|first|last|end|beginning|production|prod)"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NO_MODIFIER = re.compile(
    r"(?i)(?:the|a|an|of|to|in|on|at|for|our|my|your|their|its|this|that|these|those|and|or|is|are|was|were|be|been|has|have|had|do|does|did|will|would|can"
    r"|could|should|must|may|not|no|now|new|old|all|any|each|every|both|same|some|only|also|then|than|we|you|they|i|it|he|she|from|by|with|as|so|but|if|when"
    r"|der|die|das|den|dem|des|ein\w*|und|oder|ist|sind|im|am|auf|bei|für|mit|von|zu|jetzt|neue?\w*|alte?\w*|wir|ihr|sie|el|la|los|las|un|una|de|del|y|o|es"
    r"|son|en|con|por|para|ahora|le|les|du|et|ou|est|sont|dans|sur|avec|pour|per|please|via|about|over|until|since|after|before|made|get|gets|got|set|sets|use"
    r"|uses|run|runs|make|makes|take|takes|keep|keeps|go|goes|went|put|move|moves|has|let)"
)
_VERBAL = re.compile(r"(?i)\w+(?:ed|ly)")
_ONLY_THERE = re.compile(
    r"(?i)[,;]\s*(?:but |and |aber |und zwar |pero |mais )?(?:only|just|nur|lediglich|solo|sólo|seulement)\b"
)
_NAMED_UNIT = re.compile(
    r"(?i)(?P<value>\d[\d.,:]*)\s*[\w%°-]{0,14}\s*(?:per|a|an|each|every|/|pro|je|por|par)\s+(?P<unit>[^\W\d_]{3,})"
)
_ONE_OF_ITS_KIND = re.compile(
    r"(?i)\b(?:last|first|oldest|newest|final|letzte\w*|erste\w*|último|primer\w*|dernier\w*|premier\w*)\b"
)
_LOOKS_AHEAD = 3


def is_meant(text: str) -> bool:
    """Whether words state something, by who says them, and have not been taken back in the same breath."""
    return not (_NOT_MEANT.search(text) or _TAG.search(text) or _ATTRIBUTED.search(text) or _ROLLED_BACK.search(text))


def is_of_another(quote: Statement, old: Statement, others: Iterable[Statement] = ()) -> bool:
    """Whether a statement is about another one of the same kind: `billing service` and `mail service`.

    Or words about `shipping` where the statement speaks of `express shipping`, and another one of the bare thing.
    """
    said, told = _modified(quote.text), _modified(old.text)
    if any(
        said[noun].isdisjoint(told[noun])
        and not any(stem(one) in old.stems for one in said[noun])
        and not any(stem(one) in quote.stems for one in told[noun])
        for noun in said.keys() & told.keys()
    ):
        return True
    noun = quote.sequence[0] if quote.sequence else ""
    is_special = old.sequence[1:2] == (noun,) and old.sequence[0] not in quote.forms
    return is_special and any(noun in one.words and noun not in _modified(one.text) for one in others if one != old)


def is_narrower(quote: Statement, old: Statement, new: Statement, others: Iterable[Statement]) -> bool:
    """Whether words hold for a part of what a memory speaks of, and the new text does not say for which.

    Only beside the value that they bring. Where the memory tells that part from others, the value of that part has to go.
    """
    if _ONLY_THERE.search(quote.text) and not _ONLY_THERE.search(f"{old.text} {new.text}"):
        return True
    known = new.stems.union(old.stems, *(one.stems for one in others))
    brought = [one for one in new.values if one not in old.values]
    gone = [one for one in old.values if one not in new.values]
    for clause in _CLAUSE.split(quote.text):
        if brought and not any(one in clause.lower() for one in brought):
            continue
        for match in _RESTRICTING.finditer(clause):
            where = (match["where"] or "").lower()
            if not where:
                if not re.search(rf"(?i)\b{re.escape(match[0])}\b", f"{old.text} {new.text}"):
                    return True
            elif match["all"] or is_number(where) or _WHEN.fullmatch(where) or _NO_MODIFIER.fullmatch(where):
                continue
            elif not {stem(where), where} & known or (
                gone and not re.match(r"\s*\d", clause[match.end() :]) and _is_elsewhere(where, gone, old)
            ):
                return True
    return False


def _is_elsewhere(where: str, gone: list[str], old: Statement) -> bool:
    """Whether a statement names a part, and the values that go are not that part's."""
    clauses = [one.lower() for one in _MEMBER.split(old.text)]
    own = [one for one in clauses if where in one]
    return (
        len(clauses) > 1
        and any(re.search(r"\d", one) for one in own)
        and not any(v in one for one in own for v in gone)
    )


def is_in_other_units(quote: Statement, new: Statement) -> bool:
    """`6000 requests per hour` is not `6000 requests per minute`."""
    said = {match["value"]: match["unit"].lower() for match in _NAMED_UNIT.finditer(quote.text)}
    told = {match["value"]: match["unit"].lower() for match in _NAMED_UNIT.finditer(new.text)}
    return any(stem(said[value]) != stem(told[value]) for value in said.keys() & told.keys())


def is_one_of_its_kind(old: Statement) -> bool:
    """`version 2.4 is the last one with it`: no other value can stand there."""
    return bool(_ONE_OF_ITS_KIND.search(old.text))


def is_taken_back(words_said: Evidence, said: Iterable[Said]) -> bool:
    """Whether something said later takes words back: soon after them in the same session, or of the same thing anywhere."""
    if words_said.said_at is None:
        return False
    words = {stem(one.lower()) for one in _WORD.findall(words_said.quote) if len(one) > _LOOKS_AHEAD}
    soon = 0
    for message in said:
        if message.said_at is None or message.said_at <= words_said.said_at:
            continue
        is_here = message.session_id == words_said.session_id
        is_near = is_here and soon < _LOOKS_AHEAD
        soon += is_here
        shared = words & {stem(one.lower()) for one in _WORD.findall(message.text) if len(one) > _LOOKS_AHEAD}
        if (is_near or len(shared) >= _LOOKS_AHEAD) and _TAKEN_BACK.search(message.text):
            return True
    return False


def _modified(text: str) -> dict[str, set[str]]:
    """Words, and those that stand right before them and tell which one is meant."""
    found: dict[str, set[str]] = {}
    for match in re.finditer(r"([^\W\d_]+(?:-[^\W\d_]+)*) ([^\W\d_]+(?:-[^\W\d_]+)*)", text.lower()):
        _note(found, *match.groups())
    for match in re.finditer(r"(?<=[\w-] )([^\W\d_]+(?:-[^\W\d_]+)*) ([^\W\d_]+(?:-[^\W\d_]+)*)", text.lower()):
        _note(found, *match.groups())
    return found


def _note(found: dict[str, set[str]], before: str, noun: str) -> None:
    is_telling = len(before) >= _LOOKS_AHEAD and not (
        is_number(before) or _NO_MODIFIER.fullmatch(before) or _VERBAL.fullmatch(before)
    )
    if is_telling and len(noun) > _LOOKS_AHEAD and not _NO_MODIFIER.fullmatch(noun):
        found.setdefault(stem(noun), set()).add(before)
