"""Facts of one session, collected entry by entry: what its notes are made of.

Bounded, however long the session is, and without secrets. They are kept as JSON between two looks at the transcript, so that
a look costs what is new and no more.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from memoryd.clients.tool_actions import PlanStep, action_of, answer_text
from memoryd.model import Interrupt, Prompt, Reply, Results
from memoryd.notes.newness import shortened
from memoryd.record import NamedTuple
from memoryd.transcripts.opt_out import is_opt_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memoryd.clients.tool_actions import ToolAction
    from memoryd.model import Entry, ToolCall

_VERSION = 2
"""Facts of another version are collected anew."""
BYTES_PER_TOKEN = 4
_MOST_RESULT_TOKENS = 25_000
"""Of one result: more never reaches a model; an image counts no more either."""
MESSAGE_CHARACTERS = 1_500
LINE_CHARACTERS = 200
_ANSWER_CHARACTERS = 4_000
_RESULT_CHARACTERS = 600
_DETAIL_CHARACTERS = 300
_WORD_CHARACTERS = 40
_TAIL_CHARACTERS = 2_048
"""Of a text, in which its last lines are looked for."""
_LAST_MESSAGES = 60
_TELLING_MESSAGES = 60
"""Of those before the last ones."""
_MOST_TURNS = 200
_MOST_FILES = 200
_MOST_COMMANDS = 80
_MOST_PROBLEMS = 40
_LAST_RESULTS, _TELLING_RESULTS = 12, 12
_MOST_STEPS = 60
_MOST_PENDING = 100
_MOST_SKILLS = 20
_MOST_NAMES = 6
_TURN_FILES = 6
_DEFINES = re.compile(r"\b(?:def|class|fn|func|function|interface|struct|enum|trait)\s+([A-Za-z_]\w{2,60})")
_EXIT_CODE = re.compile(r"Exit code (\d+)\n?")


class SaidMessage(NamedTuple):
    """A message of the user; its text is cut."""

    turn: int
    at: float | None
    text: str


class TurnLine(NamedTuple):
    """One turn in a line."""

    number: int
    at: float | None
    prompt: str
    files: tuple[str, ...] = ()
    """Those that it changed."""
    calls: int = 0
    commands: int = 0
    failures: int = 0
    answer: str = ""
    is_stopped: bool = False
    """The user pressed escape."""


class TouchedFile(NamedTuple):
    path: str
    turn: int
    """In which it was last touched."""
    reads: int = 0
    changes: int = 0
    names: tuple[str, ...] = ()
    """Functions and classes that stand in the changed passages."""


class RunCommand(NamedTuple):
    command: str
    turn: int
    times: int = 1
    outcome: str = ""
    """`ok`, `failed`, `exit code 2`; empty while it runs."""
    detail: str = ""
    """The last line that it printed."""


class SessionProblem(NamedTuple):
    """A call that ended with an error, or something that the user stopped."""

    turn: int
    what: str
    error: str
    subject: str = ""
    """By which a later success is recognised."""
    solved_in: int = 0
    """The turn in which the same worked; 0: none yet."""


class _Pending(NamedTuple):
    """A call that has not been answered."""

    kind: str
    subject: str
    is_silent: bool = False
    files: tuple[str, ...] = ()
    """Those that it sets out to change."""


class SessionFacts:
    """Made of the JSON that `as_json` returned, or empty."""

    def __init__(self, kept: str = "") -> None:
        known = _parsed(kept)
        self.cwd: str = known.get("cwd", "")
        self.branch: str = known.get("branch", "")
        self.tokens: int = known.get("tokens", 0)
        self.calls: int = known.get("calls", 0)
        self.turns: int = known.get("turns", 0)
        self.calls_in_turn: int = known.get("calls_in_turn", 0)
        self.opted_out: bool = known.get("opted_out", False)
        self.first: str = known.get("first", "")
        self.answer: str = known.get("answer", "")
        self.plan_text: str = known.get("plan_text", "")
        self.messages = [SaidMessage(*each) for each in known.get("messages", ())]
        self.lines = [TurnLine(*each)._replace(files=tuple(each[3])) for each in known.get("lines", ())]
        self.files = {each[0]: TouchedFile(*each)._replace(names=tuple(each[4])) for each in known.get("files", ())}
        self.commands = {each[0]: RunCommand(*each) for each in known.get("commands", ())}
        self.problems = [SessionProblem(*each) for each in known.get("problems", ())]
        self.results = [(turn, text) for turn, text in known.get("results", ())]
        self.plan = [PlanStep(*each) for each in known.get("plan", ())]
        self.skills: dict[str, int] = known.get("skills", {})
        self._pending = {name: _Pending(*each) for name, each in known.get("pending", {}).items()}
        self._answered: dict[str, Callable[[str, str, bool], None]] = {
            "run": self._command_ended,
            "change": self._change_ended,
        }

    def as_json(self) -> str:
        return json.dumps(
            {
                "version": _VERSION,
                **{name: value for name, value in vars(self).items() if name[0] != "_"},
                "files": list(self.files.values()),
                "commands": list(self.commands.values()),
                "pending": self._pending,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @property
    def is_empty(self) -> bool:
        return not self.lines

    @property
    def running(self) -> list[str]:
        """What was called and has not answered."""
        return [pending.subject for pending in self._pending.values() if not pending.is_silent]

    def take(self, entry: Entry) -> None:
        if isinstance(entry, Prompt):
            self._begin_turn(entry)
        elif isinstance(entry, Reply):
            self._take_reply(entry)
        elif isinstance(entry, Results):
            self._take_results(entry)
        elif isinstance(entry, Interrupt):
            self._interrupted()

    # --- the user -----------------------------------------------------------------------------------------------------

    def _begin_turn(self, prompt: Prompt) -> None:
        self.opted_out |= is_opt_out(prompt.text)
        self.cwd = self.cwd or prompt.cwd
        self.branch = prompt.branch or self.branch
        self.turns += 1
        self.calls_in_turn = 0
        self.tokens += _tokens(prompt.text)
        text = _redacted(prompt.text.strip(), MESSAGE_CHARACTERS)
        self.first = self.first or text
        self.messages = shortened(
            [*self.messages, SaidMessage(self.turns, prompt.said_at, text)],
            lambda message: message.text,
            _LAST_MESSAGES,
            _TELLING_MESSAGES,
        )
        line = TurnLine(self.turns, prompt.said_at, _one_line(text, LINE_CHARACTERS))
        if self.lines and self.lines[-1].is_stopped:
            self._problem("The user stopped the work", f"and then said: {_one_line(text, _DETAIL_CHARACTERS)}")
        self.lines = [*self.lines, line][-_MOST_TURNS:]

    def _interrupted(self) -> None:
        self._pending.clear()
        if self.lines:
            self.lines[-1] = self.lines[-1]._replace(is_stopped=True)

    # --- the assistant ------------------------------------------------------------------------------------------------

    def _take_reply(self, reply: Reply) -> None:
        self.cwd = self.cwd or reply.cwd
        if not self.lines:  # begun by a command of the client, which is no message
            self.lines.append(TurnLine(0, reply.said_at, ""))
        for text in filter(str.strip, reply.texts):
            self.tokens += _tokens(text)
            self.answer = _redacted(text.strip(), _ANSWER_CHARACTERS)
            result = (self.turns, self.answer[:_RESULT_CHARACTERS])
            is_same_turn = self.results and self.results[-1][0] == self.turns
            results = [*(self.results[:-1] if is_same_turn else self.results), result]
            self.results = shortened(results, lambda each: each[1], _LAST_RESULTS, _TELLING_RESULTS)
            self.lines[-1] = self.lines[-1]._replace(answer=_one_line(self.answer, LINE_CHARACTERS))
        for call in reply.calls:
            self._take_call(call)

    def _take_call(self, call: ToolCall) -> None:
        self.calls += 1
        self.calls_in_turn += 1
        self.tokens += len(bytes(call.given)) // BYTES_PER_TOKEN
        self.lines[-1] = self.lines[-1]._replace(calls=self.lines[-1].calls + 1)
        action = action_of(call)
        subject = self._subject(action) or call.name
        is_silent = action.kind in ("plan", "skill")
        changes = tuple(map(self._place, action.files)) if action.kind in ("change", "run") else ()
        self._pending[call.id] = _Pending(action.kind, subject, is_silent, changes)
        while len(self._pending) > _MOST_PENDING:
            del self._pending[next(iter(self._pending))]
        if action.kind == "run":
            before = self.commands.pop(subject, RunCommand(subject, self.turns, 0))
            self.commands[subject] = RunCommand(subject, self.turns, before.times + 1)
            _shorten(self.commands, _MOST_COMMANDS)
            self.lines[-1] = self.lines[-1]._replace(commands=self.lines[-1].commands + 1)
        elif action.kind == "plan":
            self._take_plan(action)
        elif action.kind == "skill" and action.skill:
            self.skills.pop(action.skill, None)
            self.skills[_excerpt(action.skill, LINE_CHARACTERS)] = self.turns
            _shorten(self.skills, _MOST_SKILLS)
        for path in action.files:
            self._touch(path, action)

    def _subject(self, action: ToolAction) -> str:
        if action.kind == "run":
            return _excerpt(action.command, LINE_CHARACTERS)
        return self._place(action.files[0]) if action.files else ""

    def _touch(self, path: str, action: ToolAction) -> None:
        is_read = action.kind == "read"
        if action.kind == "other" or (path.startswith("/dev/") and not path.startswith("/dev/shm/")):  # noqa: S108 - only told apart
            return  # a folder that is searched, a device
        place = self._place(path)
        before = self.files.pop(place, TouchedFile(place, 0))
        names = tuple(dict.fromkeys((*before.names, *_DEFINES.findall(action.passage[:20_000]))))[-_MOST_NAMES:]
        self.files[place] = TouchedFile(
            place, self.turns, before.reads + is_read, before.changes + (not is_read), names
        )
        _shorten(self.files, _MOST_FILES)
        if not is_read:
            line = self.lines[-1]
            changed = dict.fromkeys((*line.files, place))
            self.lines[-1] = line._replace(files=tuple(changed)[-_TURN_FILES:])

    def _place(self, path: str) -> str:
        """Below the session's working directory, the path from there."""
        path = _excerpt(path, 2 * LINE_CHARACTERS)
        if self.cwd and path.startswith(self.cwd.rstrip("/") + "/"):
            path = path[len(self.cwd.rstrip("/")) + 1 :]
        return os.path.normpath(path) if path else path

    def _take_plan(self, action: ToolAction) -> None:
        def clean(step: PlanStep) -> PlanStep:
            return PlanStep(
                _excerpt(step.text, LINE_CHARACTERS),
                _excerpt(step.status, _WORD_CHARACTERS),
                _excerpt(step.id, _WORD_CHARACTERS),
            )

        if action.plan is not None:
            self.plan = [clean(step) for step in action.plan][-_MOST_STEPS:]
        elif action.passage:
            self.plan_text = _redacted(action.passage.strip(), _ANSWER_CHARACTERS)
        elif action.step is not None and not action.step.id:  # a client numbers its tasks from one
            number = 1 + max((int(step.id) for step in self.plan if step.id.isdigit()), default=0)
            self.plan.append(clean(action.step._replace(id=str(number))))
            self.plan = self.plan[-_MOST_STEPS:]
        elif action.step is not None:
            self.plan = [
                step._replace(status=action.step.status) if step.id == action.step.id else step for step in self.plan
            ]

    # --- the tools ----------------------------------------------------------------------------------------------------

    def _take_results(self, results: Results) -> None:
        for number, call_id in enumerate(results.call_ids):
            content = results.contents[number] if number < len(results.contents) else b""
            self.tokens += min(len(bytes(content)) // BYTES_PER_TOKEN, _MOST_RESULT_TOKENS)
            pending = self._pending.pop(call_id, None)
            if pending is None:
                continue
            is_error = call_id in results.errors or call_id in results.failed
            if is_error:
                self.lines[-1] = self.lines[-1]._replace(failures=self.lines[-1].failures + 1)
            if call_id in results.failed:
                self._not_changed(pending.files)
            if ended := self._answered.get(pending.kind):
                ended(pending.subject, answer_text(content), is_error)
            elif is_error:
                self._problem(pending.subject, _first_lines(answer_text(content)), pending.subject)

    def _command_ended(self, subject: str, text: str, is_error: bool) -> None:
        code = _EXIT_CODE.match(text)
        outcome = f"exit code {code[1]}" if code else "failed" if is_error else "ok"
        last = _last_lines(text[code.end() :] if code else text)
        if subject in self.commands:
            detail = last.rsplit("\n", 1)[-1][:LINE_CHARACTERS]
            self.commands[subject] = self.commands[subject]._replace(outcome=outcome, detail=detail)
        if outcome == "ok":
            self._solved(subject)
        else:
            self._problem(f"`{subject}`: {outcome}", last, subject)

    def _change_ended(self, subject: str, text: str, is_error: bool) -> None:
        if not is_error:
            self._solved(subject)
            return
        self._problem(f"Changing {subject} failed", _first_lines(text), subject)

    def _not_changed(self, places: Iterable[str]) -> None:
        """A call that was refused or failed has changed nothing after all."""
        for place in places:
            if (file := self.files.get(place)) is not None and file.changes:
                self.files[place] = file._replace(changes=file.changes - 1)
                if file.changes == 1:
                    left = tuple(known for known in self.lines[-1].files if known != place)
                    self.lines[-1] = self.lines[-1]._replace(files=left)

    def _problem(self, what: str, error: str, subject: str = "") -> None:
        others = [known for known in self.problems if not subject or known.subject != subject or known.solved_in]
        self.problems = [*others, SessionProblem(self.turns, what, error, subject)][-_MOST_PROBLEMS:]

    def _solved(self, subject: str) -> None:
        self.problems = [
            known._replace(solved_in=self.turns) if known.subject == subject and not known.solved_in else known
            for known in self.problems
        ]


def _parsed(kept: str) -> dict[str, Any]:
    known = json.loads(kept) if kept else {}
    return known if known.get("version") == _VERSION else {}


def _tokens(text: str) -> int:
    return (len(text.encode("utf-8", "replace")) + BYTES_PER_TOKEN - 1) // BYTES_PER_TOKEN


def _one_line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"


def _excerpt(text: str, most: int) -> str:
    """The beginning of a text in one line, without secrets."""
    return _one_line(_redacted(text, 2 * most), most)


def _first_lines(text: str) -> str:
    """The beginning of what a tool answered: there it says why it refused."""
    return _redacted(text.strip(), _DETAIL_CHARACTERS)


def _last_lines(text: str) -> str:
    """The end of what a tool printed, where an error mostly stands."""
    lines = [line.strip() for line in _redacted(text, _TAIL_CHARACTERS, is_end=True).splitlines() if line.strip()]
    return "\n".join(lines[-3:])[-_DETAIL_CHARACTERS:]


def _shorten(known: dict[str, Any], most: int) -> None:
    while len(known) > most:
        del known[next(iter(known))]


def _redacted(text: str, most: int, *, is_end: bool = False) -> str:
    from memoryd.security import redact  # noqa: PLC0415 - 40 ms, and a hook often finds nothing new

    return (redact.redacted_end if is_end else redact.redacted_excerpt)(text, most)
