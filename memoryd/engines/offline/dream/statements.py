"""What the user stated since then: own sentences that were meant, with what they change and what they say stays. Pure.

A question, a joke, a supposition, a quotation changes nothing, and neither does what the next message takes back.
"""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.evidence import without_quotations
from memoryd.engines.offline.compose import as_sentence, without_opening
from memoryd.engines.offline.dates import day_of, with_absolute_dates
from memoryd.engines.offline.dream.dating import settled
from memoryd.engines.offline.dream.values import values_in
from memoryd.engines.offline.dream.wording import clauses_of
from memoryd.engines.offline.features import cues_of
from memoryd.engines.offline.person import about_the_user
from memoryd.engines.offline.sentences import sentences_of, without_secrets
from memoryd.engines.offline.subjects import is_all_about_it, speaks_of, takes_back
from memoryd.engines.offline.wishes import is_never_meant
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from memoryd.engines.offline.dream.values import Value
    from memoryd.model import Said

_QUOTED = re.compile(
    r"«[^»]{20,}»|“[^”]{20,}”|„[^“”]{20,}[“”]|\"[^\"\n]{20,}\"|(?<!\w)'[^'\n]{30,}'(?!\w)|「[^」]{12,}」|《[^》]{12,}》"
)
"""What stands in marks and is longer than a name are somebody's words, not the user's."""
_NOT_MEANT = re.compile(
    r"(?i)\b(?:would|wouldn't|I'd (?!rather|prefer|like|love|want)|could|couldn't|should we|what if|if (?:we|i|you|the|it)\b.*\b(?:were|had|would)|imagine|one can dream|perhaps|maybe|hypothetically"
    r"|wär\w*|würde\w*|könnte\w*|vielleicht|tal vez|quizás?|podríamos|si \w+(?:áramos|iéramos)|on devrait|tu crois|peut-être)\b|[?？]\s*$|[:;]-?\)"
    r"|会怎么样|会不会|要是|如果|也许|可能|たら.{0,12}(?:か|かね)[。？]?$|でしょうか|ますか|ですか|かもしれ"
)
_BY_OTHERS = re.compile(
    r"(?i)\b(?:PR|pull request|ticket|issue|page|blog|article|slides?|commit|script|config|comment|template|student|website|forum|readme|docs?|log|post|bot|linter|tool) (?:says?|said|claims?|tells|mentions?|writes|wrote)\b"
    r"|\b(?:thinks|believes|reckons|suggests|proposes|proposed)\b"
)
_TAKES_IT_BACK = re.compile(
    r"(?i)^\W*(?:(?:k|ok|okay|hm+|uf|ah|oh|so|then|yes|true|right|well|haha|no|nah|oui|bon|oui bon|嗯|ですよね)\b[\s,.!。，]*)*"
    r"(?:(?:just )?(?:leave|forget|drop|scrap|skip) (?:it|that|i asked|this)|never ?mind|we'?ll see|(?:but )?no plans|(?:i )?(?:was )?(?:just|only) (?:wondering|asking|a thought|thinking)|i only (?:ask|wanted)"
    r"|(?:so )?we keep|then like it is|like it is|as it was|nor do i|not this (?:decade|year|time)|one it is|déjalo|no,? déjalo|mejor no|laisse|on n'y touche pas|on garde"
    r"|lass es|bleibt wie es ist|vergiss|那?就?算了|那不动|不改了|随口|我?就问问|言ってみただけ|やめておき|やっぱりいい|interesting, but no)"
)
_MISREAD = re.compile(
    r"(?i)\b(?:(?:mis)?read (?:it|that) wrong|misread|my mistake|i was wrong|(?:was|got) (?:it |that )?wrong|mixed (?:it|them|that) up|verlesen|falsch gelesen|me equivoqué|leí mal"
    r"|je me suis trompée?|mal lu)\b|看错|记错|搞错|読み間違え|勘違い"
)
"""What was said just before is not so; what this says instead is."""
_NO_JOKE = re.compile(r"(?i)\b(?:not|no|kein|sin|pas de) (?:kidding|joking|jokes?|Scherz|broma|blague)\b")
_HOLD_ON = re.compile(
    r"(?i)^\W*(?:(?:no|oh|ah|sorry|hm+)[\s,]+)?(?:wait|hold on|stop|halt|moment|warte|espera|attends|等等|等一下|待って)\b"
)
_AS_BEFORE = re.compile(
    r"(?i)\b(?:as before|as it was|stays?|back to (?:the )?(?:old|normal)|wie vorher|como antes|comme avant)\b|照旧|元通り"
)

