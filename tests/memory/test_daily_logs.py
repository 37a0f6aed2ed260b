"""Of a daily log those lines count in which somebody speaks: the user, or a person whom it names."""

from __future__ import annotations

from datetime import datetime

import pytest

from memoryd.memory.daily_logs import said_in_log

NAME = "logs/2026/10/2026-10-18.md"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- 07:50 user: the seed bank moved to memories B", "the seed bank moved to memories B"),
        ("* [07:50] The user: keep the labels", "keep the labels"),
        ("- user (later): misread it, it is memories C", "misread it, it is memories C"),
        ("- 14:15 Pia Noll: the archive needs code `x-1`", "Pia Noll: the archive needs code `x-1`"),
        (
            "- 08:20 user annoyed: I moved the files, people search by name. Do not move them.",
            "people search by name. Do not move them.",
        ),
    ],
)
def test_what_somebody_says_is_taken_up(line: str, said: str) -> None:
    assert [message.text for message in said_in_log(NAME, line)] == [said]


@pytest.mark.parametrize(
    "line",
    [
        "- 17:45 tests green",
        "- 10:15 assistant: pump 3 may lose prime",
        "- 11:30 ran formatter",
        "- 16:40 user asked how to rebase",
        "- 12:00 TODO: check the logs",
        "- 12:00 Fixed: the axis",
        "a line without a bullet",
        "",
    ],
)
def test_what_was_only_done_or_said_by_the_assistant_is_nobody_s_word(line: str) -> None:
    assert said_in_log(NAME, line) == []


def test_a_line_has_the_time_of_its_log_and_noon_where_it_tells_none() -> None:
    at, noon = (message.said_at for message in said_in_log(NAME, "- 07:50 user: one thing\n- user: another"))
    assert (at, noon) == tuple(datetime(2026, 10, 18, *clock).astimezone().timestamp() for clock in ((7, 50), (12, 0)))


def test_a_line_is_the_same_one_wherever_it_stands() -> None:
    """It was worked on once: a line that is added before it does not make it new."""
    first = said_in_log(NAME, "- user: keep the labels")
    later = said_in_log(NAME, "- user: a new line\n- user: keep the labels")
    assert later[1].message_id == first[0].message_id
    assert later[0].message_id != first[0].message_id


@pytest.mark.parametrize("name", ["logs/notes.md", "2026-10-18.md", "logs/2026/10/2026-13-45.md"])
def test_what_is_no_log_of_a_day_says_nothing(name: str) -> None:
    assert said_in_log(name, "- user: keep the labels") == []
