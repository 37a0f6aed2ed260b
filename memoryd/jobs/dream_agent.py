"""A dream by a model: the agent consolidates a private copy of the memories, and the difference becomes revisions."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.engines.anthropic import dreaming, loop
from memoryd.engines.anthropic.progress import line_of, phase_of
from memoryd.engines.anthropic.tools import ToolBox
from memoryd.jobs.agent import with_fewer
from memoryd.jobs.dream_diff import revisions_of
from memoryd.jobs.dream_judge import DreamJudge
from memoryd.memory.directory import open_directory
from memoryd.memory.manifest import manifest_of
from memoryd.memory.staging import changes_in, staged
from memoryd.model import Progress
from memoryd.security.redact import redact
from memoryd.transcripts.follow import NotATranscriptError
from memoryd.transcripts.retold import retold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoryd.engines.anthropic.loop import Limits, Ran
    from memoryd.engines.anthropic.progress import Phase
    from memoryd.engines.anthropic.wire import Reply
    from memoryd.memory.staging import Staged
    from memoryd.model import DreamSession, Exchange, Revision, Said
    from memoryd.state.database import Database

_MOST_SESSIONS = 40
_RETOLD_CHARACTERS = 8 << 20
"""Of all sessions together: they are searched, a few megabytes in a second."""
_TEXT_CHARACTERS = 300
_PLACE_CHARACTERS = 80


class Dreamt(NamedTuple):
    revisions: tuple[Revision, ...]
    taken: int
    """How many of the turns, from the first on, were shown: the others did not fit."""


class Signal(NamedTuple):
    """What a dream is about. The words of turns come in redacted."""

    exchanges: Sequence[Exchange]
    sessions: Sequence[DreamSession]
    changed: Sequence[str]
    instructions: Sequence[str]
    project_root: str
    """Empty: the project's files are not to be seen."""


class Purse(NamedTuple):
    spent: Callable[[], float]
    usd_per_run: float


def dream(
    database: Database,
    memory_dir: str,
    place: str,
    signal: Signal,
    *,
    model: str,
    limits: Limits,
    ask: Callable[[dict[str, Any]], Reply],
    purse: Purse,
    now: Callable[[], float],
    note: Callable[[str, str], None],
    tell: Callable[[Progress], None],
) -> Dreamt:
    """Let the agent consolidate the memories.

    1. copy the memories, and retell the sessions
    2. brief the agent; where the turns do not fit, or it declines, with fewer of them
    3. let it edit the copy, each write judged as it comes
    4. make revisions of what it did, if it has come to an end by itself

    Raises what `loop.Run` and `tell` raise; RunFailedError where no end was reached, RefusedError where the model declines.
    """
    with ExitStack() as stack:
        directory = stack.enter_context(open_directory(memory_dir))
        shutil.rmtree(place, ignore_errors=True)  # of a process that died: the caller is the only dreamer here
        copy = stack.enter_context(staged(directory, place))
        desk = _Desk(copy, memory_dir, signal)
        manifest = manifest_of(copy.before)
        material = dreaming.Material(manifest, len(copy.before), desk.folders, signal.changed, desk.listed, now())

        def work(taken: int) -> DreamJudge:
            turns = signal.exchanges[:taken]
            judge = DreamJudge(database, memory_dir, copy, desk.said_with(turns), desk.instructions)
            with ToolBox(copy.path, judge, mounts=desk.mounts, windowed=(dreaming.TRANSCRIPTS,)) as box:
                desk.lay_out(box)
                brief = dreaming.brief_of(turns, material, limits)
                watch = _Watch(limits.turns, purse, tell)
                loop.Run(brief, model, box, ask, limits, now, note, watch=watch, whole=True).to_the_end()
            return judge

        judge, taken = with_fewer(work, dreaming.fitting(signal.exchanges, material, limits), copy)
        before = {name: state.data for name, state in copy.before.items()}
        return Dreamt(revisions_of(before, changes_in(copy), judge.evidence), taken)


class _Desk:
    """What lies beside the memories for the agent to look at."""

    def __init__(self, copy: Staged, memory_dir: str, signal: Signal) -> None:
        self._copy = copy
        self.instructions = [redact(text) for text in signal.instructions]
        self.listed: list[dreaming.Listed] = []
        self._retold: dict[str, str] = {}
        self._said: list[Said] = []
        room = _RETOLD_CHARACTERS
        for session in sorted(signal.sessions, key=lambda one: -one.at)[:_MOST_SESSIONS]:
            if room <= 0:
                break
            room -= self._retell(session, signal.project_root)
        places = {dreaming.LOGS: os.path.join(memory_dir, "logs"), dreaming.REPOSITORY: signal.project_root}
        self.mounts: Mapping[str, str] = {
            name: path for name, path in places.items() if os.path.isdir(path) and not os.path.islink(path)
        }
        laid_out = {dreaming.INSTRUCTIONS: self.instructions, dreaming.TRANSCRIPTS: self._retold}
        self.folders = [*self.mounts, *(name for name, texts in laid_out.items() if texts)]

    def said_with(self, turns: Sequence[Exchange]) -> list[Said]:
        """All that the user said that the agent can know of, oldest first."""
        shown = {exchange.said.message_id: exchange.said for exchange in turns}
        others = [one for one in self._said if one.message_id not in shown]
        return sorted((*others, *shown.values()), key=lambda one: one.said_at or 0.0)

    def lay_out(self, box: ToolBox) -> None:
        for number, text in enumerate(self.instructions, 1):
            box.lay_out(dreaming.INSTRUCTIONS, f"{number}.md", text)
        for name, text in self._retold.items():
            box.lay_out(dreaming.TRANSCRIPTS, name, text)

    def _retell(self, session: DreamSession, project_root: str) -> int:
        """Take in a session; returns how long it is. One that is gone or wants to be left out is none."""
        with suppress(OSError, NotATranscriptError):
            told = retold(session.path)
            name = re.sub(r"[^A-Za-z0-9-]", "_", session.session_id)[:64] + ".txt"
            if told is not None and told.text and name not in self._retold:
                self._retold[name] = told.text
                self._said += told.said
                inside = os.path.relpath(told.cwd or project_root or ".", project_root or ".")
                is_elsewhere = inside == "." or inside.startswith("..")
                place = "" if is_elsewhere else re.sub(r"[^\w./-]", "_", redact(inside))[:_PLACE_CHARACTERS]
                self.listed.append(dreaming.Listed(name, session.at, session.size, place))
                return len(told.text)
        return 0


class _Watch:
    """Tells after each turn how far the dream has come, and the agent when it has to end."""

    def __init__(self, turns: int, purse: Purse, tell: Callable[[Progress], None]) -> None:
        self._turns_left = turns
        self._purse = purse
        self._tell = tell
        self._phase: Phase = "orient"
        self._tools = 0
        self._files: dict[str, None] = {}

    def __call__(self, reply: Reply, ran: Sequence[Ran]) -> str:
        self._turns_left -= 1
        self._tools += len(ran)
        self._phase = phase_of(ran, self._phase)
        self._files |= dict.fromkeys(
            str(one.given["file_path"]).removeprefix("./") for one in ran if one.result.changed
        )
        said = " ".join(" ".join(block["text"] for block in reply.content if block["type"] == "text").split())
        spent = self._purse.spent()
        text = redact(said)[:_TEXT_CHARACTERS]
        self._tell(Progress(self._phase, redact(line_of(ran)), text, self._tools, tuple(self._files), spent))
        return dreaming.hint(self._turns_left, spent, self._purse.usd_per_run)