CHANGES = re.compile(
    r"(?i)\b(?:now|from (?:\w+day on(?:wards?)?|now|today|tonight|tomorrow|this (?:week|month|morning))(?: on)?|by now|as of|since (?=\d{4}-)|since (?!\d)(?!we\b|it\b|they\b|you\b|i\b)|new \w+(?:-\w+)?(?=(?:[,:](?: [^\W\d_]{1,9}\.?)?| is| are)? \S*\d)|moved?|moves to|changed|changes to|instead(?: of)?|rather than"
    r"|bumped|upgraded|downgraded|migrated|swapped|pushed (?:back|out|to)|brought forward|(?:got|gets|is|are) (?:\w+ )?(?:longer|shorter|pushed|shifted|doubled|halved)|stays? \w+,? (?:until|till)|\w+ (?:more|extra) (?:days?|weeks?)|another \w+ (?:days|weeks)"
    r"|no longer|no more|any ?more|back (?:to|on|in)|raised|lowered|reduced|increased|later|earlier|prolonged|extended|delayed|postponed|late|runs on|replaced|renamed|switched|is out|are out|again|correction|correct(?:ed)?"
    r"|was (?:a )?(?:mistake|nonsense|wrong)|is off|decided|decision|final|took over|takes over|retired|left|went to|belongs? (?:in|to)|confirmed|the rest|rest stays"
    r"|jetzt|erst (?:um|ab|am)|ab (?:heute|sofort|morgen|jetzt)|seit (?:heute|gestern)|statt|nicht mehr|neu(?:e[rsnm]?)?|verschoben|verlängert|geändert|umgezogen|künftig"
    r"|ahora|desde (?:hoy|ayer|ahora)|a partir de|ya no|en vez de|en lugar de|se (?:alarga|retrasa|adelanta|aplaza|cambia|mueve)|nuev[oa]s?|jubilad[oa]|cambió"
    r"|maintenant|désormais|dorénavant|à partir de|dès|depuis hier|au lieu de|ne \w+ plus|plus le|nouve(?:au|lle)|repoussée?|prolongée?|reportée?|avancée?|déménagé)\b"
    r"|改成|改为|改到|改了|改名|换成|换到|现在|以后|起改|推迟|提前到|延期|定了|搬到|离职|退休|休产假|延び|変更|になりました|に変わ|から.{0,8}になり|移りました|早まり"
)
"""Words that say how something is from now on."""
_WEAK = re.compile(
    r"(?i)\b(?:(?<!from )now|new|again|back (?:to|on|in)|since|left|went to|final|jetzt|neu(?:e[rsnm]?)?|ahora|nuev[oa]s?|maintenant|nouve(?:au|lle))\b|\b(?:i|we|you) (?:moved|changed|renamed|replaced|switched|corrected|bumped|upgraded|migrated|swapped)\b"
)
_STAYS = re.compile(
    r"(?i)\b(?:stay(?:s|ed)?|remain(?:s|ed)?|unchanged|(?:as|like|how) (?:before|ever|always|it is|it was|is|they are)|(?:the )?same(?! (?:goes|applies|rule|here))|still"
    r"|bleib(?:t|en)|gleich|unverändert|wie (?:bisher|gehabt|immer)|sigue[n]? igual|igual|como (?:siempre|antes)|lo demás|toujours|comme avant|inchangée?|pareil)\b"
    r"|不变|没变|不动|照常|照旧|一样|これまで通り|今まで通り|そのまま|変わりません|変わらない"
)
_IS_FORMER = re.compile(
    r"(?i)(?:\b(?:not|instead of|rather than|can(?:'t|not) (?:open|read|use|take)|no longer|former(?:ly)?|was|were|used to be|than|statt|anstatt|nicht mehr|war|en vez de|en lugar de|ya no|era|au lieu de|plus|était|pas)"
    r"(?:\s+(?:the|at|on|in|a|an|le|la|les|el|las|los|der|die|das|dem|den|am|um|auf|de|à|a))*\s+`?|不是|不再|原来的?|原本)$"
)
_IS_FORMER_BEHIND = re.compile(
    r"(?i)(?:\s+\w+){0,4}\s+(?:was|were|got|became) (?:a |an )?(?:mistake|wrong|nonsense|error|typo|too \w+)\b|\s*(?:\w+\s)?(?:was|were|(?:is|are) (?:all )?(?:out|gone|replaced|history|closed|dead|deprecated)|had been|didn't|war|era|était)\b|\S{0,2}(?:还是)?太|ではなく|じゃなくて"
)
_FROM_TO = re.compile(r"(?i)\b(?:from|von|de) (?P<old>\S+(?: \w{1,8})?) (?:to|auf|a|à) (?=\S*\d)")
_STAYS_UNTIL = re.compile(r"(?i)\bstays? (?P<how>\w+),? (?=(?:until|till)\b)")
"""What stays until another day does not stay as it was."""
_ONLY_NOW = re.compile(
    r"(?i)\b(?:for now|for the moment|this time|just this once|in this (?:one|test|file|function|notebook|branch|pr|commit)|while|diesmal|esta vez|cette fois)\b|这次|今回だけ"
)


