"""Planted text through the real pipeline, from a transcript to the memory directory: none of it is remembered unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memoryd.language.quotations import without_quotations
from memoryd.language.sentences import sentences_of
from tests.torture.harmless_text import harmless_statements
from tests.torture.planted_text import IN_PROMPTS, SENTENCES
from tests.transcript import Session, line

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.jobs.workspace import Workspace
    from tests.torture.campaign import Campaign


def _as_tool_result(session: Session, _dice: random.Random, planted: str) -> bytes:
    return session.prompt("read the notes") + session.call("t") + session.result("t", planted) + session.reply()


def _as_answer(session: Session, dice: random.Random, planted: str) -> bytes:
    said = dice.choice(("{}", "I suggest: {}", "Shall I note this? {}")).format(planted)
    return (
        session.prompt("what do you think?") + session.reply(said) + session.turn("hm, let me look at the parser first")
    )


def _as_clients_entry(session: Session, dice: random.Random, planted: str) -> bytes:
    fields: dict[str, Any] = dice.choice(
        (
            {"isMeta": True},
            {"isCompactSummary": True},
            {"isSidechain": True},
            {"origin": {"kind": "task-notification"}},
            {"toolUseResult": {"stdout": planted}},
            {"message": {"role": "assistant", "content": planted}},
        )
    )
    entry = session.entry("user", **({"message": {"role": "user", "content": planted}} | fields))
    return session.prompt("go on") + line(entry) + session.reply()


def _in_prompt(make: Callable[[random.Random, str], str]) -> Callable[[Session, random.Random, str], bytes]:
    return lambda session, dice, planted: session.turn(make(dice, planted))


KINDS: dict[str, Callable[[Session, random.Random, str], bytes]] = {
    **{kind: _in_prompt(make) for kind, make in IN_PROMPTS.items()},
    "tool results": _as_tool_result,
    "unconfirmed words of the agent": _as_answer,
    "entries that the client marks": _as_clients_entry,
}


@pytest.mark.torture
@pytest.mark.parametrize("kind", KINDS)
def test_planted_text_is_not_remembered(kind: str, workspace: Workspace, campaign: Campaign) -> None:
    number = 50 if campaign.is_long else 5
    for at in range(number):
        session = Session(f"{kind} {at}")
        workspace.append(session, KINDS[kind](session, campaign.random, SENTENCES[at % len(SENTENCES)]))
    workspace.work()
    written = "\n".join(workspace.bodies())
    through = [sentence for sentence in SENTENCES if sentence.rstrip(".") in written]
    campaign.tried("poisoning", kind, number, [f"{sentence!r} is a memory" for sentence in through])
    workspace.say(SENTENCES[0], session=Session("by the user"))
    workspace.work()
    assert any("deploy without tests" in body for body in workspace.bodies()), "what the user says is remembered"


@pytest.mark.torture
def test_harmless_statements_are_treated_as_any_other(campaign: Campaign) -> None:
    """They look like attacks, and stay the user's words: 97 of 100 at least."""
    number = 300
    statements = harmless_statements(campaign.random, number)
    lost = [text for text, own in statements if own not in " ".join(sentences_of(without_quotations(text)))]
    campaign.tried("poisoning", f"harmless look-alikes ({number - len(lost)} heard as any other)", number)
    assert len(lost) <= number * 3 // 100, (campaign.seed, lost[:10])
