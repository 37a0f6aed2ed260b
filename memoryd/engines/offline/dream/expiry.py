"""What has ended is taken away: a project memory whose own end has passed, and which says nothing else.

1. Every date in it lies in the past, and what it says is tied to an end: "until", "from … to …", or a one-time event.
2. Nothing in it tells of a beginning or a change: those hold on.
3. Why and how serve that time only. A limit, a format, a thing that always holds, and it stays as a whole.
4. Nobody has just said that it goes on.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from memoryd.engines.offline.compose import is_without_spaces
from memoryd.engines.offline.dates import day_of
from memoryd.engines.offline.dream.naming import called
from memoryd.engines.offline.dream.parts import parts_of, statements_of
from memoryd.engines.offline.sentences import sentences_of
from memoryd.engines.offline.subjects import subject_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.model import Said

_MARGIN = timedelta(days=1)
"""Somebody may still be at it, or live where the day ends later."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar enero janvier",
            "february februar febrero février",
            "march märz marzo mars",
            "april abril avril",
            "may mai mayo",
            "june juni junio juin",
            "july juli julio juillet",
            "august agosto août",
            "september septiembre septembre",
            "october oktober octubre octobre",
            "november noviembre novembre",
            "december dezember diciembre décembre",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"(?i)\b(?P<y>\d{{4}})[-/](?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}})\b|(?P<y2>\d{{4}}) ?年 ?(?P<m2>\d{{1,2}}) ?月 ?(?P<d2>\d{{1,2}}) ?日"
    rf"|\b(?P<d3>\d{{1,2}})\.(?P<m3>\d{{1,2}})\.(?P<y3>\d{{4}})\b"
    rf"|\b(?P<d4>\d{{1,2}})(?:st|nd|rd|th|\.|er)? (?:de |of )?(?P<m4>{_MONTH}),? (?:de |del )?(?P<y4>\d{{4}})\b"
    rf"|\b(?P<m5>{_MONTH}) (?P<d5>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y5>\d{{4}})\b"
)
_YEAR = re.compile(r"(?<![\d.,:/-])(?:19|20)\d\d(?![\d:])")
_UNSURE = re.compile(
    rf"(?i)\b(?!may\b|mars\b)(?:{_MONTH})\b|\b(?:tomorrow|next|morgen|nächste\w*|mañana|próxim\w+|demain|prochaine?)\b|\d ?月|[明来下]年|明天|下周|来週|来月"
)
"""Beside the dates: a time that is not told as one, and may be still to come."""

