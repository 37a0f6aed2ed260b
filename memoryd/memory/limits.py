"""How much of an index clients load. Apart from the index, since `status` needs only these numbers."""

from __future__ import annotations

MOST_LINES = 200
MOST_BYTES = 25_000
"""Clients cut the index here, and load only what stands above."""
WARN_LINES = 140
WARN_BYTES = 20_000
