"""Somebody edits memory files all the time while commits replace, delete and create them: no edit is lost."""

from __future__ import annotations

import json
import os
import random
import re
import select
import subprocess
import sys
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

import pytest

from memoryd.memory import exchange
from memoryd.memory.commit import commit
from memoryd.memory.directory import TEMPORARY_PREFIX, open_directory
from memoryd.model import Changeset, FileChange, Group
from tests.crash.editor import KINDS, NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.state.database import Database
    from tests.torture.campaign import Campaign

NOW = 2_000_000_000.0


def wish(choose: random.Random, number: int, before: dict[str, bytes | None]) -> Changeset:
    """Change one or two of the files as they were read, each in its own way."""
    groups = []
    for name in choose.sample(NAMES, choose.randrange(1, 3)):
        is_deleted = before[name] is not None and choose.random() < 0.3
        after = None if is_deleted else f"commit {number} of {name}\n".encode() * choose.randrange(1, 50)
        groups.append(Group((FileChange(name, before[name], after),), "said"))
    if len(groups) > 1 and choose.random() < 0.5:
        groups = [Group(tuple(change for group in groups for change in group.changes), "merged")]
    return Changeset("restore", "a wish", tuple(groups))


def words_in(data: bytes) -> set[str]:
    return set(re.findall("edit[0-9]{6}edit", data.decode()))


@pytest.mark.torture
@pytest.mark.parametrize("kernel", ["exchange", "three renames"])
@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_no_edit_is_lost(
    kind: str,
    kernel: str,
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    torture: bool,
    campaign: Campaign,
) -> None:
    """An edit that was in a file and no longer is must have been superseded by its author (who looks first), or been
    read by the commit that changed the file, or been put into the database.
    """
    if kernel == "three renames":
        monkeypatch.setattr(exchange, "_rename", lambda *_: False)
    seed = campaign.seed if torture else 11
    choose = random.Random(seed)
    place = tmp_path / "memory"
    place.mkdir()
    log = tmp_path / "log"
    conflicts = 0
    with (
        open_directory(str(place)) as directory,
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.editor", place, log, str(seed), kind], stdin=subprocess.PIPE
        ) as editor,
    ):
        while not log.exists():
            assert editor.poll() is None
        for number in takewhile(lambda number: number < 40 or campaign.has_time, range(2_000 if torture else 40)):
            before = {name: (state.data if (state := directory.read(name)) else None) for name in NAMES}
            select.select([], [], [], choose.random() * 0.006)  # an engine thinks
            conflicts += len(commit(database, directory, wish(choose, number, before), NOW + number).conflicted)
        editor.communicate(b"stop\n")
        assert editor.returncode == 0
    edits = [json.loads(line) for line in log.read_text().splitlines()]
    gone = {word for edit in edits for word in edit["missing"]}
    read = {
        word
        for row in database.query(
            "SELECT data FROM change_files JOIN blobs ON hash = before_hash WHERE state = 'applied' AND group_number >= 0"
        )
        for word in words_in(row["data"])
    }
    rescued = {
        word
        for row in database.query("SELECT data FROM rescued JOIN blobs USING (hash)")
        for word in words_in(row["data"])
    }
    print(
        f"{dict(Counter(edit['kind'] for edit in edits if 'kind' in edit))} edits, {conflicts} conflicts;"
        f" of {len(gone)} edits that are gone {len(gone & read)} had been read, {len(gone & rescued)} were rescued"
    )
    campaign.tried("faults", "edit by a person in the midst of commits", len(edits), gone - read - rescued)
    assert gone <= read | rescued, f"lost: {sorted(gone - read - rescued)}"
    assert conflicts
    assert not [name for name in os.listdir(place) if name.startswith(TEMPORARY_PREFIX)]
    assert not database.query("SELECT * FROM changes WHERE state = 'prepared'")
