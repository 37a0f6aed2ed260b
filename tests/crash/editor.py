"""`python -m tests.crash.editor DIRECTORY LOG SEED KIND`: somebody who edits memory files without a pause.

Every edit carries a word of its own. Some time before it writes, and between two commits, the editor looks whether the
words that have to be in the file are there; a line of JSON in the log tells what was missing and what it wrote.
A line on its input ends it.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import select
import sys

NAMES = ("one.md", "two.md", "three.md")
KINDS = ("in place", "rename", "append")


class Editor:
    def __init__(self, directory: str, seed: int, kind: str) -> None:
        self._directory = directory
        self._descriptor = os.open(directory, os.O_RDONLY)
        self._random = random.Random(seed)
        self._kinds = KINDS if kind == "all" else (kind,)
        self._count = 0
        self._words: dict[str, list[str]] = {name: [] for name in NAMES}
        """The words that stand in each file, as far as the editor knows."""

    def edit(self) -> dict[str, object]:
        name = self._random.choice(NAMES)
        missing = self.look(name)
        select.select([], [], [], self._random.random() * 0.01)
        self._count += 1
        word = f"edit{self._count:06}edit"
        kind = self._random.choice(self._kinds)
        text = f"{word} and more words\n" * self._random.randrange(1, 400)
        path = os.path.join(self._directory, name)
        match kind:
            case "append":
                self._words[name].append(word)
                self._write(path, os.O_APPEND, text)
            case "in place":
                self._words[name] = [word]
                self._write(path, os.O_TRUNC, text)
            case _:
                self._words[name] = [word]
                other = os.path.join(self._directory, f"{name}~")
                self._write(other, os.O_TRUNC, text)
                os.rename(other, path)
        return {"name": name, "kind": kind, "word": word, "missing": missing}

    def look(self, name: str) -> list[str]:
        """The words that should be in the file and are not; they are not looked for again."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # what a commit shows for an instant tells nothing
        try:
            with open(os.path.join(self._directory, name), encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        missing = [word for word in self._words[name] if word not in text]
        self._words[name] = [word for word in self._words[name] if word in text]
        return missing

    def _write(self, path: str, how: int, text: str) -> None:
        """In several pieces, with pauses in which others may look."""
        data = text.encode()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
        try:
            while data:
                length = self._random.randrange(1, len(data) + 1)
                os.write(descriptor, data[:length])
                data = data[length:]
                if self._random.random() < 0.3:
                    select.select([], [], [], self._random.random() * 0.002)
        finally:
            os.close(descriptor)

    def pause(self) -> bool:
        """False when it is time to stop."""
        return not select.select([sys.stdin], [], [], self._random.choice((0, 0.001, 0.004, 0.02)))[0]


def main(directory: str, log: str, seed: str, kind: str) -> None:
    editor = Editor(directory, int(seed), kind)
    with open(log, "w", encoding="utf-8") as file:
        while editor.pause():
            file.write(json.dumps(editor.edit()) + "\n")
        file.writelines(json.dumps({"name": name, "missing": editor.look(name)}) + "\n" for name in NAMES)


if __name__ == "__main__":
    main(*sys.argv[1:])
