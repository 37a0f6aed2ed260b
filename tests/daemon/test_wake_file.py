"""Waking the daemon: a touched file, and nothing that could go wrong for the command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.daemon.wake_file import wake

if TYPE_CHECKING:
    from memoryd.paths import Paths


def test_the_file_is_made_private_and_touched_each_time(paths: Paths) -> None:
    wake(paths)
    assert os.stat(paths.wake_file).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(paths.wake_file)).st_mode & 0o777 == 0o700
    os.utime(paths.wake_file, (1, 1))
    wake(paths)
    assert os.stat(paths.wake_file).st_mtime > 1


def test_what_has_its_name_and_is_no_file_of_ours_is_left_alone_and_holds_nobody_up(paths: Paths) -> None:
    os.makedirs(os.path.dirname(paths.wake_file))
    other = os.path.join(paths.state_dir, "other")
    with open(other, "w", encoding="utf-8"):
        os.utime(other, (1, 1))
    os.symlink(other, paths.wake_file)
    wake(paths)
    assert os.stat(other).st_mtime == 1
    os.unlink(paths.wake_file)
    os.mkfifo(paths.wake_file)  # opening it for writing would wait for a reader
    wake(paths)
    os.unlink(paths.wake_file)
    os.rmdir(os.path.dirname(paths.wake_file))
    with open(os.path.dirname(paths.wake_file), "w", encoding="utf-8"):
        wake(paths)
