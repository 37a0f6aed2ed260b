"""What a rewrite loses is noticed: a flipped number, a dropped reason, a vanished exception, a lost negation."""

from __future__ import annotations

import re

import pytest

from memoryd.engines.losses import lost_in, parts_lost

MEMORIES = [
    (
        "Keep every review under 400 changed lines.\n\n**Why:** a rounding bug passed in a review of 2,000 lines.\n\n"
        "**How to apply:** split by concern; generated files do not count."
    ),
    (
        "The importer must be ready by 2027-01-16. Swiss pairing comes first, round robin later.\n\n"
        "**Why:** the old laptop cannot be updated.\n\n**How to apply:** arbiters check three rounds by hand, except in leagues."
    ),
    "Never mock the database in integration tests; the mail gateway may be mocked.\n\n**Why:** a migration broke refunds.",
    "Consumer lag: grafana.acme.dev/d/lag. Only the group telemetry-writer matters.",
    "Releases go out on Tuesdays at 14:00, never before a holiday.\n\n**Why:** support is not staffed then.",
    "Bitte keine Umbrüche nach 80 Zeichen. Tabellen sind ausgenommen.\n\n**Why:** Diffs werden sonst unlesbar.",
    "接口统一返回 code、message、data。文件下载除外。\n\n**Why:** 前端解析逻辑只写一次。",
    "The pump speaks 19200 baud with CRC-16. Acknowledge within 50 ms.\n\n**How to apply:** test with --strict.",
]
NEWER = "please use the blue theme for the slides"


@pytest.mark.parametrize("body", MEMORIES)
def test_a_memory_that_stays_loses_nothing(body: str) -> None:
    assert (lost_in(body, body, NEWER), parts_lost(body, body)) == ([], [])
    reordered = "\n\n".join(reversed(body.split("\n\n"))) + "\n\nOne thing more is said now."
    assert (lost_in(body, reordered, NEWER), parts_lost(body, reordered)) == ([], [])


def _without(kind: str, body: str, pattern: str) -> list[tuple[str, str, str]]:
    return [(kind, body, body[: one.start()] + body[one.end() :]) for one in re.finditer(pattern, body)]


def _seeded() -> list[tuple[str, str, str]]:
    """Every memory with one thing lost, in each way there is."""
    seeded = []
    for body in MEMORIES:
        seeded += [
            ("number", body, body[: one.start()] + str(int(one[0]) + 1) + body[one.end() :])
            for one in re.finditer(r"\d+", body)
        ]
        seeded += _without("part", body, r"\n\n\*\*.*")
        seeded += _without("sentence", body, r"(?<=[.。] )[^\n*]+?[.。]|(?<=。)[^\n*]+?。")
        seeded += _without("negation", body, r"(?i)\b(?:never|not|except|only|keine|ausgenommen)\b ?|除外")
    return seeded


def test_seeded_losses_are_caught() -> None:
    """Of these all; a negation that is one of several in its sentence would go unseen."""
    seeded = _seeded()
    caught: dict[str, list[bool]] = {}
    for kind, body, rest in seeded:
        caught.setdefault(kind, []).append(bool(lost_in(body, rest, NEWER) or parts_lost(body, rest)))
    rates = {kind: sum(found) / len(found) for kind, found in caught.items()}
    assert len(seeded) >= 35
    assert rates == {"number": 1.0, "part": 1.0, "sentence": 1.0, "negation": 1.0}


def test_what_newer_words_speak_of_may_change() -> None:
    body, newer = MEMORIES[0], "reviews may have 300 changed lines at most from now on"
    after = body.replace("400", "300")
    assert (lost_in(body, after, newer), lost_in(body, after, NEWER)) == (
        [],
        ["Keep every review under 400 changed lines."],
    )


def test_other_words_for_the_same_are_no_loss() -> None:
    body = "Integration tests run against a real Postgres database, never against mocked sessions."
    other = "Run integration tests against a real Postgres database and never against mocked sessions."
    assert lost_in(body, other, NEWER) == []


@pytest.mark.parametrize(
    ("body", "other"),
    [
        ("The client retries 3 times, waits 200 ms.", "The client retries 200 times, waits 3 ms."),
        ("Kettle 2 gets the new pump, kettle 1 keeps the old one.", "Kettle 1 gets the new pump, kettle 2 keeps the old one."),
        ("Islands hear it 90 minutes ahead. Fjords hear it 30 minutes ahead.", "Islands hear it 30 minutes ahead. Fjords hear it 90 minutes ahead."),
        ("Squash feature branches. Do not squash release branches.", "Do not squash feature branches. Do not squash release branches."),
        ("Prefer tabs over spaces in makefiles.", "Prefer spaces over tabs in makefiles."),
        ("The gate opens before the bell rings.", "The gate opens after the bell rings."),
        ("Pilar keeps the key of the hall.", "Marta keeps the key of the hall."),
        ("Ask Beñat about spectra of the red arm.", "Ask about spectra of the red arm."),
        ("Use the flag `--no-ff` for merges.", "Use the flag for merges."),
        ("Rows hold at most two plates each.", "Rows hold at most three plates each."),
        ("请值班的人二十分钟读一次。", "请值班的人三十分钟读一次。"),
    ],
)  # fmt: skip
def test_words_in_each_others_place_are_a_loss(body: str, other: str) -> None:
    assert lost_in(body, other, NEWER)
    assert lost_in(body, body, NEWER) == []


@pytest.mark.parametrize(
    ("body", "other"),
    [
        ("Vents open at 27 °C, measured at the top, and close 2 K below.", "Vents open at 27 °C, measured at the top. They close 2 K below."),
        ("Vents open at 27 °C. Never by hand.", "Vents open at 27 °C, never by hand."),
        ("Two rows are kept free.", "2 rows are kept free."),
        ("Backups run at 05:40.", "Backups run at 5:40."),
        ("Closed until 2026年5月14日.", "Closed until 2026-05-14."),
        ("The fine was 3,100 crowns.", "The fine was 3100 crowns."),
        ("Runs use `make unit` always.", "Runs always use make unit."),
    ],
)  # fmt: skip
def test_split_joined_or_spelled_otherwise_is_no_loss(body: str, other: str) -> None:
    assert lost_in(body, other, NEWER) == []
