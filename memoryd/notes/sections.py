"""Sections of session notes: ten of them, each within its limit, all within one. Pure.

What code collected stands in every section below what a model wrote there. Where there is no room the oldest is shortened
first, and then left out with its number.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memoryd.notes.facts import BYTES_PER_TOKEN, LINE_CHARACTERS, MESSAGE_CHARACTERS
from memoryd.notes.newness import LEAST_NEW, SHOWN_CHARACTERS, most_telling_first, new_words
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoryd.clients.tool_actions import PlanStep
    from memoryd.notes.facts import RunCommand, SaidMessage, SessionFacts, SessionProblem, TouchedFile, TurnLine

TITLES = (
    *("Session Title", "Current State", "Task", "Files and Functions", "Workflow", "Errors and Corrections"),
    *("System Documentation", "Learnings", "Key Results", "Worklog"),
)
SECTION_TOKENS = 2_000
ALL_TOKENS = 12_000
WRITTEN_TOKENS = 1_000
"""Of a section, for what a model writes: the rest is for what code has collected."""
NOTHING = "(nothing yet)"
HEAD = "<!-- memoryd notes of session "
_BY_USE = (0, 1, 2, 5, 3, 4, 8, 7, 6, 9)
"""The sections, the most useful first: in this order they get their room."""
_LEAST_TOKENS = 150
"""What is left for each of the others."""
_MARGIN_BYTES = 400
"""For headings and the first line."""
_TITLE_CHARACTERS = 100
_STEPS_DONE = 5
_WHOLE_TURNS = 20
"""So many of the last turns are not shortened for the sake of older ones."""
_OPEN_PROBLEMS = 3
_OPEN_TURNS = 10
"""What failed before them and was not tried again is over."""
_MOST_SHOWN = 40
"""Messages that are handed back: among more of them the weighty ones are not seen."""
_LAST_SHOWN = 5
"""So many of the last messages and answers are handed back, whatever they say."""


class ListItem(NamedTuple):
    """One piece of a list: as it should be, and shortened."""

    full: str
    short: str


def rendered(session_id: str, facts: SessionFacts, written: Mapping[str, str]) -> str:
    """The notes as a file. `written`: what a model wrote, by the title of the section."""
    sections = sections_of(facts, written)
    parts = [f"# {title}\n{sections[title] or NOTHING}\n" for title in TITLES]
    head = f"{HEAD}{session_id}: made from its transcript, and made anew as it grows -->\n"
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms, and a hook often finds nothing new

    return redact(head + "\n" + "\n".join(parts))


def sections_of(facts: SessionFacts, written: Mapping[str, str]) -> dict[str, str]:
    """Every section, within its limit and all within theirs."""
    left = ALL_TOKENS * BYTES_PER_TOKEN - _MARGIN_BYTES
    found: dict[str, str] = {}
    for number, index in enumerate(_BY_USE, 1):
        title = TITLES[index]
        room = min(SECTION_TOKENS * BYTES_PER_TOKEN, left - _LEAST_TOKENS * BYTES_PER_TOKEN * (len(_BY_USE) - number))
        words = cut_bytes(written.get(title, "").strip(), min(WRITTEN_TOKENS * BYTES_PER_TOKEN, room))
        collected = _BUILDERS[title](facts, room - size_of(words) - 2) if not (words and index == 0) else ""
        found[title] = "\n\n".join(filter(None, (words, collected)))
        left -= size_of(found[title])
    return found


# --- each section -----------------------------------------------------------------------------------------------------


def title_of(facts: SessionFacts) -> str:
    words = " ".join(facts.first.split())
    return words if len(words) <= _TITLE_CHARACTERS else f"{words[:_TITLE_CHARACTERS]}…"


def _title(facts: SessionFacts, room: int) -> str:
    return cut_bytes(title_of(facts), room)


def state_of(facts: SessionFacts, room: int) -> str:
    """Where the session is: the last message, the plan, what runs, the last answer."""
    if not facts.lines:
        return ""
    last = facts.lines[-1]
    stopped = " The user stopped it." if last.is_stopped else ""
    parts = [f"Turn {facts.turns}{_when(last.at)} in {facts.cwd or 'an unknown directory'}.{stopped}"]
    if facts.messages:
        parts.append(f"The user's last message: {_quoted(facts.messages[-1].text, LINE_CHARACTERS * 3)}")
    if facts.plan:
        parts.append("Plan:\n" + "\n".join(map(_step, _steps_shown(facts.plan))))
    if facts.plan_text:
        parts.append(f"The plan as it was written:\n{_indented(cut_bytes(facts.plan_text, room // 4))}")
    if facts.running:
        parts.append("Called, and not answered yet: " + "; ".join(facts.running[-3:]))
    text = cut_bytes("\n".join(parts), room)
    left = room - size_of(text) - 40
    if facts.answer and left > LINE_CHARACTERS:
        text += f"\nThe last answer:\n{_indented(cut_bytes(facts.answer, left * 9 // 10))}"
    return text


def _task(facts: SessionFacts, room: int) -> str:
    if not facts.messages:
        return ""
    first = cut_bytes(f"It began with: {_quoted(facts.first, len(facts.first))}", room // 4)
    head = f"{first}\nWhat the user said since, word for word, cut where it is long:"
    others = [message for message in facts.messages if message.turn > 1]
    if not others:
        return first
    order = most_telling_first([message.text for message in others], _WHOLE_TURNS)
    items = [_message_item(message) for message in others]
    return f"{head}\n{fitted(items, room - size_of(head) - 1, order=order)}"


def messages_shown(facts: SessionFacts, room: int) -> str:
    """The last messages of the user, and those before them that say the most; without the first, which is the task."""
    messages = [message for message in facts.messages if message.turn > 1]
    order = most_telling_first([message.text for message in messages], _LAST_SHOWN)
    items = [_message_item(message, SHOWN_CHARACTERS) for message in messages]
    return fitted(items, room, order=order[:_MOST_SHOWN], whole=_LAST_SHOWN)


def files_shown(facts: SessionFacts, room: int) -> str:
    """Files that were changed, the last one first, and then those that were only read."""
    known = list(reversed(facts.files.values()))
    changed = [file for file in known if file.changes]
    read = [file for file in known if not file.changes]
    parts = []
    if changed:
        text = "Changed, the last one first:\n" + fitted(
            [_file_item(file) for file in changed], room * 3 // 4, newest_first=True
        )
        parts.append(text)
        room -= size_of(text)
    if read and room > LINE_CHARACTERS:
        parts.append("Read only:\n" + fitted([_file_item(file) for file in read], room - 20, newest_first=True))
    return "\n".join(parts)


def commands_shown(facts: SessionFacts, room: int) -> str:
    """Commands with their outcome, the last one first, and the skills in use."""
    parts = []
    if facts.skills:
        parts.append("Skills in use: " + ", ".join(facts.skills))
        room -= size_of(parts[0])
    if facts.commands:
        parts.append("Commands, the last one first:\n" + _commands(list(reversed(facts.commands.values())), room - 40))
    return "\n".join(parts)


def _commands(commands: list[RunCommand], room: int) -> str:
    """The last of those that are alike; one that failed in any case."""
    counts = new_words(command.command for command in commands)
    order = [
        at
        for at, command in enumerate(commands)
        if at < _LAST_SHOWN or counts[at] >= LEAST_NEW or command.outcome != "ok"
    ]
    return fitted([_command_item(command) for command in commands], room, newest_first=True, order=order)


def _problems(facts: SessionFacts, room: int) -> str:
    items = [_problem_item(problem) for problem in reversed(facts.problems)]
    return fitted(items, room, newest_first=True)


def open_ends(facts: SessionFacts, room: int) -> str:
    """What is not done: open steps, commands that still fail, calls that were never answered."""
    parts = [_step(step) for step in facts.plan if not step.is_done]
    failing = [problem for problem in facts.problems if problem.subject and not problem.solved_in]
    parts += [
        _problem_item(problem).full for problem in failing[-_OPEN_PROBLEMS:] if problem.turn > facts.turns - _OPEN_TURNS
    ]
    parts += [f"- not answered: {subject}" for subject in facts.running[-3:]]
    return fitted([ListItem(part, part[:LINE_CHARACTERS]) for part in parts], room)


def results_shown(facts: SessionFacts, room: int) -> str:
    """The last answer of each of the last turns, and of those before them that found the most."""
    items = [
        ListItem(f"- turn {turn}: {_indented(text)}", f"- turn {turn}: {_line(text, LINE_CHARACTERS)}")
        for turn, text in facts.results
    ]
    order = most_telling_first([text for _, text in facts.results], _LAST_SHOWN)
    return fitted(items, room, order=order)


def _worklog(facts: SessionFacts, room: int) -> str:
    before = facts.lines[0].number - 1 if facts.lines else 0
    return fitted([_turn_item(line) for line in facts.lines], room, left_out=max(0, before), whole=_WHOLE_TURNS)


def _only_written(_facts: SessionFacts, _room: int) -> str:
    """What only a model can say."""
    return ""


_BUILDERS: dict[str, Callable[[SessionFacts, int], str]] = dict(
    zip(
        TITLES,
        (
            *(_title, state_of, _task, files_shown, commands_shown, _problems),
            *(_only_written, _only_written, results_shown, _worklog),
        ),
        strict=True,
    )
)


# --- one piece --------------------------------------------------------------------------------------------------------


def _message_item(message: SaidMessage, most: int = MESSAGE_CHARACTERS) -> ListItem:
    head = f"- turn {message.turn}: "
    return ListItem(head + _quoted(message.text, most), head + _quoted(message.text, LINE_CHARACTERS))


def _file_item(file: TouchedFile) -> ListItem:
    did = [f"changed {_times(file.changes)}"] if file.changes else []
    did += [f"read {_times(file.reads)}"] if file.reads else []
    names = f": {', '.join(file.names)}" if file.names else ""
    return ListItem(f"- {file.path} ({', '.join(did)}, turn {file.turn}){names}", f"- {file.path}")


def _command_item(command: RunCommand) -> ListItem:
    outcome = command.outcome or "still running"
    detail = f": {command.detail}" if command.detail else ""
    times = f", {_times(command.times)}" if command.times > 1 else ""
    head = f"- `{command.command}`"
    return ListItem(f"{head} → {outcome}{detail} (turn {command.turn}{times})", f"{head} → {outcome}")


def _problem_item(problem: SessionProblem) -> ListItem:
    end = f" Worked in turn {problem.solved_in}." if problem.solved_in else ""
    head = f"- turn {problem.turn}: {problem.what}"
    return ListItem(f"{head}: {_line(problem.error, 400)}{end}", f"{head}: {_line(problem.error, 80)}{end}")


def _turn_item(line: TurnLine) -> ListItem:
    head = f"- {line.number}{_when(line.at)}: {_quoted(line.prompt, LINE_CHARACTERS)}"
    did = [f"changed {', '.join(line.files)}"] if line.files else []
    did += [f"ran {_number(line.commands, 'command')}"] if line.commands else []
    did += [f"{_number(line.failures, 'error')}"] if line.failures else []
    did += ["stopped by the user"] if line.is_stopped else []
    done = f" → {'; '.join(did)}" if did else ""
    answer = f". {line.answer}" if line.answer else ""
    short = f"- {line.number}: {_quoted(line.prompt, 60)}{done[:100]}"
    return ListItem(f"{head}{done}{answer}", short)


def _step(step: PlanStep) -> str:
    mark = "x" if step.is_done else ">" if "progress" in step.status else " "
    return f"- [{mark}] {step.text}"


def _steps_shown(plan: Sequence[PlanStep]) -> list[PlanStep]:
    """All that are open, and the last that are done."""
    done = [step for step in plan if step.is_done][-_STEPS_DONE:]
    return [step for step in plan if not step.is_done or step in done]


def _when(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime(" (%Y-%m-%d %H:%M)")


def _quoted(text: str, most: int) -> str:
    return f'"{_indented(text if len(text) <= most else f"{text[:most]}…")}"'


def _line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"


def _indented(text: str) -> str:
    """No line of somebody's words begins a section."""
    return text.replace("\n", "\n  ")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# --- room -------------------------------------------------------------------------------------------------------------