_FEW = 5
_PLEASE_NOTE = re.compile(r"(?i)^(?:please note|for your info(?:rmation)?|good news|bad news)[:,]\s*")
_EXCEPTION = re.compile(r"(?i)^(?:that|this)(?: one)? is the exception[:,]\s*")
_SOURCE = re.compile(
    r"(?i)\b(?:told me|tells me|wrote|said so|just said|confirmed it|has confirmed|(?:knows|agrees|agreed)(?: and (?:knows|agrees))?$)"
)
_IN_FROM = re.compile(r"(?i)\bin (\w+ (?:days|weeks)) from (today|now)\b")
_END_AND_DAY = re.compile(r"(?i)\b(end of \w{3,9}),? (?:the )?(?:28|29|30|31)(?:st|th)\b")


class Statement(NamedTuple):
    """One sentence of the user, as said and with its days made absolute."""

    said: Said
    day: date
    quote: str
    text: str
    stays: str
    """What the message says stays as it is."""
    about: str
    """All that was meant in its message: what a sentence is about may stand in the one before."""
    before: str = ""
    """The sentence before it."""

    @property
    def says_it_changed(self) -> bool:
        """Whether it says how something is from now on; a few words before it may say so: "good news, they prolonged!"."""
        is_announced = len(self.before.split()) <= _FEW and bool(CHANGES.search(self.before))
        return (is_announced or bool(CHANGES.search(self.quote))) and not _ONLY_NOW.search(self.quote)

    @property
    def is_firm(self) -> bool:
        """Whether it says so of the whole sentence. "Now" says it only of the clause it stands in: "now it works"."""
        is_announced = len(self.before.split()) <= _FEW and bool(CHANGES.search(self.before))
        return is_announced or bool(CHANGES.search(_WEAK.sub("", self.quote)))

    @property
    def new_values(self) -> tuple[Value, ...]:
        """What holds now."""
        return _values_now(self.text, self.day)

    @property
    def former_values(self) -> tuple[Value, ...]:
        """What the sentence says holds no longer."""
        return _values_before(self.text)

    @property
    def told(self) -> str:
        """The sentence as a memory tells it: without its opening, of the user in the third person."""
        opened = _EXCEPTION.sub("Exception: ", without_opening(_PLEASE_NOTE.sub("", self.quote)))
        text, _ = about_the_user(settled(dated(opened, self.day)), is_first=True)
        return as_sentence(text)

    @property
    def subject(self) -> str:
        """The sentence without who told it, and without what it says stays."""
        return _subject_of(self.text)


# Memories are held against one statement after the other: what is in it is looked at once.


@lru_cache(maxsize=256)
def _values_now(text: str, day: date) -> tuple[Value, ...]:
    spans = [span for span in clauses_of(text) if not is_staying(text[slice(*span)])]
    return tuple(
        value
        for value in values_in(text)
        if any(start <= value.start < end for start, end in spans)
        and not _is_former(text, value)
        and not (value.kind == "date" and value.number <= day.isoformat())
    )


@lru_cache(maxsize=256)
def _values_before(text: str) -> tuple[Value, ...]:
    return tuple(value for value in values_in(text) if _is_former(text, value))


@lru_cache(maxsize=256)
def _subject_of(text: str) -> str:
    clauses = [text[start:end] for start, end in clauses_of(text)]
    return " ".join(one for one in clauses if not _SOURCE.search(one) and not is_staying(one)) or text


_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
_RECURS = re.compile(
    rf"(?i)\b(?:from now on|going forward|every|each|always|never|usually|ab jetzt|ab sofort|künftig|immer|jeden?)\b.*\b(?:{_WEEKDAY})\b"
    rf"|\b(?:runs?|deploys?|ships?|happens?|meets?|starts?|goes? out|comes? in|picks? up|laufen|läuft)\b[^.,]{{0,20}}\b(?:{_WEEKDAY})\b"
)
_RELATIVE = re.compile(
    r"(?i)\b(?:next|this|last|coming|tomorrow|today|yesterday|ago|weeks?|months?|nächste\w*|letzte\w*|morgen|gestern|woche\w*)\b|\d"
)


