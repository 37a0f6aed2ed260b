"""A session in which somebody works: prompts, calls of all kinds and what they answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from memoryd.clients.registry import ALL
from memoryd.notes.facts import SessionFacts
from tests.transcript import Session, line

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


class WorkingSession(Session):
    """A session whose tool calls have inputs and results."""

    def __init__(self, name: object = "work", cwd: str = "/code/acme") -> None:
        super().__init__(name, cwd)
        self._calls = 0

    def use(self, tool: str, answer: str = "ok", *, is_error: bool = False, **given: Any) -> bytes:
        """A call and its result."""
        call, number = self.ask(tool, **given)
        return call + self.answer(number, answer, is_error=is_error)

    def ask(self, tool: str, **given: Any) -> tuple[bytes, str]:
        """A call alone, and its id."""
        self._calls += 1
        number = f"call{self._calls}"
        block = {"type": "tool_use", "id": number, "name": tool, "input": given}
        message = {"role": "assistant", "content": [block], "stop_reason": "tool_use"}
        return line(self.entry("assistant", message=message)), number

    def answer(self, number: str, text: str, *, is_error: bool = False) -> bytes:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": number, "content": text}
        if is_error:
            block["is_error"] = True
        return line(self.entry("user", message={"role": "user", "content": [block]}, toolUseResult={"x": 1}))

    def long_turn(self, number: int, words: int = 150) -> bytes:
        """A turn of some hundred tokens, with a file and a command of its own."""
        return (
            self.prompt(f"step {number}: please make part {number} of the parser accept empty lines")
            + self.use("Read", f"line of part {number} " * words, file_path=f"{self.cwd}/src/part{number}.py")
            + self.use(
                "Edit", file_path=f"{self.cwd}/src/part{number}.py", old_string="a", new_string=f"def part_{number}():"
            )
            + self.use("Bash", f"{number} passed in 1.0s", command=f"pytest tests/test_part{number}.py")
            + self.reply(f"Part {number} accepts empty lines now.")
        )


def facts_of(data: bytes, *, look_lines: int = 7) -> SessionFacts:
    """What is collected from these lines, in looks of so many: between two of them it is kept as JSON."""
    lines, decode, facts = data.splitlines(), ALL[0].decoder(""), SessionFacts()
    for number, raw in enumerate(lines):
        if number % look_lines == 0:
            facts = SessionFacts(facts.as_json())
        for entry in decode(raw, Counter()):
            facts.take(entry)
    return facts
