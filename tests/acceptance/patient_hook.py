"""`memoryd hook` that waits longer than a client would: a machine that runs the whole suite says nothing about the hook by its pace."""

from __future__ import annotations

import sys

from memoryd.__main__ import main
from memoryd.clients import hook
from tests.acceptance.command import PATIENCE_SECONDS

if __name__ == "__main__":
    hook.PATIENCE_SECONDS = PATIENCE_SECONDS
    sys.exit(main())
