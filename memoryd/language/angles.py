"""Angle brackets: all that read like those of a tag. Pure."""

from __future__ import annotations

ANGLES, ANGLES_BACK = "<＜‹〈⟨", ">＞›〉⟩"  # noqa: RUF001
