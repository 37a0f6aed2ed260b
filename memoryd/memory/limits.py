"""Limits of memory files and of the index; a module without imports, for commands that need nothing else."""

from __future__ import annotations

INDEX_NAME = "MEMORY.md"
LOCK_NAME = ".consolidate-lock"
"""In a memory directory, shared with the client: who consolidates it, and when that last succeeded."""
MEMORY_BYTES = 65_536
"""No memory is written that is larger than this."""
FILE_BYTES = 1 << 20
"""A larger file is no memory: it gets its line in the index and is otherwise left alone."""
FRONTMATTER_BYTES = 16_384
"""Longest frontmatter; longer text between dashes is taken as body."""
INDEX_BYTES = 4 << 20
"""A larger index is nothing that a person or client wrote, and is left alone."""
INDEX_SHOWN_BYTES = 1 << 20
"""Bytes of an index that are read where it is only shown."""
MOST_LINES = 200
MOST_BYTES = 25_000
"""Clients cut the index here, and load only what stands above."""
WARN_LINES = 140
WARN_BYTES = 20_000
