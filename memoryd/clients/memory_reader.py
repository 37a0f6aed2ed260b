"""The client for which memories are kept where it reads them, if it is used.

Apart from the others, since a hook of it needs no other client, and somebody waits for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clients.claude_code import ClaudeCodeClient

if TYPE_CHECKING:
    from memoryd.clients.base import MemoryClient

CLAUDE_CODE = ClaudeCodeClient()
MEMORY_READER: MemoryClient = CLAUDE_CODE