def dated(text: str, day: date) -> str:
    """The text with absolute dates, also where it says "in two weeks from today" or "end of March, the 31st".

    A bare weekday of what recurs means no day: "backups run on Saturday now".
    """
    if _RECURS.search(text) and not _RELATIVE.search(text):
        return text
    return with_absolute_dates(_END_AND_DAY.sub(r"\1", _IN_FROM.sub(r"\1 from \2", text)), day)


def own_words(said: Said) -> Said:
    """The message without what the user only passed on: quotations, pasted pages, secrets."""
    return said._replace(text=_QUOTED.sub(" ", without_quotations(redact(said.text))))


def meant(said: Sequence[Said]) -> list[Said]:
    """The messages in their order without those that the next message of the same session takes back, and without that."""
    gone: set[str] = set()
    last: dict[str, Said] = {}
    seen: list[Said] = []
    for one in said:
        before = last.get(one.session_id)
        if before is not None and (_takes_back(one.text) or _MISREAD.search(one.text)):
            gone.add(before.message_id)
        if _takes_back(one.text):
            gone.add(one.message_id)
        gone.update(_named_back(one, seen))
        seen.append(one)
        last[one.session_id] = one
    return [one for one in said if one.message_id not in gone]


def _named_back(one: Said, before: Sequence[Said]) -> set[str]:
    """The messages that one takes back by a name: "scrap what I said about the deadlines"."""
    named = next((name for is_meant_so, name in map(takes_back, sentences_of(one.text)) if is_meant_so and name), "")
    return {earlier.message_id for earlier in before if named and speaks_of(earlier.text, named)}


def _takes_back(text: str) -> bool:
    if _TAKES_IT_BACK.match(text) or (takes_back(text)[0] and not takes_back(text)[1] and is_all_about_it(text)):
        return True
    return bool(_HOLD_ON.match(text)) and bool(_AS_BEFORE.search(text)) and not CHANGES.search(text)


def statements_in(said: Said) -> list[Statement]:
    """The sentences of a message that were meant as they stand."""
    day = day_of(said.said_at) if said.said_at is not None else None
    if day is None:
        return []
    sentences = [one for one in map(without_secrets, sentences_of(said.text)) if one]
    kept: list[str] = []
    for sentence in sentences:
        if "joke" in cues_of(sentence) and len(sentence.split()) <= 3 and kept:  # noqa: PLR2004 - "lol." is about what stands before
            kept.pop()
        elif is_meant(sentence):
            kept.append(sentence)
    stays = "; ".join(
        _STAYS.sub(" ", sentence[start:end])
        for sentence in sentences
        for start, end in clauses_of(sentence)
        if is_staying(sentence[start:end])
    )
    about = " ".join(kept)
    return [
        Statement(
            said,
            day,
            one,
            _FROM_TO.sub(r"instead of \g<old> to ", _STAYS_UNTIL.sub(r"now is \g<how> ", dated(one, day))),
            stays,
            about,
            kept[number - 1] if number else "",
        )
        for number, one in enumerate(kept)
    ]


def is_meant(sentence: str) -> bool:
    """Whether a sentence asserts something."""
    sentence = _NO_JOKE.sub("", sentence)
    cues = cues_of(sentence)
    if _BY_OTHERS.search(sentence):
        return False
    if {"joke", "hedge", "hypothetical"} & set(cues) or takes_back(sentence)[0]:
        return False
    # "Do not …" is no question, although it begins like one.
    return not (
        is_never_meant(re.sub(r"^Do not\b", "Never", sentence, flags=re.IGNORECASE)) or _NOT_MEANT.search(sentence)
    )


def is_all_staying(sentence: str) -> bool:
    """Whether a sentence says nothing but that things are as they were."""
    return all(is_staying(sentence[start:end]) for start, end in clauses_of(sentence))


def is_staying(clause: str) -> bool:
    """Whether a clause says that something is as it was."""
    return bool(_STAYS.search(clause)) and not re.search(
        r"(?i)\b(?:now|instead|from (?:now|today)|jetzt|ahora|maintenant)\b|现在|改", clause
    )


def _is_former(text: str, value: Value) -> bool:
    return bool(_IS_FORMER.search(text[max(0, value.start - 40) : value.start])) or bool(
        _IS_FORMER_BEHIND.match(text, max(value.end, value.unit_end))
    )