_DAY, _ENDED = "\x00", "\x01"
_RANGE = re.compile(
    rf"(?i)(?:\b(?:from|between|vom|von|del|desde el|de|du|从|自)\s*)?{_DAY}\s*(?:to|until|till|through|and|bis|bis zum|al|a|hasta el|hasta|au|-|–|—|到|至|から|〜|~)\s*{_DAY}(?:まで|为止|止)?"  # noqa: RUF001
)
_END = re.compile(
    rf"(?i)\b(?:until|till|til|through|up to|bis(?: zum| einschließlich)?|hasta(?: el)?|jusqu['’]au)\s*{_DAY}|(?:截至|直到|到|至)\s*{_DAY}(?:为止|止)?|{_DAY}\s*(?:まで|为止|止)"  # noqa: RUF001
    rf"|\b(?:delete|deleted|removed|disabled|goes back|go back|returned|gelöscht|entfernt|abgeschaltet)\b[^.;\x00]{{0,20}}\bon {_DAY}|\bam {_DAY} (?:gelöscht|entfernt|abgeschaltet)"
)
_EVENT = re.compile(
    r"(?i)\b(?:premiere|demo|fair|polling day|election|visit|concert|workshop|conference|exam|inspection|rehearsal|party|gala|regatta|race|tournament|ceremony|festival|webinar|meetup|wedding|screening|excursion|hackathon|trip|talk|tour|open day|training|power cut|outage window|maintenance|stocktaking"
    r"|messe|besuch|konzert|wahl|prüfung|vorführung|tagung|schulung|begehung|wartung|feria|visita|concierto|elecciones|examen|jornada|foire|visite|concert|élections|réunion|formation)\b|展会|演出|考试|演练|参观|見学|公演|試験|訓練"
)
_IN_THAT_TIME = re.compile(
    r"(?i)\b(?:until|till|by) (?:then|the|it|that)\b|\bduring\b|\bin that time\b|\bon that day\b|\bthese (?:days|weeks)\b|\bmeanwhile\b|\bas long as\b|\bbis dahin\b|\bbis zu[rm]\b|\bwährend\b|\bsolange\b|\bin dieser zeit\b"
    r"|\bhasta (?:entonces|que|el|la)\b|\bmientras\b|\bdurante\b|\bjusque-là\b|\bjusqu['’]|\bpendant\b|\btant que\b|期间|届时|当天|当日|その間|期間中|それまで"  # noqa: RUF001
)
_BEGINS = re.compile(
    rf"(?i)(?<!until )(?<!by )(?<!till )\bthen\s+\w|\b(?:danach|anschließend|luego|después|ensuite|puis)\b|之后|その後|\b(?:since|as of|starting|effective|seit|ab|desde|a partir|depuis|dès|à partir)\b|\b(?:from|for \w+ years from)\s*{_DAY}|[自从]\s*{_DAY}|{_DAY}\s*(?:起|开始|から|以降|より)"
    r"|\b(?:moves?|moved|switch\w*|(?<!no )(?<!keine )(?:changes|changed)|migrat\w*|replac\w*|becomes?|opens|opened|starts|started|begins|began|launch\w*|go(?:es)? live|introduc\w*|successor|instead|results?:|new version|ends|ended|expires|closes"
    r"|wechsel\w*|umgestellt|startet|beginnt|öffnet|ersetzt|endet|läuft ab|cambia|empieza|comienza|abre|sustituye|termina|vence|passe|remplace|ouvre|commence|devient|expire|se termine)\b|切换|启用|上线|改为|取代|到期|開始|移行|終了"
)
_SINCE = re.compile(
    rf"(?i)\b(?:since|from|as of|seit|ab|desde|a partir|depuis|dès)\s(?:dem |el |le )?{_DAY}|{_DAY}\s*(?:起|から|以降)"
)
_LASTING = re.compile(
    r"(?i)\b(?:always|every|each|whatever|all the time|generally|in general|later|too|also|as well|still|holds?|forever|permanent\w*|from now on|afterwards|regardless|years?|at least|at most|maximum|minimum|limit\w*|format\w*"
    r"|immer|jede[rnms]?|auch|weiterhin|dauerhaft|künftig|grundsätzlich|noch|mindestens|höchstens|jahre?|siempre|cada|también|todavía|aún|años?|como máximo|al menos|toujours|chaque|aussi|encore|désormais|ans|au moins|au plus)\b"
    r"|总是|每|也|仍|一直|以后|今后|始终|至少|最多|不得|常に|毎|いつも|今後|ずっと|以上|以下"
)
_PRECISE = re.compile(
    r"`[^`]*[./()][^`]*`|https?://|\b[\w-]+\.\w{2,}/|\d[.,]\d|\d+ ?(?:%|°|(?!(?:on|of|in|at|to|for|and|or|by|is|am|im|an|und|de|en|el|y|du|au|et|le|la)\b)[^\W\d_]{1,4}\b|[^\W\d_]+/)|\b[A-Z]{2,}\b|\b(?=\w*\d)(?=\w*[A-Za-z])\w+\b|\b[A-Za-z]+-\d"
)
"""A file, an address, a quantity, a format: what tends to hold longer than the day."""
_STATES = re.compile(
    r"(?i)\b(?:is|are|was|were|has|have|wants?|needs?|uses|reads|can|cannot|must|does|takes|gets|gives|expects?|requires?|supports?|ist|sind|hat|haben|braucht|muss|kann|nimmt|es|son|está|tiene|quiere|necesita|puede|est|sont|veut|doit|peut|prend)\b|n['’]t\b|[是有要需]|です|ある|必要"  # noqa: RUF001
)
_POINTS_BACK = re.compile(r"(?i)\b(?:it|them|sie|ihn)[.!]?\Z")
_MOST_WORDS_HOW = 7
_MOST_WORDS_POINTING = 10
_MOST_WORDS = 22
_GOES_ON = re.compile(
    r"(?i)\b(?:until|till|til|extend\w*|prolong\w*|delay\w*|postpone\w*|late|runs? on|longer|not (?:finished|done|over)|n['’]t (?:finished|done|over)|still|except|bis|verlänger\w*|verschob\w*|verspät\w*|länger|noch|hasta|prorrog\w*|ampl[ií]\w*|retras\w*|todavía|sigue|jusqu\w*|repouss\w*|report\w*|encore|retard\w*)\b"  # noqa: RUF001
    r"|延|推迟|直到|还没|まで|まだ"
)
_SUPPOSED = re.compile(r"(?i)\b(?:if|suppose|would|wenn|falls|würde|si|quand)\b|如果|もし")

_HEAD_WORDS = 4
_SPOKEN_OF = 2
"""So many words of a memory in one message: it is spoken of."""


