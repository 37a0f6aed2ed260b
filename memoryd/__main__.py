"""Entry point of `python -m memoryd` and of the command `memoryd`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Run a command. Hooks and servers bypass the command line, whose import takes longer: a client waits for them.

    A hook lives for less than a tenth of a second: looking for garbage, and taking the interpreter apart at the end, are a
    fifth of that. All that it writes is closed by then.
    """
    given = sys.argv[1:]
    if given[:1] == ["hook"] and not {"-h", "--help"}.intersection(given):
        gc.disable()
        from memoryd.clients.hook import answer  # noqa: PLC0415

        os._exit(answer(given[1:], dict(os.environ)))
    if given[:1] == ["mcp"] and {"--stdio"}.issuperset(given[1:]):
        from memoryd.mcp.server import serve  # noqa: PLC0415

        return serve(dict(os.environ), os.getcwd())
    from memoryd import cli  # noqa: PLC0415

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
