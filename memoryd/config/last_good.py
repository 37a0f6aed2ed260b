"""The last config file that could be used, kept for the daemon's children while an edit of it cannot be."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd import atomic_file
from memoryd.config.parse import parse
from memoryd.errors import ConfigError

if TYPE_CHECKING:
    from memoryd.paths import Paths


def keep(paths: Paths) -> None:
    """Copy the config file, if it can be used; without one the copy goes too, and the defaults hold. Never fails.

    The copy is made of what was parsed: between reading and copying an editor may save.
    """
    with suppress(OSError, ConfigError):
        try:
            with open(paths.config_file, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            os.remove(paths.kept_config)
            return
        parse(data, paths)
        atomic_file.write(paths.kept_config, data)
