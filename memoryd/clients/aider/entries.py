"""Entries of aider's history: a block to what counts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from memoryd.clients.aider.history import Block
from memoryd.clients.aider.inputs import local_time
from memoryd.clients.own_recall import without_recall
from memoryd.model import Prompt, Reply, TurnEnd

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.clients.base import Decoder
    from memoryd.model import Entry

_decode = msgspec.json.Decoder(Block).decode
_COMMANDS = ("/", "!")
"""What begins so is a command to aider or to a shell. A command that asks something is followed by the question itself."""


def decoder_of(session_id: str, folder: str) -> Decoder:
    """The decoder for the history in a folder; the history says nothing about either."""

    def decode(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
        try:
            block = _decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            damage["unreadable"] += bool(line.strip())
            return ()
        if block.kind == "chat":
            return (TurnEnd("next_prompt"),)  # a new chat: nothing answers what was asked before
        if block.kind == "answer" and block.text:
            return (Reply(folder, (block.text,), (), True, None, session_id, local_time(block.chat)),)
        if block.kind != "prompt" or not block.is_typed or block.text.startswith(_COMMANDS) or block.text == "<blank>":
            return ()
        if not (said := without_recall(block.text)):
            return ()
        # The name of the project too: a script may ask the same of many projects in the same second.
        what = "\0".join((folder.rpartition("/")[2], block.chat, str(block.number), block.text))
        own_id = "aider:" + hashlib.blake2b(what.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return (Prompt((own_id,), session_id, folder, block.at, said),)

    return decode
