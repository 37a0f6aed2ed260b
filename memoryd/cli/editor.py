"""Editing a text in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError

if TYPE_CHECKING:
    from collections.abc import Mapping


def edited_text(text: bytes, name: str, environment: Mapping[str, str]) -> bytes | None:
    """Text after the user edited it in a private file of this name; None where it was not changed, or all was deleted.

    Raises MemorydError where the editor cannot be started or fails.
    """
    command = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="memoryd-") as place:
        path = os.path.join(place, os.path.basename(name))
        with open(path, "wb") as file:
            file.write(text)
        try:
            code = subprocess.run([*shlex.split(command), path], check=False).returncode  # noqa: S603 - the user's own
        except (OSError, ValueError) as error:
            raise MemorydError(f"The editor {command!r} cannot be started: {error}.", "export EDITOR=nano") from error
        if code != 0:
            raise MemorydError(f"The editor {command!r} ended with code {code}; nothing was changed.")
        try:
            with open(path, "rb") as file:
                result = file.read()
        except FileNotFoundError:
            return None
    return result if result.strip() and result != text else None
