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
