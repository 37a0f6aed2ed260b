"""How much of an index clients load, and what is a memory. Apart, since some need only these numbers."""

from __future__ import annotations

INDEX_NAME = "MEMORY.md"
MEMORY_BYTES = 1 << 20
"""A larger file is no memory that anybody wrote: it gets its line in the index and is otherwise left alone."""
MOST_LINES = 200
MOST_BYTES = 25_000
"""Clients cut the index here, and load only what stands above."""
WARN_LINES = 140
WARN_BYTES = 20_000
