"""Entry point of `python -m memoryd` and of the command `memoryd`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run a command. Hooks and servers bypass the command line, whose import takes longer: a client waits for them."""
    given = sys.argv[1:]
    if given[:1] == ["hook"] and not {"-h", "--help"}.intersection(given):
        from memoryd.clients.hook import answer  # noqa: PLC0415

        return answer(given[1:], dict(os.environ))
    if given[:1] == ["mcp"] and {"--stdio"}.issuperset(given[1:]):
        from memoryd.mcp.server import serve  # noqa: PLC0415

        return serve(dict(os.environ), os.getcwd())
    from memoryd import cli  # noqa: PLC0415

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
