"""What a client's user has said, as it is stored: by real passes over a home directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.jobs.ingest import Ingester
from memoryd.transcripts.read import TurnPlace, read_turns

if TYPE_CHECKING:
    from memoryd.clients.base import CodingClient
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 1_790_000_000.0


class Listener:
    """Makes passes over what one client writes. The first one was over an empty home: all that comes is new."""

    def __init__(self, client: CodingClient, database: Database, paths: Paths, config: Config) -> None:
        self.client = client
        self.database = database
        self.ingester = Ingester([client], database, paths, config)
        self.ingester.ingest(NOW)
        self.now = NOW

    def listen(self) -> list[str]:
        """Make a pass; return what was said until now, each message as often as it is stored, in order of time."""
        self.now += 1
        assert self.ingester.ingest(self.now).backlog == 0
        return self.said()

    def said(self) -> list[str]:
        rows = self.database.query(
            "SELECT path, prompt_id, start, end FROM turns JOIN transcripts ON transcripts.id = transcript_id"
            " ORDER BY turns.said_at, turns.id"
        )
        texts = []
        for row in rows:
            place = TurnPlace(row["prompt_id"], row["start"], row["end"])
            found = read_turns(self.client, row["path"], [place], "/memory")
            texts += [turn.said.text for turn in found.values()] or ["(gone)"]
        return texts

    def ends(self) -> list[str | None]:
        rows = self.database.query("SELECT end_reason FROM turns ORDER BY said_at, id")
        return [row["end_reason"] for row in rows]

    def damage(self) -> list[str]:
        return [row["damage"] for row in self.database.query("SELECT damage FROM transcripts WHERE damage <> '{}'")]
