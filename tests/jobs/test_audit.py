"""What was told to agents in several sessions, and what does not count as told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.config import Config
from memoryd.jobs.audit import audit
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from memoryd.jobs.audit import AuditReport
    from memoryd.paths import Paths

NOW = 1_792_368_000.0  # 2026-10-19
DAY = 86_400.0


def tell(paths: Paths, session: Session, *texts: str, days_ago: float = 1.0) -> None:
    from memoryd.clock import iso  # noqa: PLC0415 - only here

    data = b"".join(
        line(
            session.entry("user", message={"role": "user", "content": text}) | {"timestamp": iso(NOW - days_ago * DAY)}
        )
        for text in texts
    )
    write(paths.transcripts_root, session, data + session.reply("ok"))


def listed(report: AuditReport) -> list[tuple[str, int, int]]:
    return [(one.text, len(one.said), one.sessions) for one in report.repetitions]


def test_what_was_told_in_two_sessions_is_listed_most_often_first(paths: Paths) -> None:
    tell(paths, Session(1), "never push to main without asking", "use pnpm, not npm", days_ago=9)
    tell(paths, Session(2), "pls use pnpm instead of npm", "fix the parser")
    tell(paths, Session(3), "use pnpm, not npm", "ask before you push to main", days_ago=3)
    report = audit(paths, Config(), NOW)
    assert listed(report) == [("use pnpm, not npm", 3, 3), ("ask before you push to main", 2, 2)]
    assert (report.sessions, report.messages) == (3, 6)
    assert [said.session_id for said in report.repetitions[0].said] == [Session(name).id for name in (1, 3, 2)]
    assert not os.path.exists(paths.state_dir)


def test_one_session_that_is_older_or_excluded_or_opted_out_does_not_count(paths: Paths) -> None:
    tell(paths, Session(1), "use pnpm, not npm", "use pnpm, not npm")
    tell(paths, Session(2), "use pnpm, not npm", days_ago=40)
    tell(paths, Session(3, cwd="/code/private"), "use pnpm, not npm")
    tell(paths, Session(4), "use pnpm, not npm", "<memoryd-off>")
    config = Config()
    config = config._replace(projects=config.projects._replace(exclude=("/code/private",)))
    assert listed(audit(paths, config, NOW)) == []
    assert listed(audit(paths, Config(), NOW, days=60)) == [("use pnpm, not npm", 4, 3)]


def test_a_fork_and_what_a_program_typed_are_said_once(paths: Paths) -> None:
    first = Session(1)
    tell(paths, first, "use pnpm, not npm")
    copy = Session("fork")
    path = write(paths.transcripts_root, copy, b"")
    path.write_bytes((path.parent / f"{first.id}.jsonl").read_bytes().replace(first.id.encode(), copy.id.encode()))
    template = "never mock the database. " + "x" * 200
    tell(paths, Session(2), template)
    tell(paths, Session(3), template)
    assert listed(audit(paths, Config(), NOW)) == []


def test_orders_for_a_task_questions_and_secrets_are_no_repetitions(paths: Paths) -> None:
    said = (
        "fix the failing test",
        "why does the build use npm?",
        "run the tests again",
        "the token is ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "continue",
    )
    tell(paths, Session(1), *said)
    tell(paths, Session(2), *said)
    assert listed(audit(paths, Config(), NOW)) == []
