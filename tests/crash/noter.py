"""`python -m tests.crash.noter HOME`: a real `memoryd child --notes`, to be killed by strace anywhere in it.

It marks its begin and its end like the victim, by trying to open files that do not exist.
"""

from __future__ import annotations

import os
import sys

from memoryd.cli import main
from tests.crash.keeper import mark

if __name__ == "__main__":
    mark(sys.argv[1], "begin")
    code = main(["child", "--notes"])
    mark(sys.argv[1], "end")
    os._exit(code)
