"""Dates as people type them, told as the calendar has them; what is no date, or no certain one, stays."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.dates import day_of, with_absolute_dates

MONDAY = date(2026, 8, 3)
WEDNESDAY = date(2026, 8, 12)
FRIDAY = date(2026, 8, 7)


@pytest.mark.parametrize(
    ("day", "said", "told"),
    [
        (MONDAY, "billing cuts over on Friday", "billing cuts over on Friday (2026-08-07)"),
        (FRIDAY, "billing cuts over on Friday", "billing cuts over on Friday (2026-08-14)"),
        (FRIDAY, "the demo is this Friday", "the demo is this Friday (2026-08-07)"),
        (date(2026, 9, 14), "the old box goes off tomorrow at 18:00", "the old box goes off tomorrow (2026-09-15) at 18:00"),
        (WEDNESDAY, "the replacement is two weeks out", "the replacement is two weeks out (2026-08-26)"),
        (MONDAY, "launch slipped a week, so it's Friday the 21st now",
         "launch slipped a week, so it's Friday the 21st (2026-08-21) now"),
        (MONDAY, "the audit is next Wednesday", "the audit is next Wednesday (2026-08-12)"),
        (MONDAY, "the audit is next Wednesday the 19th", "the audit is next Wednesday the 19th (2026-08-19)"),
        (WEDNESDAY, "we move two weeks from Monday", "we move two weeks from Monday (2026-08-31)"),
        (MONDAY, "the API closes on September 8", "the API closes on September 8 (2026-09-08)"),
        (MONDAY, "the API closes on Tuesday, September 8th", "the API closes on Tuesday, September 8th (2026-09-08)"),
        (MONDAY, "frozen until December 31", "frozen until December 31 (2026-12-31)"),
        (MONDAY, "binding on the first of March", "binding on the first of March (2027-03-01)"),
        (MONDAY, "moved to the 14th, sorry", "moved to the 14th (2026-08-14), sorry"),
        (date(2026, 8, 20), "moved to the 14th, sorry", "moved to the 14th (2026-09-14), sorry"),
        (date(2026, 1, 30), "they come on the 31st", "they come on the 31st (2026-01-31)"),
        (date(2026, 1, 31), "they come on the 30th", "they come on the 30th (2026-03-30)"),
        (MONDAY, "shut from November 1 until the 12th", "shut from November 1 (2026-11-01) until the 12th (2026-11-12)"),
        (MONDAY, "the licence ends on the 12th of next month", "the licence ends on the 12th of next month (2026-09-12)"),
        (MONDAY, "done by the end of the month", "done by the end of the month (2026-08-31)"),
        (MONDAY, "done by end of quarter", "done by end of quarter (2026-09-30)"),
        (MONDAY, "done by the end of Q4", "done by the end of Q4 (2026-12-31)"),
        (MONDAY, "till the end of January", "till the end of January (2027-01-31)"),
        (MONDAY, "the rewrite starts mid-October", "the rewrite starts mid-October (2026)"),
        (MONDAY, "the contract ends in three months", "the contract ends in three months (2026-11-03)"),
        (MONDAY, "shipping a week from today", "shipping a week from today (2026-08-10)"),
        (MONDAY, "Ana is back next month", "Ana is back next month (September 2026)"),
        (MONDAY, "we hire next quarter", "we hire next quarter (2026-10-01 - 2026-12-31)"),
        (MONDAY, "no deploys this weekend", "no deploys this weekend (2026-08-08 - 2026-08-09)"),
        (MONDAY, "flaky since last week", "flaky since last week (2026-07-27 - 2026-08-02)"),
        (MONDAY, "they picked the small chip yesterday", "they picked the small chip yesterday (2026-08-02)"),
        (MONDAY, "the disk died last Tuesday", "the disk died last Tuesday (2026-07-28)"),
        (MONDAY, "broken since Thursday", "broken since Thursday (2026-07-30)"),
        (MONDAY, "today's numbers, Friday's demo", "today's (2026-08-03) numbers, Friday's (2026-08-07) demo"),
        (date(2026, 3, 1), "the board is his until Easter", "the board is his until Easter (2026-04-05)"),
        (MONDAY, "they go live Monday week", "they go live Monday week (2026-08-10)"),
        (MONDAY, "it ends in the middle of November, on the 15th",
         "it ends in the middle of November, on the 15th (2026-11-15)"),
        (date(2026, 12, 28), "we lost it on December 12", "we lost it on December 12 (2026-12-12)"),
        (date(2026, 2, 3), "we shipped on December 12", "we shipped on December 12 (2025-12-12)"),
    ],
)  # fmt: skip
def test_english(day: date, said: str, told: str) -> None:
    assert with_absolute_dates(said, day) == told


@pytest.mark.parametrize(
    ("day", "said", "told"),
    [
        (MONDAY, "Umzug in zwei Wochen", "Umzug in zwei Wochen (2026-08-17)"),
        (MONDAY, "ab heute in zwei Wochen ist Schluss", "ab heute in zwei Wochen (2026-08-17) ist Schluss"),
        (MONDAY, "am 30. September läuft die Lizenz aus", "am 30. September (2026-09-30) läuft die Lizenz aus"),
        (MONDAY, "ab dem 20. ist Stadtfest", "ab dem 20. (2026-08-20) ist Stadtfest"),
        (MONDAY, "am 3.10. ist zu", "am 3.10. (2026-10-03) ist zu"),
        (MONDAY, "übermorgen kommt der Prüfer", "übermorgen (2026-08-05) kommt der Prüfer"),
        (MONDAY, "nächsten Dienstag geht es los", "nächsten Dienstag (2026-08-11) geht es los"),
        (MONDAY, "ersatz kommt nächste woche donnerstag", "ersatz kommt nächste woche donnerstag (2026-08-13)"),
        (MONDAY, "am Freitag, den 21. August", "am Freitag, den 21. August (2026-08-21)"),
        (MONDAY, "die Daten werden Ende März gelöscht", "die Daten werden Ende März (2027-03-31) gelöscht"),
        (MONDAY, "der Plan kommt am ersten September", "der Plan kommt am ersten September (2026-09-01)"),
        (MONDAY, "das ist hier morgen früh dran", "das ist hier morgen (2026-08-04) früh dran"),
    ],
)
def test_german(day: date, said: str, told: str) -> None:
    assert with_absolute_dates(said, day) == told


@pytest.mark.parametrize(
    ("day", "said", "told"),
    [
        (MONDAY, "llega pasado mañana", "llega pasado mañana (2026-08-05)"),
        (MONDAY, "mañana por la mañana", "mañana (2026-08-04) por la mañana"),
        (MONDAY, "se corta el viernes", "se corta el viernes (2026-08-07)"),
        (MONDAY, "la entrega es dentro de dos semanas", "la entrega es dentro de dos semanas (2026-08-17)"),
        (MONDAY, "desde el lunes 10 no hay datos", "desde el lunes 10 (2026-08-10) no hay datos"),
        (MONDAY, "se incorpora el 21 y manda HL7", "se incorpora el 21 (2026-08-21) y manda HL7"),
        (MONDAY, "desde el 1 de octubre", "desde el 1 de octubre (2026-10-01)"),
        (MONDAY, "el jueves de la próxima semana", "el jueves de la próxima semana (2026-08-13)"),
        (MONDAY, "hasta fin de febrero", "hasta fin de febrero (2027-02-28)"),
        (MONDAY, "a final de mes cierra", "a final de mes (2026-08-31) cierra"),
    ],
)
def test_spanish(day: date, said: str, told: str) -> None:
    assert with_absolute_dates(said, day) == told


@pytest.mark.parametrize(
    ("day", "said", "told"),
    [
        (MONDAY, "ils viennent après-demain", "ils viennent après-demain (2026-08-05)"),
        (MONDAY, "on lance vendredi prochain", "on lance vendredi prochain (2026-08-07)"),
        (MONDAY, "d'ici la fin du mois", "d'ici la fin du mois (2026-08-31)"),
        (MONDAY, "c'est remis au 21 parce que", "c'est remis au 21 (2026-08-21) parce que"),
        (MONDAY, "à partir du 7 septembre", "à partir du 7 septembre (2026-09-07)"),
        (MONDAY, "la bascule est lundi 10 août à 9h", "la bascule est lundi 10 août (2026-08-10) à 9h"),
        (MONDAY, "il revient dans trois semaines", "il revient dans trois semaines (2026-08-24)"),
        (MONDAY, "livraison mi-octobre", "livraison mi-octobre (2026)"),
    ],
)
def test_french(day: date, said: str, told: str) -> None:
    assert with_absolute_dates(said, day) == told


@pytest.mark.parametrize(
    ("day", "said", "told"),
    [
        (MONDAY, "这周五封网", "这周五（2026-08-07）封网"),
        (MONDAY, "下周三演示", "下周三（2026-08-12）演示"),
        (MONDAY, "下下周一送", "下下周一（2026-08-17）送"),
        (MONDAY, "11月13号上线", "11月13号（2026-11-13）上线"),
        (MONDAY, "验收改到二十八号了", "验收改到二十八号（2026-08-28）了"),
        (MONDAY, "下个月五号才还", "下个月五号（2026-09-05）才还"),
        (MONDAY, "后天下午给", "后天（2026-08-05）下午给"),
        (MONDAY, "月底到期", "月底（2026-08-31）到期"),
        (MONDAY, "兩週後交", "兩週後（2026-08-17）交"),
        (MONDAY, "周四夜里割接", "周四（2026-08-06）夜里割接"),
    ],
)
def test_chinese(day: date, said: str, told: str) -> None:
    assert with_absolute_dates(said, day) == told


@pytest.mark.parametrize(
    ("day", "said", "told"),
    [
        (MONDAY, "来週の金曜に出す", "来週の金曜（2026-08-14）に出す"),
        (MONDAY, "明後日まで", "明後日（2026-08-05）まで"),
        (MONDAY, "明日の朝から停電", "明日（2026-08-04）の朝から停電"),
        (MONDAY, "今月末には公表", "今月末（2026-08-31）には公表"),
        (MONDAY, "月末まで待つ", "月末（2026-08-31）まで待つ"),
        (MONDAY, "3日後に返却", "3日後（2026-08-06）に返却"),
        (MONDAY, "8/15までに", "8/15（2026-08-15）までに"),
        (MONDAY, "10月1日から有料", "10月1日（2026-10-01）から有料"),
    ],
)
def test_japanese(day: date, said: str, told: str) -> None:
    assert with_absolute_dates(said, day) == told


@pytest.mark.parametrize(
    "text",
    [
        "may I march on, a second, mon ami, it sat there",
        "these may 3 times fail",
        "in 2 days increments",
        "Friday deploys are off",
        "every Monday, each friday, on Fridays, Mondays only",
        "we never deploy on Friday",
        "a Friday release, the Friday thing",
        "Monday to Friday, 24/7, at 18:00",
        "python 3.12, v2.10, port 22, the 3rd floor, on the 2nd attempt",
        "`on Friday` and ```\ntomorrow\n```",
        "the play 'Friday Night' and \"The Day After Tomorrow\"",
        "https://example.com/friday docs/monday.md friday_job next-friday @monday #friday day=friday",
        "on 2026-09-01, 1.9.2026, 09/08/2026, September 8, 2026, 8 September 2026, 2026年8月7日",
        "Friday, August 7, 2026 and the end is Friday 2026-08-07",
        "in May someone ran the purge",
        "it was last March",
        "it broke on Tuesday",
        "mondays to wednesday, in the last year",
        "the site never changed in ten years",
        "rewrote it in two weeks",
        "two or three weeks ago",
        "in about two weeks, in a couple of days",
        "Friday the 22nd",
        "on February 30",
        "guten Morgen, jeden Morgen, freitags, jeden Freitag, hier ist nichts",
        "ab Version 3.2. und am 3. Tag",
        "por la mañana, los viernes, hoy en día, lunes a viernes, el 21% de la base",
        "chaque lundi, le lundi on ne livre pas, du lundi au vendredi",
        "一周一次，每周五发版，2 号板，三号机，周一到周五",
        "毎週金曜、3日間、毎月末、期限の3日前まで",
        "",
    ],
)  # fmt: skip
def test_what_is_no_certain_day_stays(text: str) -> None:
    assert with_absolute_dates(text, MONDAY) == text


def test_the_weekday_of_a_week_that_was_spoken_of_is_not_the_next_one() -> None:
    said = "the demo is next Thursday, so nothing is touched from Wednesday"
    assert with_absolute_dates(said, MONDAY) == said.replace("next Thursday", "next Thursday (2026-08-13)")


FRAGMENTS = (
    (
        "on by until the every Friday monday next last this week month quarter year tomorrow today yesterday tonight in two "
        "3 weeks days ago from now 14th 21st first of March may September 8 , . and was is broke end mid-October weekend "
        "Easter's ' \" ` ( ) 2026-08-07 - / : out 24th instead for to since it's never"
    ),
    "am 15. 30. ab heute morgen Freitag nächsten nächste Woche in zwei Wochen Ende des Monats bis September vor gestern",
    "el viernes próximo lunes 19 de mayo mañana pasado dentro de dos semanas fin mes hasta la semana que viene hoy 21 y",
    "le vendredi prochain demain après-demain dans trois jours fin du mois hier 7 avril lundi ce soir au 21 et depuis",
    "周五 下周三 这周 每周 11月13号 5号 后天 月底 两周后 今天 下个月 五号 22 号 ， 。 到 前 年底 上周二 今晚 要 了 8/15 切",
    "来週の金曜 明日 月末 3日後 毎週 15日 に まで 8/15 までに 来月 年末 今週末 金曜 の 、 。 は した 再来週 先週 10月中旬",
)
SENTENCES = st.sampled_from(FRAGMENTS).flatmap(
    lambda words: st.lists(st.sampled_from(words.split()), max_size=14).map(" ".join)
)


@given(st.one_of(st.text(), SENTENCES), st.dates())
def test_any_text_on_any_day_is_read_once_and_stays_short(text: str, day: date) -> None:
    once = with_absolute_dates(text, day)
    assert with_absolute_dates(once, day) == once
    assert len(once) <= 16 * len(text)


@given(st.lists(st.sampled_from(" ".join(FRAGMENTS).split()), max_size=14).map("".join), st.dates())
def test_languages_run_together_are_no_error(text: str, day: date) -> None:
    with_absolute_dates(text, day)


@pytest.mark.parametrize(
    "unit",
    ["a", " ", "'", '"', "`", "```", "1", "1.", "12/", "the ", "in ", "on the 3rd ", "friday ", "was ", "every ", "ed ",
     "next week ", "two weeks ", "am 15. ", "el 21 ", "le 7 ", "周五", "下", "月末", "15日", "a://", "2026-08-07, ",
     "mid-", "'s", "\n", "（", "twenty-", "friday, "],
)  # fmt: skip
def test_no_text_takes_long(unit: str) -> None:
    """A pattern that looks again from every place would take minutes for a hundred thousand characters."""
    text = "on Friday " + unit * (10_000 // len(unit)) + " tomorrow, mañana demain hoy morgen 明天"
    began = time.process_time()
    with_absolute_dates(text, MONDAY)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("said_at", [1e18, -1e18, float("inf"), float("nan")])
def test_a_time_beyond_the_calendar_has_no_day(said_at: float) -> None:
    assert day_of(said_at) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("the comp is the last saturday this month", "the comp is the last saturday this month (2026-08-29)"),
        ("we ship on the last friday of october", "we ship on the last friday of october (2026-10-30)"),
        ("der letzte Freitag im November", "der letzte Freitag im November (2026-11-27)"),
        ("le dernier vendredi de novembre", "le dernier vendredi de novembre (2026-11-27)"),
        ("el último viernes de octubre", "el último viernes de octubre (2026-10-30)"),
        ("we ship on the last friday of the month", "we ship on the last friday of the month"),
        ("jeden letzten Freitag im Monat", "jeden letzten Freitag im Monat"),
        ("le dernier vendredi du mois", "le dernier vendredi du mois"),
        ("on the 3rd friday this month", "on the 3rd friday this month"),
        ("it broke last friday", "it broke last friday (2026-07-31)"),
    ],
)
def test_the_last_weekday_of_a_month_is_not_last_week(said: str, told: str) -> None:
    assert with_absolute_dates(said, MONDAY) == told
