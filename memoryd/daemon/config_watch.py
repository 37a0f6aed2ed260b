"""The config file, read again when it was edited, while the daemon runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.config import Config, load
from memoryd.config.last_good import keep
from memoryd.daemon.single_instance import Trouble
from memoryd.errors import ConfigError

if TYPE_CHECKING:
    from memoryd.paths import Paths


class ConfigWatch:
    """Settings in force. If an edited file cannot be used, those from before stay, and `trouble` says why."""

    def __init__(self, paths: Paths, config: Config) -> None:
        self._paths = paths
        self._stamp = _stamp(paths.config_file)
        self.config = config
        self.trouble: Trouble | None = None

    @property
    def file_for_children(self) -> str | None:
        """Where children find their settings, if the config file itself cannot be used."""
        return self._paths.kept_config if self.trouble else None

    @property
    def is_usable_by_children(self) -> bool:
        """False if the file is broken and its last good copy is gone too, unless the defaults are in force anyway."""
        return not self.trouble or self.config == Config() or os.path.exists(self._paths.kept_config)

    def reread(self) -> bool:
        """Use the file if it was edited; True if there are new settings."""
        stamp = _stamp(self._paths.config_file)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self.config = load(self._paths)
        except ConfigError as error:
            text = f"{error.sentence} Until that is mended, the settings from before hold."
            self.trouble = Trouble("config_broken", text, error.fix)
            return False
        self.trouble = None
        keep(self._paths)
        return True


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
