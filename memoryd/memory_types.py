"""The types of memories. Apart from the other value types, since every hook needs these alone."""

from typing import Literal, get_args

MemoryType = Literal["user", "feedback", "project", "reference"]
MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
