"""How much of a session is in its notes: real transcripts and generated ones, each noted by code alone.

    python -m evaluation.notes [DIRECTORY...] [--verbose]

DIRECTORYs are searched for Claude Code transcripts; generated sessions make them up to forty. Of the last twenty turns the
messages of the user and the files that were changed are looked for in the notes and in what is handed back after a
compaction. The files are taken from the transcript's JSON, and not by the code that makes notes. Limits, planted secrets and
planted text of memoryd's own are checked in all of them.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clients.registry import ALL
from memoryd.jobs.notes import read_on
from memoryd.model import Prompt
from memoryd.notes.hand_back import handed_back
from memoryd.notes.sections import ALL_TOKENS, SECTION_TOKENS, TITLES, rendered, sections_of, size_of
from memoryd.recall.surface import HOOK_CHARACTERS
from memoryd.security.redact import find_secret, redact
from memoryd.state.notes import NotedSession
from tests.notes.working_session import SECRET, WorkingSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.notes.facts import SessionFacts

_SESSIONS = 40
_LAST_TURNS = 20
_CHARACTERS = 200
_TOKEN_BYTES = 4
_SELDOM = 0.1
_NOW = 1_795_000_000.0
_OURS = "Releases are cut from the branch called lighthouse"
_CHANGING = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_SENTENCES = (
    "please make the importer skip empty rows",
    "why does the second request time out? the log says nothing",
    "nein, die Prüfsumme muss vor dem Schreiben stimmen, nicht danach",
    "解析器应该接受空行 请修复并添加测试",
    "use the staging bucket, not the production one",
    "I'd rather have one function with a flag than two that are nearly the same",
)


class Truth(NamedTuple):
    messages: list[str]
    files: list[str]


class Score(NamedTuple):
    messages: tuple[int, int]
    """Found, of so many."""
    files: tuple[int, int]
    handed_messages: int
    handed_files: int
    problems: list[str]
    milliseconds: float


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    with tempfile.TemporaryDirectory() as place:
        real = list(_real(arguments))
        made = [_generated(Path(place), seed) for seed in range(max(0, _SESSIONS - len(real)))]
        scores = {path: _scored(path) for path in (*real, *made)}
    for path, score in scores.items():
        if "--verbose" in sys.argv or score.problems:
            print(f"{path.name[:40]:<42}", *score[:4], score.problems)
    for name, paths in (("real", real), ("generated", made)):
        _print(name, [scores[path] for path in paths])
    return 1 if any(score.problems for score in scores.values()) else 0


def _print(name: str, scores: list[Score]) -> None:
    def share(found: int, of: int) -> str:
        return f"{found}/{of} = {found / of:.3f}" if of else "none"

    messages, files = (sum(score.messages[1] for score in scores), sum(score.files[1] for score in scores))
    print(f"\n{name}: {len(scores)} sessions, last {_LAST_TURNS} turns of each")
    print("  messages in the notes   ", share(sum(score.messages[0] for score in scores), messages))
    print("  changed files in notes  ", share(sum(score.files[0] for score in scores), files))
    print("  messages handed back    ", share(sum(score.handed_messages for score in scores), messages))
    print("  changed files handed    ", share(sum(score.handed_files for score in scores), files))
    print("  limit, secret or own text broken:", sum(len(score.problems) for score in scores))
    print(f"  longest time to note a session: {max((score.milliseconds for score in scores), default=0):.0f} ms")


def _real(places: list[str]) -> Iterator[Path]:
    """Transcripts in which somebody said something to Claude Code."""
    for place in places:
        for path in sorted(Path(place).rglob("*.jsonl")):
            if not path.name.startswith("agent-") and "subagents" not in path.parts and _truth(path).messages:
                yield path


def _scored(path: Path) -> Score:
    truth = _truth(path)
    began = time.perf_counter()
    place = NotedSession(path.stem, ALL[0].name, str(path))
    notes, facts, is_complete = read_on(place, None, _NOW)
    while not is_complete:
        notes, facts, is_complete = read_on(place, notes, _NOW)
    text = rendered(path.stem, facts, {})
    spent = (time.perf_counter() - began) * 1e3
    handed = handed_back(facts, {}, "/state/notes.md", HOOK_CHARACTERS)
    return Score(
        (_found(truth.messages, text), len(truth.messages)),
        (_found(truth.files, text), len(truth.files)),
        _found(truth.messages, handed),
        _found(truth.files, handed),
        list(_problems(facts, text, handed, notes.facts)),
        spent,
    )


def _found(pieces: list[str], text: str) -> int:
    flat = " ".join(text.split())
    return sum(piece in flat for piece in pieces)


def _problems(facts: SessionFacts, text: str, handed: str, kept: str) -> Iterator[str]:
    if size_of(text) > ALL_TOKENS * _TOKEN_BYTES:
        yield f"{size_of(text) // _TOKEN_BYTES} tokens in all"
    for title, section in sections_of(facts, {}).items():
        if size_of(section) > SECTION_TOKENS * _TOKEN_BYTES:
            yield f"{title} has {size_of(section) // _TOKEN_BYTES} tokens"
    if [line[2:] for line in text.splitlines() if line.startswith("# ")] != list(TITLES):
        yield "not the ten sections"
    if len(handed) > HOOK_CHARACTERS:
        yield f"{len(handed)} characters are handed back"
    for name, where in (("notes", text), ("what is handed back", handed), ("the database", kept)):
        if SECRET in where or (kind := find_secret(where)):
            yield f"a secret is in {name}" if SECRET in where else f"{kind} is in {name}"
        if _OURS in where:
            yield f"words of memoryd's own are in {name}"


def _truth(path: Path) -> Truth:
    """What was said and changed in the last turns. Failed calls changed nothing."""
    decode, damage = ALL[0].decoder(str(path)), Counter[str]()
    turns: list[tuple[str, dict[str, str]]] = []
    cwd = ""
    for line in path.read_bytes().splitlines():
        for entry in decode(line, damage):
            if isinstance(entry, Prompt):
                said = " ".join(redact(entry.text).strip()[:_CHARACTERS].split())  # as said: blank lines count
                turns.append((said, {}))
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if not isinstance(value, dict) or value.get("isSidechain"):
            continue
        cwd = cwd or str(value.get("cwd") or "")
        for block in _blocks(value):
            given = block.get("input")
            if block.get("type") == "tool_use" and block.get("name") in _CHANGING and isinstance(given, dict) and turns:
                turns[-1][1][str(block.get("id"))] = str(given.get("file_path") or given.get("notebook_path") or "")
            elif block.get("type") == "tool_result" and block.get("is_error"):
                for _, files in turns:
                    files.pop(str(block.get("tool_use_id")), None)
    last = turns[-_LAST_TURNS:]
    places = [file.removeprefix(f"{cwd}/") for _, changed in last for file in changed.values() if file]
    return Truth([said for said, _ in last if said], [redact(place) for place in dict.fromkeys(places)])


def _blocks(value: dict[str, Any]) -> list[dict[str, Any]]:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _generated(place: Path, seed: int) -> Path:
    """A session of one to four hundred turns: long and short messages, several languages, errors, stops, secrets, our own text."""
    draw = random.Random(seed)  # noqa: S311 - sessions, not secrets
    session = WorkingSession(seed, cwd=f"/code/project{seed}")
    data = []
    for turn in range(draw.choice((1, 3, 12, 25, 60, 150, 400))):
        words = " ".join(draw.choices(_SENTENCES, k=draw.choice((1, 1, 1, 2, 8, 40))))
        if draw.random() < _SELDOM:
            words = f"<memoryd-recall>\n{_OURS}\n</memoryd-recall>\n{words}"
        if draw.random() < _SELDOM:
            words += f" the token is {SECRET}"
        data.append(session.prompt(f"{turn}: {words}"))
        for number in range(draw.randrange(6)):
            name = f"{session.cwd}/src/{draw.choice('abcdefgh')}{draw.randrange(40)}.py"
            tool = draw.choice(("Read", "Edit", "Write", "Bash", "Bash", "TodoWrite", "Edit!", "Bash!"))
            text = f"{tool} {number} " + "output " * draw.randrange(400)
            if draw.random() < _SELDOM:
                text += f"\nexport GITHUB_TOKEN={SECRET}"
            given: dict[str, Any] = {"file_path": name}
            if tool.startswith("Bash"):
                given = {
                    "command": f"make check-{draw.randrange(30)} TOKEN={SECRET if draw.random() < _SELDOM else 'x'}"
                }
            elif tool == "TodoWrite":
                given = {
                    "todos": [{"content": f"step {step}", "status": "pending"} for step in range(draw.randrange(9))]
                }
            elif tool != "Read":
                given |= {"old_string": "a", "new_string": "b", "content": f"def made_{number}(): ..."}
            data.append(session.use(tool.removesuffix("!"), text, is_error=tool.endswith("!"), **given))
        if draw.random() < _SELDOM:
            data.append(session.interrupt())
        else:
            data.append(session.reply(f"Done with {turn}. " + "It works. " * draw.randrange(200)))
    path = place / f"generated-{seed}.jsonl"
    path.write_bytes(b"".join(data))
    return path


if __name__ == "__main__":
    sys.exit(main())