def size_of(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def cut_bytes(text: str, most: int) -> str:
    data = text.encode("utf-8", "replace")
    return data.decode() if len(data) <= most else data[: max(0, most - 5)].decode("utf-8", "ignore") + " […]"


def fitted(
    items: Sequence[ListItem],
    room: int,
    *,
    newest_first: bool = False,
    left_out: int = 0,
    whole: int = 0,
    order: Sequence[int] | None = None,
) -> str:
    """As many items as there is room for: short ones, the oldest left out; then the newest as they should be.

    So many of the newest are `whole` before older ones get their room, while they fit into three quarters of it. `order`: in
    which the items get their room, if not from the newest on; what is not in it is left out.
    """
    is_chosen = order is not None
    if order is None:
        order = list(range(len(items))) if newest_first else list(range(len(items) - 1, -1, -1))
    room -= 60  # for the line that tells how many are left out
    older = room // 4
    taken: dict[int, str] = {}
    for number, index in enumerate(order):
        full, short = items[index]
        text = full if number < whole and size_of(full) + 1 <= room - older else short
        if size_of(text) + 1 > room:
            break
        taken[index] = text
        room -= size_of(text) + 1
    for index in order[: len(taken)]:
        more = size_of(items[index].full) - size_of(taken[index])
        if more <= room:
            taken[index] = items[index].full
            room -= more
    lines = [taken[index] for index in sorted(taken)]
    missing = len(items) - len(taken) + left_out
    note = [f"- and {missing} {'others, which say little that is new' if is_chosen else 'earlier'}"] if missing else []
    return "\n".join([*lines, *note] if newest_first else [*note, *lines])
