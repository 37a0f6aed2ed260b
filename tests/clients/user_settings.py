"""The user's settings of Claude Code, written for a test."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryd.paths import Paths


def set_client(paths: Paths, **values: Any) -> None:
    os.makedirs(paths.claude_dir, exist_ok=True)
    Path(paths.claude_settings).write_text(json.dumps(values))
