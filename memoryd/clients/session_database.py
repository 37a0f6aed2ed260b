"""Sessions in a live SQLite database: what the clients that have one have in common.

A session is known by the path of its database, `#` and its id. Only memoryd uses that path; no such file is there.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from memoryd.model import Found, Inventory
    from memoryd.sources.database import ForeignDatabase
    from memoryd.sources.rows import SessionRow
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession


class SessionDatabase(SessionFiles):
    """The part of the contract that is the same for all of them."""

    counts_rows = True

    @abstractmethod
    def is_database(self, name: str) -> bool:
        """Whether a file of this name is one of its databases."""

    @abstractmethod
    def sessions_in(self, database: ForeignDatabase) -> Iterator[SessionRow]:
        """The conversations with the user in a database. Raises UnknownTablesError, OSError."""

    @abstractmethod
    def session_of(self, database: ForeignDatabase, file: Found, session_id: str) -> OpenSession:
        """One of them, to be read; `file` is it without size and time. Raises FileNotFoundError, UnknownTablesError."""

    def is_session(self, name: str) -> bool:
        """What is written goes to the `-wal` file first; the database itself may stand still for hours."""
        return self.is_database(name.removesuffix("-wal"))

    def inventory(self, place: SessionPlace, only: Collection[str] | None = None) -> Inventory:
        from memoryd.sources.rows import database_sessions

        return database_sessions(place, self.is_database, self.sessions_in, only)

    def session_id(self, path: str) -> str:
        from memoryd.sources.rows import split_path

        return split_path(path)[1]

    def open_session(self, path: str) -> OpenSession:
        import os

        from memoryd.sources.database import ForeignDatabase
        from memoryd.sources.rows import split_path
        from memoryd.sources.scan import found_of

        file, session_id = split_path(path)
        database = ForeignDatabase(file)
        try:
            return self.session_of(database, found_of(path, os.lstat(file)), session_id)
        except BaseException:
            database.close()
            raise
