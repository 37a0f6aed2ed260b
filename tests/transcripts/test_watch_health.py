"""How far the system is believed: with real files and real reports, and a time that is told."""

from __future__ import annotations

import errno
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.registry import ALL
from memoryd.transcripts.watch_health import CONFIRM_SECONDS, WatchHealth
from tests.transcripts.watched import PATIENCE_SECONDS, Place, refuse_watches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoryd.paths import Paths

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="how inotify fails is Linux's")
NOTHING: frozenset[str] = frozenset()


class Post:
    """A lookout that has looked once, at time 0, and what it logs."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.here = frozenset({str(place.folder)})
        self.logged: list[str] = []
        self.lookout = WatchHealth(ALL, place.paths, lambda: place.wakeup.wake("change"), self._log)
        self.lookout.keep(0)
        self.look(0)

    def _log(self, event: str, **_: Any) -> None:
        self.logged.append(event)

    def look(self, elapsed: float, grown: frozenset[str] = NOTHING) -> None:
        """As the daemon does: what was reported, then what has grown."""
        self.lookout.keep(elapsed)
        self.lookout.take()
        self.lookout.judge(grown, elapsed)

    def reported(self, path: Path | None = None) -> None:
        """Let a transcript grow, and wait until the system has reported it."""
        before = self.lookout.number
        self.place.grow(path)
        self.hear(before + 1)

    def hear(self, number: int) -> None:
        """Wait until the system has reported so often."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.lookout.number < number:
            assert time.monotonic() < until
            self.place.wakeup.wait(0.01)

    def unreported(self, elapsed: float) -> None:
        """Let a look find growth that was reported to nobody, also not by the next look."""
        self.look(elapsed, self.here)
        assert self.lookout.has_suspects
        self.look(elapsed + CONFIRM_SECONDS)

    @property
    def troubles(self) -> list[str]:
        return [trouble.name for trouble in self.lookout.troubles]


@pytest.fixture
def post(paths: Paths) -> Iterator[Post]:
    place = Place(paths)
    post = Post(place)
    yield post
    post.lookout.stop()
    place.close()


# --- what was reported and what was not -------------------------------------------------------------------------------


def test_growth_that_was_reported_is_no_news(post: Post) -> None:
    post.reported()
    post.look(10, post.here)
    assert not post.lookout.has_suspects
    assert (post.troubles, post.lookout.watching, post.logged) == ([], "events", [])


def test_a_report_that_is_on_its_way_is_waited_for(post: Post) -> None:
    """Also by looks that come at once, for other reasons."""
    post.look(10, post.here)
    post.look(10.1)
    post.look(10.2)
    assert post.lookout.has_suspects
    post.reported()
    post.look(10 + CONFIRM_SECONDS)
    assert not post.lookout.has_suspects
    assert post.logged == []


def test_what_was_reported_during_a_backlog_counts(post: Post) -> None:
    """A look with a backlog is not judged, and its reports belong to the one that is."""
    post.reported()
    post.lookout.take()
    post.look(10, post.here)
    assert not post.lookout.has_suspects


def test_a_look_at_what_was_reported_is_enough_while_the_system_is_believed(post: Post) -> None:
    assert post.lookout.take() is None  # something else woke us
    post.reported()
    assert post.lookout.take() == post.here
    post.look(10, post.here)
    post.look(20, post.here)
    post.reported()
    assert post.lookout.take() is None  # for growth that was not reported is in doubt
    post.look(20 + CONFIRM_SECONDS)
    post.unreported(30)
    post.reported()
    assert post.lookout.take() is None  # nobody has looked since the watch began


def test_what_a_new_watch_finds_first_grew_before_it_and_says_nothing(post: Post) -> None:
    post.lookout.stop()
    post.look(10, post.here)
    assert not post.lookout.has_suspects


def test_one_missed_report_begins_the_watch_anew_and_is_no_trouble(post: Post) -> None:
    before = post.lookout._watcher
    post.unreported(10)
    assert post.logged == ["growth not reported"]
    assert post.lookout._watcher is not before
    assert post.place.wakeup.wait(0) == {"change"}  # for another look, at what grew before the new watch
    assert (post.troubles, post.lookout.watching) == ([], "events")
    post.reported()
    post.look(20, post.here)
    post.look(21)
    post.unreported(30)  # not in a row with the first
    assert post.troubles == []


