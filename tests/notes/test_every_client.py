"""Notes of every client's sessions: made from typed entries, so that no client has to do anything for them."""

from __future__ import annotations

from collections import Counter

import pytest

from memoryd.clients.registry import client_named
from memoryd.notes.facts import SessionFacts
from tests.clients.samples import ANSWER, PROMPT, SAMPLES, sample_of

FILE = "/code/acme/src/parser.py"


def noted(name: str, *, has_failed: bool) -> SessionFacts:
    sample, facts = sample_of(name), SessionFacts()
    data = sample.head + sample.prompt + sample.call(FILE) + (sample.failure if has_failed else sample.result)
    decode = client_named(name).decoder(sample.session_file)
    for line in (data + sample.reply).splitlines():
        for entry in decode(line, Counter()):
            facts.take(entry)
    return facts


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_messages_changed_files_and_answers_are_noted(name: str) -> None:
    facts = noted(name, has_failed=False)
    assert [message.text for message in facts.messages] == [PROMPT]
    assert facts.answer == ANSWER
    assert [file.path.removeprefix("/code/acme/") for file in facts.files.values() if file.changes] == ["src/parser.py"]
    assert facts.running == []


# The sample of Gemini's call says in the same line that it succeeded.
@pytest.mark.parametrize("name", sorted({*SAMPLES} - {"gemini-cli"}))
def test_a_change_that_was_refused_is_a_problem_and_no_change(name: str) -> None:
    facts = noted(name, has_failed=True)
    assert [file.path for file in facts.files.values() if file.changes] == []
    assert len(facts.problems) == 1
