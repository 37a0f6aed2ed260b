"""Hooks of clients that load a script of memoryd: the script asks `memoryd hook`, in a form that is memoryd's own."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from memoryd.clients.hook_dialect import HookDialect, command_of

if TYPE_CHECKING:
    from memoryd.clients.connections import Obstacle
    from memoryd.paths import Paths

_COMMAND = '["memoryd"]'


class ScriptHooks(HookDialect):
    """What a script is answered: the text for the model, or why a call is refused. It can add nothing to a call."""

    shows_notices = False

    def hook_answer(self, event: str, text: str, notice: str = "") -> str:  # noqa: ARG002
        return json.dumps({"context": text}) if text and self._event(event).kind != "call" else ""

    def hook_refusal(self, event: str, reason: str) -> str:  # noqa: ARG002 - only one event can be refused
        return json.dumps({"refusal": reason})

    def obstacle(self, paths: Paths, python: str) -> Obstacle | None:  # noqa: ARG002 - their clients load all scripts
        return None


def script_text(file: str, python: str) -> str:
    """The text of a script that lies in a client's folder, with the command of this Python's memoryd."""
    with open(file, encoding="utf-8") as opened:
        return opened.read().replace(_COMMAND, json.dumps(command_of(python)), 1)


def beside(module: str, name: str) -> str:
    """The path of a file that lies beside a module."""
    return os.path.join(os.path.dirname(module), name)
