"""Show the whole way in a few seconds: sample transcripts in a temporary directory, the memories that come of them,
and how each one is explained and taken back. Nothing of yours is read or written.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "demo"
HELP = "the whole way on sample transcripts, in seconds"

_SAID = (
    "please add a test for the mailer",
    "no, don't mock the mailer in tests. we did that last year and a broken template reached every customer",
    "Never push to main without asking, because every push deploys.",
    "ok good. btw the shop is frozen from Thursday because the auditors come, only hotfixes go out",
    "if something burns look at the Grafana board 'Night Desk', nobody reads the wiki any more",
    "should I always run all tests? the suite takes 9 minutes",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`demo` takes no arguments."""


def execute(context: Context) -> int:
    import shutil
    import tempfile

    from memoryd.cli.screen import Gap, Paragraph, Screen
    from memoryd.clients.claude_code.folders import slug_of
    from memoryd.clients.registry import ALL
    from memoryd.config import Config
    from memoryd.engines.offline.engine import OfflineEngine
    from memoryd.jobs.due import due, extract_due
    from memoryd.jobs.ingest import Ingester
    from memoryd.memory.limits import INDEX_NAME
    from memoryd.memory.tiers import tiers_of
    from memoryd.paths import paths_from
    from memoryd.state import history
    from memoryd.state.database import open_database

    home = tempfile.mkdtemp(prefix="memoryd-demo-")
    shop = os.path.join(home, "shop")
    paths = paths_from({"HOME": home})
    folder = os.path.join(paths.transcripts_root, slug_of(os.path.realpath(shop)))
    os.makedirs(shop)
    os.makedirs(folder)
    database = open_database(paths)
    now = context.clock.now()
    config = Config()
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(now)
    _write_transcript(os.path.join(folder, "00000000-0000-4000-8000-000000000001.jsonl"), os.path.realpath(shop), now)
    show = Screen(context.environment).show
    show([Paragraph("You said to your agent, in a project called shop:")])
    show([Paragraph(text, indent=4) for text in _SAID])
    ingester.ingest(now)
    sessions = due(database, paths, config, now, at_once=True)
    done = list(extract_due(database, paths, sessions, now, engine=OfflineEngine()))
    show([Gap(), Paragraph("memoryd wrote:")])
    for worked in done:
        for name in worked.outcome.saved:
            show([Gap(), Paragraph(name, indent=2)])
            memory_dir, own_name = tiers_of(database, worked.memory_dir).place_of(name)
            with open(os.path.join(memory_dir, own_name), encoding="utf-8") as file:
                show([Paragraph(line, indent=4) for line in file.read().split("---\n", 2)[2].strip().splitlines()])
            for evidence in history.evidence_of(database, memory_dir, own_name):
                show([Paragraph(f'(because you said: "{evidence.quote}")', indent=4)])
        index = os.path.join(worked.memory_dir, INDEX_NAME)
        if os.path.exists(index):
            show([Gap(), Paragraph("The index, which the next session loads:")])
            with open(index, encoding="utf-8") as file:
                show([Paragraph(line, indent=4) for line in file.read().strip().splitlines()])
    database.close()
    shutil.rmtree(home)
    show(
        [
            Gap(),
            Paragraph("In your own projects: memoryd setup. Then memoryd memories, memoryd why FILE, memoryd undo."),
        ]
    )
    return 0


def _write_transcript(path: str, cwd: str, now: float) -> None:
    import json
    import uuid

    from memoryd.clock import iso

    with open(path, "w", encoding="utf-8") as file:
        for text in _SAID:
            for kind, content in (("user", text), ("assistant", [{"type": "text", "text": "Understood."}])):
                message = {"role": kind, "content": content, "stop_reason": "end_turn" if kind == "assistant" else None}
                entry = {
                    "type": kind,
                    "uuid": str(uuid.uuid4()),
                    "sessionId": os.path.basename(path)[:36],
                    "cwd": cwd,
                    "timestamp": iso(now),
                    "message": message,
                }
                file.write(json.dumps(entry) + "\n")