def archive(drafts: list[Draft], now: float, said: Sequence[Said] = ()) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change. `said` is what may tell that something goes on."""
    today = day_of(now)
    if today is None:
        return
    for draft in drafts:
        if (
            draft.type == "project"
            and draft.files
            and not (draft.is_fixed or draft.is_archived or draft.evidence)
            and draft.reason in {None, "dated"}
            and _is_over(draft, today)
            and not _goes_on(draft, said)
        ):
            draft.is_archived = True
            yield draft.change("expired", f"Archiving the {called(draft)}")


def _is_over(draft: Draft, today: date) -> bool:
    whole = f"{draft.description}\n{draft.body}"
    dates = [_day(match) for match in _DATE.finditer(whole)]
    if not dates or any(on is None or on + _MARGIN >= today for on in dates):
        return False
    if any(int(year) >= today.year for year in _YEAR.findall(_DATE.sub(" ", whole))):
        return False
    parts = parts_of(draft.body)
    facts = [_with_ends(one) for one in (draft.description, *statements_of(parts.fact))]
    if _LASTING.search(_DATE.sub(" ", whole)) or not parts.fact:
        return False
    lead = facts[0]
    if len(set(dates)) == 1 and any(map(_is_event, facts[1:])):
        lead = lead.replace(_DAY, _ENDED)  # the day of the event, however the description calls it
    return (
        all(map(_is_of_that_time, (lead, *facts[1:])))
        and any(_ENDED in fact or _is_event(fact) for fact in facts[1:])
        and all(_is_only_for_it(one, parts.fact) for one in statements_of(parts.why))
        and all(_is_only_for_it(one, parts.fact) and _is_brief(one) for one in statements_of(parts.how))
    )


def _day(match: re.Match[str]) -> date | None:
    found = {name[0]: value for name, value in match.groupdict().items() if value}
    month = _MONTHS.get(found["m"].lower()) or int(found["m"])
    try:
        return date(int(found["y"]), month, int(found["d"]))
    except ValueError:
        return None


def _with_ends(text: str) -> str:
    """The text with a sign for each date, and another one where something ends."""
    return _END.sub(_ENDED, _RANGE.sub(_ENDED, _DATE.sub(_DAY, text)))


def _is_of_that_time(fact: str) -> bool:
    """Whether a fact holds for that time only. A date that is no end has to be the day of an event."""
    if _BEGINS.search(fact) or _UNSURE.search(fact) or (_DAY in fact and not _is_event(fact)):
        return False
    # "Closed at the tunnel; detour until …": what stands in front may count on the end, what stands behind may not.
    *_, last = re.split(r"[;；]\s*|\s[—–]\s", fact)  # noqa: RUF001
    return any(sign in last for sign in (_DAY, _ENDED)) or bool(_IN_THAT_TIME.search(last))


def _is_event(fact: str) -> bool:
    return _DAY in fact and bool(_EVENT.search(fact))


def _is_only_for_it(statement: str, fact: str) -> bool:
    """Whether a reason or a way to apply it tells nothing that could be of use without it."""
    new = " ".join(word for word in statement.split() if word.strip(".,;:`") not in fact)
    return (
        not _PRECISE.search(_DATE.sub(" ", new))
        and not _SINCE.search(_DATE.sub(_DAY, statement))
        and _words(statement) <= _MOST_WORDS
    )


def _is_brief(how: str) -> bool:
    """Whether a way to apply it names its time; or is so short, and so far from stating anything, that it has none."""
    if _IN_THAT_TIME.search(how):
        return True
    if re.search(r"[;:；：]", how):  # noqa: RUF001
        return False
    if _POINTS_BACK.search(how):
        return _words(how) <= _MOST_WORDS_POINTING
    return _words(how) <= _MOST_WORDS_HOW and not _STATES.search(how)


def _words(text: str) -> int:
    return len(re.findall(r"\w", text)) // 2 if is_without_spaces(text) else len(text.split())


def _goes_on(draft: Draft, said: Sequence[Said]) -> bool:
    """Whether somebody may have said of it that it goes on: what its description begins with is enough to go by."""
    subject = subject_of(f"{draft.description}\n{parts_of(draft.body).fact}")
    head = subject_of(" ".join(_DATE.sub(" ", draft.description).split()[:_HEAD_WORDS]))
    if is_without_spaces(draft.description):
        head = subject
    for one in said:
        told = [sentence for sentence in sentences_of(one.text) if not _SUPPOSED.search(sentence)]
        words = subject_of(" ".join(told))
        if any(map(_GOES_ON.search, told)) and (head & words or len(subject & words) >= _SPOKEN_OF):
            return True
    return False
