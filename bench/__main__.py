"""`python -m bench [subject ...]`: figures beside a limit that is measured in the same run, and their ratio.

Nothing here passes or fails: machines differ, ratios hardly do. The data goes into a temporary directory (below TMPDIR,
or /var/tmp, which is on a disk where /tmp may be in memory) and is gone at the end, Ctrl-C included.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import tempfile
import time

from bench import (
    append,
    claude,
    clients,
    commit,
    databases,
    extract,
    inventory,
    memory,
    model,
    parse,
    recall,
    redact,
    rules,
    startup,
    watch,
)

SUBJECTS = {
    "parse": parse.run,
    "clients": clients.run,
    "databases": databases.run,
    "inventory": inventory.run,
    "append": append.run,
    "memory": memory.run,
    "commit": commit.run,
    "extract": extract.run,
    "model": model.run,
    "claude": claude.run,
    "recall": recall.run,
    "redact": redact.run,
    "rules": rules.run,
    "startup": startup.run,
    "watch": watch.run,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in SUBJECTS]
    if unknown:
        print(f"bench: no subject `{unknown[0]}`; there are {', '.join(SUBJECTS)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary directory goes
    began = time.monotonic()
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} CPUs, {platform.machine()} {platform.system()}"
        f" {platform.release()}, {time.strftime('%Y-%m-%d %H:%M')}"
    )
    place = os.environ.get("TMPDIR") or ("/var/tmp" if os.access("/var/tmp", os.W_OK) else None)  # noqa: S108 - mkdtemp
    try:
        for name in names or SUBJECTS:
            with tempfile.TemporaryDirectory(prefix="memoryd-bench-", dir=place) as directory:
                SUBJECTS[name](directory)
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nbench: interrupted", file=sys.stderr)
        return 130
    print(f"\n{time.monotonic() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
