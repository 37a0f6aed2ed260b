"""Record of what `memoryd setup` has set up, for people and as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.cli import Context
    from memoryd.setup.record import SetupRecord


def show(context: Context, record: SetupRecord | None) -> int:
    from memoryd.clients.registry import title_of
    from memoryd.formatting import short
    from memoryd.setup.record import uninstaller

    if context.arguments.json:
        print_json(as_json(context, record))
        return 0
    if record is None:
        print("memoryd was not set up here; memoryd setup does it.", file=sys.stderr)
        return 0
    home = context.paths.home
    rows: Sequence[tuple[str, str]] = (
        ("plugin", short(record.plugin_folder, home) if record.plugin_folder else "none"),
        ("agents", ", ".join(title_of(name) for name in _clients(record)) or "none"),
        ("engine", context.config.engine),
        ("config", short(record.config.file, home) if record.config else "not changed"),
        ("service", short(record.service_file, home) if record.service_file else "none"),
        ("history", "worked on" if record.history_at else "left alone"),
        ("python", short(record.python, home)),
        ("uninstall", f"memoryd uninstall, or python3 {short(uninstaller(context.paths), home)}"),
    )
    for name, text in rows:
        print(f"{name:<10} {text}")
    return 0


def as_json(context: Context, record: SetupRecord | None) -> dict[str, Any]:
    from memoryd.clock import iso
    from memoryd.setup.record import uninstaller

    return {
        "set_up": record is not None,
        "plugin": (record.plugin_folder or None) if record else None,
        "clients": _clients(record) if record else [],
        "engine": context.config.engine,
        "config": record.config.file if record and record.config else None,
        "service": (record.service_file or None) if record else None,
        "history_at": iso(record.history_at) if record and record.history_at else None,
        "python": record.python if record else None,
        "uninstall": uninstaller(context.paths) if record else None,
    }


def _clients(record: SetupRecord) -> list[str]:
    return list(dict.fromkeys(piece.client for piece in record.pieces))
