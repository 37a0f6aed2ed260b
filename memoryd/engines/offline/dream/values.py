"""The values in a text: numbers with what they count, times, dates, weekdays, names of hosts and files. Pure.

A value has a slot: what kind it is, and of what. "Open at 27 °C" and "25 degrees from today" fill the same one, and so do
"nine hives" and "eleven hives now"; "bays 4 to 9" and "2 K below" do not.
"""

# ruff: noqa: RUF001 (punctuation and digits of other scripts)

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from memoryd.engines.offline.date_words import ENGLISH, FRENCH, GERMAN, LANGUAGES, SPANISH
from memoryd.engines.offline.dream.wording import is_small, stem_of


class Value(NamedTuple):
    kind: str
    """`date`, `time`, `weekday`, `share`, `number`, `channel`, `file`, `address`, `name` or `format`."""
    number: str
    """What it is, however it is written; empty where the text says that it is still open."""
    start: int
    end: int
    unit: str = ""
    """Of what: a unit, or the stem of the noun behind."""
    label: str = ""
    """The stem of the word before: "hall" in "hall 5"."""
    is_measured: bool = False
    """Its unit is one of those that things are measured in."""
    unit_end: int = 0
    """Where the unit behind it ends."""


_UNITS = {
    "ms": "ms|millisecond|milliseconds|Millisekunden|毫秒",
    "s": "s|sec|secs|second|seconds|Sekunde|Sekunden|segundo|segundos|seconde|secondes|秒",
    "min": "min|mins|minute|minutes|Minute|Minuten|minuto|minutos|分钟|分鐘|分",
    "h": "h|hour|hours|hrs|Stunde|Stunden|hora|horas|heure|heures|小时|小時|時間",
    "day": "day|days|Tag|Tage|Tagen|día|días|jour|jours|天|日間",
    "night": "night|nights|Nacht|Nächte|noche|noches|nuit|nuits|晚",
    "week": "week|weeks|Woche|Wochen|semana|semanas|semaine|semaines|周|週間",
    "month": "month|months|Monat|Monate|mes|meses|mois|个月|個月|か月",
    "year": "year|years|Jahr|Jahre|año|años|an|ans|年",
    "°C": "°C|° C|°|C|degrees|degree|Grad|grados|degrés|度",
    "%": "%|percent|per cent|Prozent|por ciento|pour cent",
    "pixel": "px|pixel|pixels|Pixel",
    "digit": "位|桁",
} | {
    unit: unit
    for unit in [
        "K",
        "Hz",
        "kHz",
        "MHz",
        "GHz",
        "V",
        "A",
        "W",
        "kW",
        "kWh",
        "m",
        "cm",
        "mm",
        "km",
        "m²",
        "m³",
        "l",
        "ml",
        "t",
        "kg",
        "g",
        "mg",
        "km/h",
        "m/s",
        "kB",
        "MB",
        "GB",
        "TB",
        "kbit/s",
        "Mbit/s",
        "Gbit/s",
        "baud",
        "QPS",
        "rps",
        "dpi",
        "pt",
        "bar",
        "psi",
        "Pa",
        "mg/l",
        "g/m²",
        "mmol/l",
        "mg/dl",
        "hl",
        "EUR",
        "USD",
        "CHF",
        "€",
        "$",
        "kr",
        "K/min",
        "dB",
    ]
}
_UNIT = "|".join(re.escape(word) for words in _UNITS.values() for word in words.split("|"))
_UNIT = "|".join(sorted(_UNIT.split("|"), key=len, reverse=True))
_UNIT_NAMED = {word: unit for unit, words in _UNITS.items() for word in words.split("|")}
_COUNTED = {
    word: str(number)
    for language in (ENGLISH, GERMAN, SPANISH, FRENCH)
    for number, words in enumerate(language.numbers.split(), 1)
    for word in words.split("|")
    if number > 1
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "dreißig": "30", "treinta": "30"}
_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
_MEASURED_WITHOUT_SPACES = (
    "毫秒|秒|分钟|分鐘|分|小时|小時|時間|天|日間|晚|个月|個月|か月|年|度|位|桁|周|週間|次|人|個|个|台|件|回"
)

_MONTHS = "|".join(sorted({word for one in LANGUAGES if one.spaced for word in one.months.replace("|", " ").split()}))
_WEEKDAYS = {
    word: str(number)
    for language in LANGUAGES
    if language.spaced
    for number, words in enumerate(language.weekdays.split(), 1)
    for word in words.split("|")
    if len(word) > 3  # noqa: PLR2004 - "sat" and "mon" are other words as well
}
_WEEKDAY = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_NUMBER = r"\d{1,3}(?:,\d{3})+|\d+(?:[.,]\d+)?"
_EXTENSIONS = "csv|xlsx?|ods|json|ya?ml|toml|ini|md|txt|pdf|xml|sql|sqlite|db|py|ts|js|go|rs|sh|cfg|conf|geojson|parquet|log|html?"
_FORMATS = "csv|xlsx?|ods|json|ya?ml|toml|pdf|xml|sqlite|parquet|html|markdown|docx?|odt|svg|png|tiff?|jpe?g"
_OPEN = (
    r"(?:is |are )?not (?:yet )?(?:fixed|set|decided|known|settled|agreed)(?: yet)?|\bt\.?b\.?d\b|to be (?:decided|announced|fixed)"
    r"|steht noch nicht fest|noch offen|por (?:fijar|determinar|decidir)|sin fecha|pas encore (?:fixée?|connue?|décidée?)|à (?:fixer|définir)|待定|未定"
)

