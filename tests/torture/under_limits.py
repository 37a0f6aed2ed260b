"""`python -m tests.torture.under_limits LIMIT VALUE COMMAND…`: a memoryd that may open or write only so much, in its own process."""

from __future__ import annotations

import resource
import sys

from memoryd.cli import main

if __name__ == "__main__":
    limit, value = sys.argv[1], int(sys.argv[2])
    number = {"files": resource.RLIMIT_NOFILE, "bytes": resource.RLIMIT_FSIZE, "none": None}[limit]
    if number is not None:
        resource.setrlimit(number, (value, resource.getrlimit(number)[1]))
    sys.exit(main(sys.argv[3:]))
