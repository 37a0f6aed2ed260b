"""The fork server: what it answers is understood however late it is read."""

from __future__ import annotations

import os

from tests.fork_server import Forked, _answer


def test_a_process_that_ended_before_its_pid_was_read_has_both_numbers() -> None:
    mine, its = os.pipe()
    _answer(its, 4711, is_last=False)
    _answer(its, 0, is_last=True)
    forked = Forked(mine)
    assert forked.pid == 4711
    assert forked.wait(60) == 0
