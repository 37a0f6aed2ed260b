"""Keys that a model wrote for memories without any, by what the memory says: the file itself stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoryd.state.database import Database

_AT_ONCE = 500


def digest_of(name: str, description: str, body: str) -> bytes:
    """Of what a memory says; times and marks in its frontmatter are no part of that."""
    import hashlib  # noqa: PLC0415 - 5 ms that a hook need not pay where no memory has changed

    text = f"{name}\0{description}\0{body.strip()}".encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=16).digest()


def keys_by_digest(database: Database, digests: Iterable[bytes]) -> dict[bytes, str]:
    """The keys that were written for these texts, with semicolons between; empty: asked for, and none was of use."""
    found: dict[bytes, str] = {}
    wanted = list(digests)
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        places = ",".join("?" * len(some))
        rows = database.query(f"SELECT digest, keys FROM memory_keys WHERE digest IN ({places})", some)  # noqa: S608 - places
        found.update((digest, keys) for digest, keys in rows)
    return found


def record_keys(database: Database, keys: Mapping[bytes, str], now: float) -> None:
    """Keep the keys of these texts, in one transaction."""
    with database.transaction():
        database.execute_many(
            "INSERT OR REPLACE INTO memory_keys (digest, keys, seen_at) VALUES (?, ?, ?)",
            [(digest, text, now) for digest, text in keys.items()],
        )


def drop_unseen(database: Database, seen: Iterable[bytes], now: float, kept_seconds: float) -> None:
    """Note which texts are there, and drop the keys of those that were not for so long."""
    with database.transaction():
        database.execute_many("UPDATE memory_keys SET seen_at = ? WHERE digest = ?", [(now, digest) for digest in seen])
        database.execute("DELETE FROM memory_keys WHERE seen_at < ?", (now - kept_seconds,))
