"""Search over all projects: memories and what was said, newest first, without a daemon."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.config import Config
from memoryd.jobs.search import search
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from memoryd.jobs.search import SearchHit
    from memoryd.paths import Paths

MEMORY = (
    '---\nname: tabs\ndescription: "Use tabs"\ntype: feedback\nmetadata:\n  originSessionId: {session}\n'
    "  modified: 2026-10-16T07:40:18Z\n---\nUse tabs in shell scripts.\n"
)


def said_at(session: Session, text: str, at: str) -> bytes:
    return line(session.entry("user", message={"role": "user", "content": text}) | {"timestamp": at})


def texts(hits: list[SearchHit]) -> list[str]:
    return [hit.text for hit in hits]


def test_all_projects_are_searched_newest_first_though_their_directories_are_gone(paths: Paths) -> None:
    old, new = Session("old", cwd="/gone/shop"), Session("new", cwd="/gone/site")
    write(paths.transcripts_root, old, said_at(old, "tabs, please", "2026-10-01T08:00:00Z"), "-gone-shop")
    write(paths.transcripts_root, new, said_at(new, "tabs again", "2026-10-20T08:00:00Z"), "-gone-site")
    memory = Path(paths.transcripts_root, "-gone-shop", "memory")
    memory.mkdir()
    (memory / "feedback_tabs.md").write_text(MEMORY.format(session=old.id))
    hits = search(paths, Config(), ["tabs"])
    assert texts(hits) == ["tabs again", "Use tabs in shell scripts.", "tabs, please"]
    said, remembered, first = hits
    assert (said.kind, said.who, said.project, said.client) == ("said", "user", "/gone/site", "claude-code")
    assert said.resume == f"cd /gone/site && claude --resume {new.id}"
    assert (remembered.kind, remembered.who) == ("memory", None)
    assert remembered.file == str(memory / "feedback_tabs.md")
    assert (remembered.project, remembered.session) == ("/gone/shop", old.id)
    assert remembered.resume == first.resume == f"cd /gone/shop && claude --resume {old.id}"
    assert not os.path.exists(paths.state_dir)


def test_the_newest_few_are_the_newest_also_where_times_of_files_say_nothing(paths: Paths) -> None:
    for number in range(6):
        session = Session(number)
        at = f"2099-01-{number + 1:02}T08:00:00Z"
        path = write(paths.transcripts_root, session, said_at(session, f"tabs {number}", at))
        os.utime(path, (1_000_000 - number, 1_000_000 - number))
    assert texts(search(paths, Config(), ["tabs"], most=2)) == ["tabs 5", "tabs 4"]


def test_older_files_need_not_be_read_for_the_newest_few(paths: Paths) -> None:
    for number in range(6):
        session = Session(number)
        at = f"2026-01-{number + 1:02}T08:00:00Z"
        path = write(paths.transcripts_root, session, said_at(session, f"tabs {number}", at))
        os.utime(path, (1_767_254_400 + number * 86_400,) * 2)
    assert texts(search(paths, Config(), ["tabs"], most=2)) == ["tabs 5", "tabs 4"]


def test_what_a_fork_repeats_is_found_once(paths: Paths) -> None:
    first, fork = Session("first"), Session("fork")
    data = said_at(first, "tabs, please", "2026-10-01T08:00:00Z")
    write(paths.transcripts_root, first, data)
    write(paths.transcripts_root, fork, data)
    assert len(search(paths, Config(), ["tabs"])) == 1


def test_what_memoryd_leaves_alone_is_not_searched(paths: Paths) -> None:
    excluded, own = Session("excluded", cwd="/code/private"), Session("own", cwd=f"{paths.state_dir}/work")
    write(paths.transcripts_root, excluded, excluded.turn("tabs"), "-code-private")
    write(paths.transcripts_root, own, own.turn("tabs"), "-own")
    config = Config()
    config = config._replace(projects=config.projects._replace(exclude=("/code/private",)))
    assert search(paths, config, ["tabs"]) == []


def test_a_memory_is_found_by_its_name_and_never_by_what_is_not_shown_of_it(paths: Paths) -> None:
    memory = Path(paths.transcripts_root, "-gone-shop", "memory")
    memory.mkdir(parents=True)
    (memory / "feedback_tabs.md").write_text(MEMORY.format(session="x"))
    assert [hit.project for hit in search(paths, Config(), ["feedback_tabs"])] == [None]
    assert search(paths, Config(), ["originSessionId"]) == []


def test_lines_of_daily_logs_are_found_with_their_day_and_without_secrets(paths: Paths) -> None:
    memory = Path(paths.transcripts_root, "-gone-shop", "memory")
    log = memory / "logs" / "2026" / "10" / "2026-10-18.md"
    log.parent.mkdir(parents=True)
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    log.write_text(f"# tabs\n- 09:12 user: use tabs\n- looked at the tabs\n- 10:00 user: tabs with {token}\n")
    os.symlink("/etc/hostname", log.with_name("2026-10-19.md"))
    hits = search(paths, Config(), ["tabs"])
    assert [(hit.kind, hit.who, hit.line, hit.file) for hit in hits] == [
        *(("log", None, 3, str(log)), ("log", "user", 4, str(log)), ("log", "user", 2, str(log)))
    ]
    assert texts(hits)[2] == "user: use tabs"
    assert token not in " ".join(texts(hits))
    assert hits[2].at == datetime(2026, 10, 18, 9, 12).astimezone().timestamp()
    assert search(paths, Config(), [token[:12]]) == []