def test_a_disk_that_reports_nothing_is_named_until_it_reports(post: Post) -> None:
    post.unreported(10)
    post.look(13)
    post.unreported(20)
    assert (post.troubles, post.lookout.watching) == (["polling_only"], "polling")
    assert post.lookout.troubles[0].fix == f"df -T {post.place.root}"
    post.look(30)
    post.reported()
    post.look(40, post.here)
    assert (post.troubles, post.lookout.watching) == ([], "events")


def test_where_nothing_is_reported_the_watch_is_begun_anew_only_now_and_then(post: Post) -> None:
    """It costs a walk through all folders."""
    begun = set()
    for elapsed in range(10, 1500, 10):
        post.unreported(elapsed)
        begun.add(id(post.lookout._watcher))
        post.look(elapsed + 5)
    assert post.logged == ["growth not reported"] * len(range(10, 1500, 10))
    assert len(begun) <= 5
    assert post.troubles == ["polling_only"]


def test_what_grows_in_a_tree_that_was_moved_in_is_missed_once(post: Post, tmp_path: Path) -> None:
    """The library does not watch it: the first growth in it is missed, and the next one reported."""
    outside = tmp_path / "outside"
    shutil.copytree(post.place.folder, outside)
    inside = post.place.root / "-code-moved"
    outside.rename(inside)
    post.hear(3)  # the folder, and the folder and the file in it
    post.look(10)
    post.place.grow(inside / "one.jsonl")
    post.look(20, frozenset({str(inside)}))
    post.look(20 + CONFIRM_SECONDS)
    assert post.logged == ["growth not reported"]
    post.look(30)
    post.reported(inside / "one.jsonl")
    post.look(40, frozenset({str(inside)}))
    assert not post.lookout.has_suspects
    assert post.troubles == []


# --- what cannot be watched -------------------------------------------------------------------------------------------


def test_a_root_that_is_missing_is_named_and_watched_when_it_comes(post: Post) -> None:
    shutil.rmtree(post.place.root)
    post.look(10)
    assert (post.troubles, post.lookout.watching) == (["root_missing"], "polling")
    assert post.lookout.troubles[0].fix == ""  # it comes with the client
    post.place.folder.mkdir(parents=True)
    post.look(20)
    assert (post.troubles, post.lookout.watching) == ([], "events")
    post.reported()


@pytest.mark.parametrize(
    ("number", "name", "fix"),
    [
        (errno.ENOSPC, "watch_limit", "sudo sysctl fs.inotify.max_user_watches="),
        (errno.EMFILE, "watch_limit", "sudo sysctl fs.inotify.max_user_instances="),
        (errno.ENOMEM, "polling_only", "ls -ld {root}"),
    ],
)
def test_what_keeps_it_from_watching_is_named_with_its_fix(
    post: Post, monkeypatch: pytest.MonkeyPatch, number: int, name: str, fix: str
) -> None:
    refuse_watches(monkeypatch, number, 2)
    post.lookout.stop()
    post.look(10)
    (trouble,) = post.lookout.troubles
    assert (trouble.name, trouble.fix.rstrip("0123456789")) == (name, fix.format(root=post.place.root))
    assert post.lookout.watching == "polling"


def test_a_limit_is_tried_at_once_then_later_and_later_and_is_over_when_it_is_lifted(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.lookout.stop()
    tried = []
    with monkeypatch.context() as patched:
        refuse_watches(patched, errno.ENOSPC, 1)
        for elapsed in range(1000, 5000):
            post.logged.clear()
            post.lookout.keep(elapsed)
            if post.logged:
                tried.append(elapsed - 1000)
    assert tried == [0, 1, 61, 181, 421, 901, 1501, 2101, 2701, 3301, 3901]
    post.lookout.keep(1000 + 3901 + 599)
    assert post.troubles == ["watch_limit"]
    post.lookout.keep(1000 + 3901 + 600)
    assert (post.troubles, post.lookout.watching) == ([], "events")
    post.reported()


def test_a_watch_that_dies_is_begun_anew_at_once_and_when_it_dies_again_a_while_later(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die() -> None:
        watcher = post.lookout._watcher
        assert watcher
        monkeypatch.setattr(type(watcher), "is_alive", property(lambda value: value is not watcher))

    die()
    post.look(10)
    assert post.lookout.watching == "events"
    assert post.troubles == []
    die()
    post.look(20)
    assert (post.troubles, post.lookout.watching) == (["polling_only"], "polling")
    post.look(79)
    assert post.troubles == ["polling_only"]
    post.look(80)
    assert (post.troubles, post.lookout.watching) == ([], "events")
    post.reported()
    post.look(90, post.here)  # it works: what was before is forgotten
    die()
    post.look(100)
    assert post.troubles == []
    assert post.logged == ["watcher died"] * 3
