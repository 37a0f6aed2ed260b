"""Asked to leave memory aside; programs have memory too."""

from __future__ import annotations

import pytest

from memoryd.language.memory_aside import asks_to_leave_aside


@pytest.mark.parametrize(
    "prompt",
    [
        "Ignore your memory and tell me how you would set this up.",
        "Without what you know about me: which editor would you pick?",
        "please don't use your memories for this one",
        "Leave memory aside for a moment. How are releases usually cut?",
        "Set your memories aside and review this plan.",
        "Forget everything you know about me and introduce yourself.",
        "Answer as if you had no memory.",
        "Pretend you don't know me.",
        "How would you do it without looking at MEMORY.md?",
        "Ignoriere dein Gedächtnis, was würdest du empfehlen?",
        "Vergiss mal, was du über mich weißt.",
        "Réponds sans utiliser ta mémoire.",
        "Olvida lo que sabes de mí y responde.",
        "忽略你的记忆,再回答一次",
        "記憶を使わずに答えて",
    ],
)
def test_what_is_asked_for(prompt: str) -> None:
    assert asks_to_leave_aside(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Ignore the memory leak for now, fix the parser first.",
        "Do not use memory-mapped files here.",
        "How much memory does it use without the cache?",
        "The GC should ignore all memory usage of the parent.",
        "Forget it, I will do that myself.",
        "Forget what I said about npm.",
        "What do you remember about me?",
        "Use what you know about me to write a short introduction.",
        "Delete the memory about pnpm.",
        "Skip the tests that need more memory.",
        "Run it without the memory profiler.",
        "If you don't know, ask.",
        "Do you know why the build fails without vendor/?",
        "Don't forget your memory of the last session matters here.",
    ],
)
def test_what_is_something_else(prompt: str) -> None:
    assert not asks_to_leave_aside(prompt)
