"""`python -m tests.crash.purger HOME SECRET`: a real `memoryd purge`, to be killed or failed by strace anywhere in it."""

from __future__ import annotations

import os
import sys

from memoryd.cli import main
from tests.crash.keeper import mark

if __name__ == "__main__":
    mark(sys.argv[1], "begin")
    code = main(["purge", "--secret", sys.argv[2], "--fixed", "--yes"])
    mark(sys.argv[1], "end")
    os._exit(code)
