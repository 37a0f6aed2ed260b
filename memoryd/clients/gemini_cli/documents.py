"""Sessions of older Gemini CLI versions: one JSON document, written anew with every message, read as a row of lines."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from memoryd.clients.damaged_lines import UNDECODABLE
from memoryd.sources.scan import found_of
from memoryd.sources.session import NotATranscriptError, open_regular
from memoryd.sources.text import RenderedSession

_MOST_BYTES = 64 << 20


class _Document(msgspec.Struct):
    sessionId: str = ""  # noqa: N815 - the client's name
    kind: str | None = None
    messages: list[Any] = []


_decode = msgspec.json.Decoder(_Document).decode


def open_document(path: str) -> RenderedSession:
    """The messages as lines, behind a head. Raises OSError, and NotATranscriptError for what is no whole document: it may
    be written just now.
    """
    descriptor = open_regular(path)
    with open(descriptor, "rb") as file:
        found = found_of(path, os.fstat(descriptor))
        if found.size > _MOST_BYTES:
            raise NotATranscriptError(f"longer than {_MOST_BYTES >> 20} MB")
        try:
            document = _decode(file.read())
        except UNDECODABLE:
            raise NotATranscriptError("no whole JSON") from None
    head = {"sessionId": document.sessionId, "kind": document.kind}
    return RenderedSession(found, [msgspec.json.encode(line) + b"\n" for line in (head, *document.messages)])
