"""Copy of the last valid config file, for the daemon's children while the file is invalid."""

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
    """Copy the config file if it is valid; without a file the copy is removed too. Never raises.

    The parsed bytes are copied, as an editor may save between reading and copying.
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
