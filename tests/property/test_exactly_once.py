"""Whatever a client does to its files and whatever happens to our processes: every user message once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from memoryd.jobs import ingest
from memoryd.transcripts import tail
from tests.property.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from tests.transcript import Session

# Damage that no JSON parser takes for something else: an id changed by it would be another message.
spoilers = st.sampled_from([b"\0" * 9, b"\n", b"\x01", b"\x01}{", b'\x01{"type":"user",'])

positions = st.integers(0, 11)  # twelfths of a file, or a count that wraps around


class Transcripts(RuleBasedStateMachine):
    """Appends, tears, cuts, rewrites, copies, moves, deletions, looks, crashes, a second process, clock jumps."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    def teardown(self) -> None:
        self.world.one.ingest()
        self.world.check()
        self.world.close()

    def _session(self, position: int) -> Session:
        sessions = sorted(self.world.sessions.values(), key=lambda session: session.id)
        return sessions[position % len(sessions)]

    def _path(self, position: int) -> Path:
        paths = self.world.paths_now()
        return paths[position % len(paths)]

    def _has_files(self) -> bool:
        return bool(self.world.paths_now())

    # --- the client ---------------------------------------------------------------------------------------------------

    @rule(number=st.integers(0, 2))
    def say(self, number: int) -> None:
        self.world.say(number)

    @precondition(lambda self: self.world.sessions)
    @rule(which=positions, length=st.integers(1, 4000))
    def write_some_bytes(self, which: int, length: int) -> None:
        self.world.flush(self._session(which), length)

    @precondition(lambda self: self.world.sessions)
    @rule(which=positions)
    def write_everything(self, which: int) -> None:
        self.world.flush(self._session(which), 1 << 30)

    @precondition(_has_files)
    @rule(which=positions, where=positions)
    def cut_off_the_tail(self, which: int, where: int) -> None:
        path = self._path(which)
        data = path.read_bytes()
        self.world.rewrite(path, data[: len(data) * where // 12])

    @precondition(_has_files)
    @rule(which=positions, where=positions)
    def take_out_a_line(self, which: int, where: int) -> None:
        path = self._path(which)
        lines = path.read_bytes().splitlines(keepends=True)
        if lines:
            del lines[where % len(lines)]
            self.world.rewrite(path, b"".join(lines))

    @precondition(_has_files)
    @rule(which=positions, where=positions)
    def take_out_a_line_and_say_more(self, which: int, where: int) -> None:
        """Between two looks: the file is longer than before, and not what it was."""
        for number, session in list(self.world.sessions.items()):
            if session.id == self._path(which).stem:
                self.take_out_a_line(which, where)
                self.world.say(number)
                self.world.flush(session, 1 << 30)
                break

    @precondition(_has_files)
    @rule(which=positions, where=positions, noise=spoilers)
    def spoil_some_bytes(self, which: int, where: int, noise: bytes) -> None:
        path = self._path(which)
        data = path.read_bytes()
        at = len(data) * where // 12
        self.world.rewrite(path, data[:at] + noise + data[at:])

    @precondition(_has_files)
    @rule(which=positions, into=st.sampled_from(["-a", "-b"]), name=st.sampled_from([None, "copy"]))
    def copy_a_file(self, which: int, into: str, name: str | None) -> None:
        path = self._path(which)
        target = self.world.root / into / f"{name or path.stem}.jsonl"
        if target != path:
            self.world.rewrite(target, path.read_bytes())

    @precondition(_has_files)
    @rule(which=positions, into=st.sampled_from(["-a", "-b"]))
    def move_a_file(self, which: int, into: str) -> None:
        path = self._path(which)
        os.replace(path, self.world.root / into / path.name)

    @precondition(_has_files)
    @rule(which=positions)
    def delete_a_file(self, which: int) -> None:
        self._path(which).unlink()

    # --- memoryd ------------------------------------------------------------------------------------------------------

    @rule()
    def look(self) -> None:
        self.world.one.ingest()
        self.world.check()

    @rule(calls=st.integers(1, 60))
    def look_and_be_killed(self, calls: int) -> None:
        if not self.world.one.sweep_and_crash(calls):
            self.world.check()

    @rule()
    def look_with_a_second_process(self) -> None:
        self.world.two.ingest()
        self.world.check()

    @rule(calls=st.integers(1, 60))
    def look_while_a_second_process_looks(self, calls: int) -> None:
        self.world.one.sweep_interrupted_by(self.world.two, calls)
        self.world.check()

    @rule()
    def restart(self) -> None:
        self.world.one.stop()
        self.world.one.start()

    @rule(seconds=st.sampled_from([1.0, 30.0, 700.0, -86_400.0, 31_536_000.0]))
    def let_time_pass_or_jump(self, seconds: float) -> None:
        self.world.now += seconds


@pytest.mark.torture
def test_every_message_once(monkeypatch: pytest.MonkeyPatch, torture: bool) -> None:
    monkeypatch.setattr(ingest, "BATCH_BYTES", 1500)  # so that files are read in several pieces, each its own commit
    monkeypatch.setattr(tail, "WINDOW_BYTES", 256)  # so that a rewrite can be outside of what is hashed
    limits = settings(max_examples=400 if torture else 60, stateful_step_count=60 if torture else 30, deadline=None)
    run_state_machine_as_test(Transcripts, settings=limits)


@given(st.data())
def test_every_split_of_a_stream_into_appends_delivers_each_message_once(data: Any) -> None:
    """Byte by byte or all at once, looked at after every append, with a kill thrown in."""
    world = World()
    try:
        for number in (0, 1, 0):
            world.say(number)
        while any(world.streams.values()):
            session = data.draw(
                st.sampled_from([candidate for candidate in world.sessions.values() if world.streams[candidate.id]])
            )
            world.flush(session, data.draw(st.sampled_from([10_000, 1, 100, 333, 2000])))
            if data.draw(st.booleans()):
                world.one.sweep_and_crash(data.draw(st.integers(1, 40)))
            else:
                world.one.ingest()
                world.check()
        world.one.ingest()
        world.check()
        assert world.whole_messages() == world.written
    finally:
        world.close()