_TOKEN = re.compile(
    rf"(?P<open>{_OPEN})"
    r"|(?P<date>(?<!\d)\d{4}-\d\d-\d\d(?!\d)|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?[日号]"
    rf"|(?<![\w.])\d{{1,2}}\.? (?:de )?(?:{_MONTHS})\.?,? (?:de )?\d{{4}}|(?<!\d)\d{{1,2}} ?月 ?\d{{1,2}} ?[日号])"
    r"|(?P<range>(?<![\w.])(?:\d[\d.,]*|[A-Z]?\d+) ?(?:to|bis|–|-|~|〜|até|à) ?\d[\d.,]*\b|\b(?:between|zwischen|entre) \S+ (?:and|und|y|et) \d\S*)"
    r"|(?P<time>(?<![\d:T])\d{1,2}:\d\d(?![\d:])|(?<![\d:])\d{1,2}時半?)"
    r"|(?P<share>(?<![\w.])\d+ (?:of|out of|von|de|sur) (?:the |den |las? |los |les )?\d+\b)"
    r"|(?P<channel>(?<![\w/])#[a-z][\w-]+)"
    r"|(?P<mail>[\w.+-]{1,64}@[\w.-]+\w)"
    rf"|(?P<file>(?<![\w./@-])[\w-]+\.(?:{_EXTENSIONS})\b(?![./]))"
    r"|(?P<address>(?<![\w.@/])(?:https?://)?[a-z0-9][\w-]*(?:\.[a-z][\w-]*)+(?:/[\w./-]*\w)?)"
    r"|(?P<path>(?<!\w)[~.]?/?[\w.-]+/[\w./-]*)"
    r"|(?P<quoted>(?<=`)[a-z][\w-]*(?=`))"
    r"|(?P<name>(?<![\w.-])[a-z][a-z]*(?:-[a-z]+)*-?\d+\b(?![.:]\d))"
    rf"|(?P<format>(?<![\w./-])(?:{_FORMATS})(?![\w./-]))"
    rf"|(?P<weekday>\b(?:{_WEEKDAY})s?\b)"
    rf"|(?P<number>(?<![a-zA-Z0-9_.,:/#°-])(?:{_NUMBER})(?![\w.,:/-]*\d))\s?(?:(?P<unit>(?:{_UNIT})(?![\w/]))|(?:个)?(?P<unit_cjk>{_MEASURED_WITHOUT_SPACES})|(?=(?P<noun>[^\W\d_][\w-]+))?)"
    rf"|(?P<count_cjk>(?:半|[一二两兩三四五六七八九十]{{1,3}}))(?:个)?(?P<measure_cjk>{_MEASURED_WITHOUT_SPACES})"
    rf"|\b(?P<word>{'|'.join(sorted(_COUNTED, key=len, reverse=True))})\b(?:\s(?P<word_unit>(?:{_UNIT})(?![\w/]))|\s(?=(?P<word_noun>[^\W\d_][\w-]+))|(?= (?:was|were|is)\b))",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?i)([^\W\d_]\w+)[.:]?\s?[-(]?$|\bnew ([^\W\d_]\w+),\s$")
_CASED_UNITS = frozenset(
    ["m", "M", "k", "K", "c", "C", "g", "G", "s", "S", "t", "T", "v", "V", "a", "A", "w", "W", "h", "H", "l", "L"]
)


@lru_cache(maxsize=4096)
def values_in(text: str) -> tuple[Value, ...]:
    """The values of a text in their order. Ranges are none: which end is meant, nobody can tell."""
    found = []
    for match in _TOKEN.finditer(text):
        value = _value(match, text)
        if value is not None:
            found.append(value)
    return tuple(found)


def _value(match: re.Match[str], text: str) -> Value | None:
    kind = next(name for name, piece in match.groupdict().items() if piece)
    start, end = match.span(kind)
    if kind == "open":
        return Value("date", "", start, end)
    if kind == "date":
        return Value("date", _day(match[0]), start, end)
    if kind == "time":
        return Value("time", match[0].replace("時半", ":30").replace("時", ":00").rjust(5, "0"), start, end)
    if kind == "share":
        done, total = re.findall(r"\d+", match[0])
        return Value("share", done, start, start + len(done), unit=total)
    if kind == "quoted":
        return Value("name", match[0].lower(), start, end)
    if kind in ("channel", "file", "address", "name", "format"):
        return Value(kind, re.sub(r"^https?://", "", match[0].lower()), start, end)
    if kind == "weekday":
        word = match[0].lower()
        return Value("weekday", _WEEKDAYS.get(word) or _WEEKDAYS[word.removesuffix("s")], start, end)
    return _numeral(match, text) if kind in ("number", "count_cjk", "word") else None


def _numeral(match: re.Match[str], text: str) -> Value | None:
    before = _BEFORE.search(text, max(0, match.start() - 30), match.start())
    word = (before[1] or before[2]) if before is not None else ""
    label = "" if not word or is_small(word) or word.lower() in _COUNTED else stem_of(word)
    if label and not label[-1].isascii() and "\u3040" <= label[-1] <= "\u9fff":
        label = label[-2:]  # two characters are about a word
    if match["count_cjk"]:
        unit = _UNIT_NAMED.get(match["measure_cjk"], match["measure_cjk"])
        number = _from_characters(match["count_cjk"])
        return Value("number", number, *match.span("count_cjk"), unit, "", unit in _UNITS, match.end("measure_cjk"))
    piece, unit, noun = ("number", "unit", "noun") if match["number"] else ("word", "word_unit", "word_noun")
    number = match[piece].lower()
    number = _COUNTED.get(number) or _plain(number)
    start, end = match.span(piece)
    written = match[unit] or (match["unit_cjk"] if match["number"] else None)
    if written and not (written in _CASED_UNITS and written not in _UNIT_NAMED):
        named = _UNIT_NAMED.get(written) or _UNIT_NAMED.get(written.lower()) or written
        return Value("number", number, start, end, named, label, named in _UNITS, match.end())
    behind = match[noun]
    counted = "" if behind is None or is_small(behind) else stem_of(behind)
    if match["word"] and not (counted or label) and not re.match(r"\s(?:was|were|is)\b", text[end:]):
        return None
    return Value("number", number, start, end, counted, label)


def _plain(number: str) -> str:
    """The number without marks of thousands, with a point."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", number):
        return number.replace(",", "")
    return number.replace(",", ".")


def _from_characters(text: str) -> str:
    if text == "半":
        return "0.5"
    tens, ten, ones = text.rpartition("十")
    return str((10 * _DIGITS.get(tens, 1) if ten else 0) + _DIGITS.get(ones, 0))


def _day(text: str) -> str:
    """The day as `2026-10-28`; with `0000` where no year is told."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if re.search(r"[^\W\d_]{3,}", text):
        word = re.findall(r"[^\W\d_]{3,}", text.lower())[-1]
        month = next(
            number
            for language in LANGUAGES
            if language.spaced
            for number, words in enumerate(language.months.split(), 1)
            if word in words.split("|")
        )
        return f"{numbers[-1]:04}-{month:02}-{numbers[0]:02}"
    year, month, day = numbers if len(numbers) == 3 else (0, *numbers)  # noqa: PLR2004 - year, month, day
    return f"{year:04}-{month:02}-{day:02}"


def fills_the_slot_of(new: Value, old: Value) -> bool:
    """Whether one value can stand where the other does: the same kind of thing, and of the same things."""
    if new.kind != old.kind or new.number in ("", old.number):
        return False
    if new.kind == "share":
        return new.unit == old.unit
    if new.kind == "number":
        return _counts_the_same(new, old)
    return not (new.kind == "address" and new.number.startswith(old.number))


def _counts_the_same(new: Value, old: Value) -> bool:
    if new.is_measured and old.is_measured:
        return new.unit == old.unit
    if new.is_measured or old.is_measured:
        # "The warning comes at 40": a bare number may leave out the unit, but it counts nothing else.
        bare = old if new.is_measured else new
        return not bare.unit and not bare.label
    return _share_a_noun(new, old) or not (new.unit or new.label)


def _share_a_noun(new: Value, old: Value) -> bool:
    """Whether both count the same; "ext" is short for "extension"."""
    return any(
        one == other or (len(one) > 2 and len(other) > 2 and (one.startswith(other) or other.startswith(one)))  # noqa: PLR2004 - shorter is no abbreviation
        for one in (new.unit, new.label)
        for other in (old.unit, old.label)
        if one and other
    )


def is_certain_slot(new: Value, old: Value) -> bool:
    """Whether the slots are the same by themselves: the same unit, the same noun, the same stem of a name."""
    if new.kind in ("file", "address", "name"):
        return _name_stem(new.number) == _name_stem(old.number)
    if new.kind != "number":
        return new.kind == "share"
    if new.is_measured or old.is_measured:
        return new.unit == old.unit
    return _share_a_noun(new, old)


def _name_stem(name: str) -> str:
    """What stays of a name when only its number, its ending or its path changes."""
    name = name.partition("/")[0]
    return re.sub(rf"\.(?:{_EXTENSIONS})$|[-_]?\d+$", "", name)
