"""kill -9 and errors of the disk at every call of `memoryd purge`: run again, the bytes are nowhere and the memory still stands."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.paths import paths_from
from tests.acceptance.command import memoryd
from tests.crash import strace
from tests.crash.test_commit_kill import ERRORS

if TYPE_CHECKING:
    from tests.crash.strace import Run
    from tests.torture.campaign import Campaign

SECRET = "Quetzal-77-otter"  # noqa: S105 - an example


class World:
    """One home with a memory that holds the text, put back to how it was before every fault."""

    def __init__(self, place: Path) -> None:
        self.home, self._fresh = str(place / "home"), str(place / "fresh")
        self._environment = {"PATH": os.environ["PATH"], "HOME": self.home}
        os.makedirs(self.home)
        done = memoryd(
            self._environment, "remember", "--type", "reference", f"The vault opens with {SECRET} on weekdays"
        )
        assert done.returncode == 0, done.stderr
        shutil.copytree(self.home, self._fresh)
        assert self.files_with()

    def reset(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self._fresh, self.home)

    def run(self, *inject: str) -> Run:
        return strace.run_module(self.home, ("tests.crash.purger", self.home, SECRET), *inject)

    def files_with(self) -> list[str]:
        paths = paths_from({"HOME": self.home})
        places = (Path(paths.state_dir), Path(paths.claude_dir))
        files = [path for place in places for path in place.rglob("*") if path.is_file()]
        return [str(path) for path in files if SECRET.encode() in path.read_bytes()]

    def trouble(self) -> str:
        """What is wrong after it was run once more; empty where all is well."""
        again = self.run()
        if again.returncode != 0:
            return f"the next run ends with {again.returncode}"
        if left := self.files_with():
            return f"its bytes are still in {left}"
        memories = list(Path(self.home, ".claude").rglob("reference_*.md"))
        is_whole = len(memories) == 1 and "The vault opens with xxxx" in memories[0].read_text()
        return "" if is_whole else f"the memory is lost or torn: {memories}"


@pytest.mark.torture
def test_whatever_fails_the_next_run_ends_it(tmp_path: Path, campaign: Campaign) -> None:
    world = World(tmp_path)
    plain = world.run()
    assert plain.returncode == 0
    assert not world.files_with()
    calls = list(plain.calls) if campaign.is_long else campaign.random.sample(list(plain.calls), 4)
    kills, errors = [], []
    tried = 0
    killed = 0
    for call in campaign.in_time(calls):
        killed += 1
        world.reset()
        world.run(f"{call.kind}:signal=KILL:when={call.number}")
        if trouble := world.trouble():
            kills.append(f"{call}: {trouble}")
        for error in ERRORS.get(call.kind, ())[:1]:
            tried += 1
            world.reset()
            failed = world.run(f"{call.kind}:error={error}:when={call.number}")
            if failed.returncode == 0 and world.files_with():
                errors.append(f"{call}: {error} went unnoticed")
            if trouble := world.trouble():
                errors.append(f"{call} with {error}: {trouble}")
    campaign.tried("faults", "kill at a disk call of purge", killed, kills)
    campaign.tried("faults", "error of a disk call of purge", tried, errors)
