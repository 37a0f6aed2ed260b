"""Daily-log mode as a person uses it: the real command, in a fresh home."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.claude_code.folders import slug_of
from memoryd.clock import iso
from tests.acceptance.command import as_json, memoryd
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

TABS = "From now on, use tabs in this project."


def test_a_day_and_its_night_by_the_commands(environment: dict[str, str], paths: Paths, tmp_path: Path) -> None:
    root = tmp_path / "assistant"
    root.mkdir()
    here = ("--project", str(root))
    config = Path(paths.config_file)
    config.parent.mkdir(parents=True)
    config.write_text(f'engine = "offline"\n[project."{root}"]\ndaily_log = true\n[dream]\nnight = "04:15"\n')
    in_force = tomllib.loads(memoryd(environment, "config").stdout)
    assert in_force["project"] == {str(root): {"daily_log": True}}
    Path(paths.transcripts_root).mkdir(parents=True)
    memoryd(environment, "extract-now")
    session = Session(cwd=str(root))
    said_at = iso(time.time() - 60)
    said = session.prompt(TABS, timestamp=said_at) + session.reply(timestamp=said_at)
    folder = slug_of(str(root.resolve()))
    write(paths.transcripts_root, session, said, folder)
    memory = Path(paths.transcripts_root, folder, "memory")

    by_day = memoryd(environment, "extract-now")
    assert by_day.returncode == 0, by_day.stderr
    (log,) = memory.rglob("*.md")
    assert by_day.stdout == f"noted 1 line in {memory}/{log.relative_to(memory)}\n".replace(environment["HOME"], "~")
    assert by_day.stderr == "1 session read, 1 line noted in daily logs, for the next night.\n"
    assert f"noted 1 line in {log.relative_to(memory)}" in memoryd(environment, "status").stdout
    line = log.read_text()
    assert line[:2] + line[7:] == f"-  user: {TABS}\n"
    assert f'"{TABS}"' in memoryd(environment, "why", f"{log.name}:1", *here).stdout

    (coming,) = as_json(environment, "status")["dreams"]["next"]
    assert (coming["lines"], coming["gate"], coming["why"]) == (1, "time", "it comes at 04:15")
    assert "1 line of daily logs waits for it" in memoryd(environment, "status").stdout

    assert memoryd(environment, "undo", *here).returncode == 0
    assert not log.exists()
    assert memoryd(environment, "undo", "2", *here).returncode == 0
    assert log.read_text() == line

    by_night = memoryd(environment, "dream-now", *here)
    assert by_night.returncode == 0, by_night.stderr
    (topic,) = memory.glob("feedback_*.md")
    assert TABS in topic.read_text()
    assert topic.name in (memory / "MEMORY.md").read_text()
    assert as_json(environment, "status")["dreams"]["next"][0]["lines"] == 0
    assert [entry["file"] for entry in as_json(environment, "memories", *here)] == [topic.name]
    assert log.read_text() == line
