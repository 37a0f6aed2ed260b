"""Whether Claude Code hands memories back: memoryd's hooks in its settings, and the Python that they name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients import claude_code_file, claude_code_settings
from memoryd.clients.claude_code_settings import Switch
from memoryd.doctor.check import Check
from memoryd.errors import ClientError
from memoryd.words import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.claude_code_hooks import Standing
    from memoryd.doctor.check import World

_FIX = "memoryd hooks install"


class Facts(NamedTuple):
    home: str
    found: Sequence[Standing]
    off: Switch = Switch(None)
    """What keeps the client from running the user's hooks."""
    error: ClientError | None = None
    """Why nobody can say."""


def look(world: World) -> Facts:
    home, off = world.paths.home, claude_code_settings.read(world.paths, world.environment).hooks_off
    try:
        return Facts(home, claude_code_file.look(world.paths, world.environment, sys.executable), off)
    except ClientError as error:
        return Facts(home, (), off, error)


def judge(facts: Facts) -> Iterator[Check]:
    if facts.error is not None:
        yield Check("hooks", "note", facts.error.sentence.rstrip("."), facts.error.fix)
        return
    present = [one for one in facts.found if one.state != "missing"]
    gone = [one for one in present if not one.python_exists]
    if not present:
        yield Check("hooks", "note", "no hooks in Claude Code: a prompt gets nothing of what is remembered", _FIX)
        return
    if gone:
        text = f"the hooks in Claude Code do nothing: {short(gone[0].python, facts.home) or 'their Python'} is gone"
        yield Check("hooks", "problem", text, _FIX)
    elif any(one.state == "outdated" for one in present):
        text = "the hooks in Claude Code are of another Python or an older memoryd than this one"
        yield Check("hooks", "problem", text, _FIX)
    elif len(present) < len(facts.found):
        missing = ", ".join(one.event for one in facts.found if one.state == "missing")
        yield Check("hooks", "note", f"not all hooks are in Claude Code, missing: {missing}", _FIX)
    else:
        yield Check("hooks", "ok", "Claude Code has the hooks of this memoryd")
    if facts.off.is_on:
        key, _, place = facts.off.by.partition(" in ")
        yield Check("hooks", "note", f"Claude Code does not run them: {key} in {short(place, facts.home)}")
