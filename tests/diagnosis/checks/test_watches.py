"""Limits of the file watcher."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.diagnosis.checks import watches

if TYPE_CHECKING:
    from memoryd.diagnosis.facts import World
    from memoryd.paths import Paths


def watched(**more: Any) -> watches.WatchFacts:
    return watches.WatchFacts("/home/me", "/home/me/p", "", 100, watches.WatchLimits(8192, 128), 50, 3)._replace(**more)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (watched(), ["ok", "ok", "ok"]),
        (watched(limits=None), ["ok", "ok"]),
        (watched(watches_of_others=7500), ["ok", "problem", "ok"]),
        (watched(folders=100_000), ["ok", "problem", "ok"]),
        (watched(instances_of_others=127), ["ok", "ok", "problem"]),
        (watched(error="missing", folders=0), ["note", "ok", "ok"]),
        (watched(error="Permission denied", folders=0), ["problem", "ok", "ok"]),
    ],
)
def test_limits_of_watching(facts: watches.WatchFacts, found: list[str]) -> None:
    checks = list(watches.judge_watches(facts))
    assert [check.verdict for check in checks] == found
    for check in checks:
        if check.name.startswith("watch") and check.verdict == "problem":
            assert re.search(r"sysctl fs\.inotify\.max_user_(watches|instances)=\d+$", check.fix)


def test_folders_are_counted_and_links_are_not_followed(world: World, paths: Paths) -> None:
    os.makedirs(os.path.join(paths.transcripts_root, "a", "b"))
    os.symlink("/", os.path.join(paths.transcripts_root, "everything"))
    facts = watches.read_watches(world)
    assert (facts.error, facts.folders) == ("", 3)
