"""Protocol of all stores: one round exchanges memory directories with a store, and can be cut off or killed anywhere.

1. what has changed here since the last exchange
2. the files of the store, in one request; nothing has changed on either side: done
3. each file that was written or deleted there is written or deleted here, by the one way to write memory
4. each file that was written or deleted here is written or deleted there, if the store is still as it was listed; else again
5. what is the same on both sides now is noted, after each batch that was written

A round that was cut off goes on where it was: files that are the same on both sides and not noted are noted by the next one. A
file that was changed on both sides stays as it is here, and the other version goes into the history.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import CorruptStateError, StateError
from memoryd.memory.guards import RefusedError
from memoryd.state import changes, sync
from memoryd.state.sync import KeptApart, Synced
from memoryd.stores import keys
from memoryd.stores.base import StoreChangedError, StoreError
from memoryd.stores.difference import difference
from memoryd.stores.outgoing import Outgoing, batches
from memoryd.stores.replica import apply_incoming, is_settled, read_changed, read_local, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.state.database import Database
    from memoryd.stores.base import SharedStore, StoreListing
    from memoryd.stores.replica import LocalFiles, Replica

RETRIES = 3
_ELSEWHERE = re.compile(r"(?:(?:projects|team)/[a-z0-9._-]{1,100}|global)/([^/]+)")


class RoundResult(NamedTuple):
    """What a round did."""

    taken: int = 0
    """Files written here, as they are in the store."""
    dropped: int = 0
    """Files deleted here."""
    given: int = 0
    """Files written to the store."""
    deleted: int = 0
    """Files deleted in it."""
    conflicts: int = 0
    """Files that both sides had changed; the version of the store is in the history."""
    newly_apart: tuple[KeptApart, ...] = ()
    is_whole: bool = True
    """False where something is left for the next round."""

    @property
    def facts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("taken", "dropped", "given", "deleted", "conflicts")}

    def __add__(self, other: object) -> RoundResult:
        if not isinstance(other, RoundResult):
            return NotImplemented
        sums = {name: number + other.facts[name] for name, number in self.facts.items()}
        return RoundResult(**sums, newly_apart=self.newly_apart + other.newly_apart, is_whole=other.is_whole)


def exchange(
    database: Database, store: SharedStore, replicas: Sequence[Replica], author: str, now: float
) -> RoundResult:
    """Exchange these directories with a store, and record how it went. Raises StoreError, and what a commit raises."""
    before = sync.last_round(database, store.address)
    try:
        current = _Exchange(database, store, replicas, author, now)
        result = current.run()
        for _ in range(RETRIES):
            if not current.is_to_be_taken_by_clones:
                break
            current = _Exchange(database, store, replicas, author, now)
            result += current.run(is_needed=True)
    except StoreError as error:
        sync.put_round(database, before._replace(at=now, error=error.sentence, fix=error.fix))
        raise
    after = sync.last_round(database, store.address)
    has_moved = any(result.facts.values())
    sync.put_round(
        database,
        after._replace(
            at=now,
            succeeded_at=now if result.is_whole else after.succeeded_at,
            exchanged_at=now if has_moved else after.exchanged_at,
            facts=result.facts if has_moved else after.facts,
            error="",
            fix="",
        ),
    )
    return result


class _Exchange:
    """One pass over all directories, with its retries."""

    def __init__(
        self, database: Database, store: SharedStore, replicas: Sequence[Replica], author: str, now: float
    ) -> None:
        self._database = database
        self._store = store
        self._replicas = replicas
        self._author = author
        self._now = now
        self._result = RoundResult()
        self._has_clones = len({replica.prefix for replica in replicas}) < len(replicas)
        self._apart: list[KeptApart] = []
        self._known_apart = sync.kept_apart(database, store.address)

    @property
    def is_to_be_taken_by_clones(self) -> bool:
        """Whether one of several clones has given or deleted something, which the others have not got yet."""
        return self._has_clones and bool(self._result.given or self._result.deleted)

    def run(self, *, is_needed: bool = False) -> RoundResult:
        """Make the pass. `is_needed`: the store is listed also where nothing seems to have changed."""
        last = sync.last_round(self._database, self._store.address)
        digest = hashlib.sha256(repr(sorted(self._replicas)).encode("utf-8", "surrogateescape")).hexdigest()
        known = last.version
        for attempt in range(RETRIES + 1):
            self._apart = []
            local = self._read_all()
            has_changes = last.replicas != digest or any(files.has_changes for files in local.values())
            listing = self._store.list_files(known, is_needed=is_needed or has_changes or attempt > 0)
            if listing is None:
                return self._result
            if not listing.is_continuation:
                sync.forget_synced(self._database, self._store.address)
                self._apart = []
                local = self._read_all()
            known = ""  # from here on only what this listing says counts
            self._result = self._result._replace(is_whole=not self._apart)
            try:
                outgoing = self._take(listing, local)
                self._record_apart()  # also where the rest of the round is cut off
                listing = self._give(listing, outgoing)
            except StoreChangedError:
                continue
            self._finish(listing, digest)
            return self._result
        return self._result._replace(is_whole=False)

    def _read_all(self) -> dict[Replica, LocalFiles]:
        """The files of each directory; one that cannot be read is named, and does not keep the others back."""
        found: dict[Replica, LocalFiles] = {}
        for replica in self._replicas:
            apart = {
                file.key: file.hash
                for file in self._known_apart
                if file.direction == "out" and file.memory_dir == replica.memory_dir
            }
            try:
                found[replica] = read_local(self._database, self._store.address, replica, apart, self._now)
            except CorruptStateError:
                raise
            except StateError as error:
                self._refuse(replica.memory_dir, replica.prefix, "out", "", error.sentence)
        return found

    def _record_apart(self) -> None:
        newly = sync.replace_kept_apart(self._database, self._store.address, self._apart, self._now)
        self._result = self._result._replace(newly_apart=(*self._result.newly_apart, *newly))

    def _finish(self, listing: StoreListing, digest: str) -> None:
        last = sync.last_round(self._database, self._store.address)
        sync.put_round(
            self._database,
            last._replace(
                version=listing.version,
                # A round that ends here leaves the rest to the next one, which then lists the store in any case.
                replicas=digest if self._result.is_whole and not self.is_to_be_taken_by_clones else "",
                author=listing.author,
                at=self._now,
            ),
        )

    # --- from the store -----------------------------------------------------------------------------------------------

    def _take(self, listing: StoreListing, local: Mapping[Replica, LocalFiles]) -> list[Outgoing]:
        """Write here what was changed there; return what has to go the other way."""
        self._refuse_elsewhere(listing)
        outgoing: list[Outgoing] = []
        for replica, files in local.items():
            try:
                outgoing.append(self._take_one(listing, replica, files))
            except CorruptStateError:
                raise
            except StateError as error:  # this directory cannot be written; the others can
                self._refuse(replica.memory_dir, replica.prefix, "in", "", error.sentence)
                self._result = self._result._replace(is_whole=False)
        return outgoing

    def _refuse_elsewhere(self, listing: StoreListing) -> None:
        """Name the keys that belong to no directory, here or on another machine."""
        prefixes = tuple(replica.prefix for replica in self._replicas)
        for key in (*listing.files, *listing.odd):
            if key.startswith(prefixes):
                continue
            match = _ELSEWHERE.fullmatch(key)
            reason = keys.refusal_of_name(match[1]) if match else "its place is none that memoryd knows"
            if key in listing.odd:
                reason = f"it is {listing.odd[key]}"
            if reason is not None:
                self._refuse("", key, "in", "", reason)

    def _take_one(self, listing: StoreListing, replica: Replica, local: LocalFiles) -> Outgoing:
        remote = {key: file for key, file in listing.files.items() if key.startswith(replica.prefix)}
        refused = self._refused_keys(listing, replica, local, remote)
        left_alone = {*local.odd, *refused}
        hashes = {key: file.hash for key, file in remote.items()}
        found = difference(local.synced, local.hashes, hashes, left_alone)
        contents = self._judged_contents(listing, replica, found.keys("take", "compare", "keep deleted"))
        taken = {key: contents[key] for key in found.keys("take") if key in contents}
        both = {key: contents[key] for key in found.keys("compare", "keep deleted") if key in contents}
        for key in found.keys("compare"):
            if key not in both:
                reason = "what the store has under its name was not taken, and is left as it is"
                self._refuse(replica.memory_dir, key, "out", local.hashes[key], reason)
        same = {key for key, data in both.items() if sha256(data) == local.hashes.get(key)}
        lost = {key: data for key, data in both.items() if key not in same}
        self._note(replica, local, {key: (contents[key], hashes[key]) for key in same}, found.keys("forget"))
        self._take_in(replica, local, taken, found.keys("drop"), hashes, listing.author)
        puts = self._checked_puts(replica, local, [*found.keys("put"), *(key for key in lost if key in local.hashes)])
        self._keep_lost(replica, lost, puts, listing.author)
        deletes = [*found.keys("delete"), *(key for key in found.keys("keep deleted") if key in lost)]
        return Outgoing(replica, local, puts, deletes)

    def _judged_contents(self, listing: StoreListing, replica: Replica, wanted: list[str]) -> dict[str, bytes]:
        """Contents of the files of the store that are memories; the others are named, and stay in the store as they are."""
        seen = {file.key: file for file in self._known_apart if file.direction == "in"}
        unread: list[str] = []
        for key in wanted:
            file = listing.files[key]
            if key in seen and seen[key].hash == file.hash:
                self._apart.append(seen[key])  # judged before, and still the same
            elif (reason := keys.refusal_of_size(file.size)) is not None:
                self._refuse(replica.memory_dir, key, "in", file.hash, reason)  # not even read
            else:
                unread.append(key)
        fine: dict[str, bytes] = {}
        contents = self._store.read_files(listing, unread)
        for key in unread:
            if key not in contents:
                self._refuse(replica.memory_dir, key, "in", "", "the store lists it, and does not have its content")
                self._result = self._result._replace(is_whole=False)
        for key, data in contents.items():
            if (reason := keys.refusal_of_content(data)) is not None:
                self._refuse(replica.memory_dir, key, "in", listing.files[key].hash, reason)
            else:
                fine[key] = data
        return fine

    def _refused_keys(
        self, listing: StoreListing, replica: Replica, local: LocalFiles, remote: Mapping[str, object]
    ) -> set[str]:
        """Keys of the store that are not taken whatever they hold."""
        reasons = {key: reason for key in remote if (reason := keys.refusal_of_name(replica.name(key))) is not None}
        fine = [replica.name(key) for key in remote if key not in reasons]
        here = [replica.name(key) for key in (*local.hashes, *local.odd, *local.synced)]
        if twins := keys.twins({*fine, *here}, here) - set(here):
            reasons |= {replica.key(name): "another name differs from it in case or form alone" for name in twins}
            if not remote.keys() >= local.synced.keys():  # it may have been renamed there, and the old name goes now
                self._result = self._result._replace(is_whole=False)
        for key, what in listing.odd.items():
            if key.startswith(replica.prefix):
                reasons[key] = f"it is {what}"
        for key, reason in reasons.items():
            self._refuse(replica.memory_dir, key, "in", "", reason)
        for key in remote:
            if key in local.odd and key not in reasons:
                self._refuse(replica.memory_dir, key, "in", "", local.odd[key])
        self._apart += local.apart
        return set(reasons)

    def _refuse(self, memory_dir: str, key: str, direction: str, digest: str, reason: str) -> None:
        shown = key.encode("utf-8", "backslashreplace").decode()
        self._apart.append(KeptApart(memory_dir, shown, direction, digest, reason))

    def _take_in(
        self,
        replica: Replica,
        local: LocalFiles,
        taken: Mapping[str, bytes],
        dropped: list[str],
        hashes: Mapping[str, str],
        author: str,
    ) -> None:
        why = f"from {author or self._store.address}"
        try:
            applied = apply_incoming(self._database, replica, local, taken, dropped, why, self._now)
        except (
            RefusedError
        ) as error:  # a guard that `keys` does not know: nothing was written, and each is tried by itself
            if len(taken) + len(dropped) == 1:
                key = next(iter((*taken, *dropped)))
                self._refuse(replica.memory_dir, key, "in", hashes.get(key, ""), error.sentence.removesuffix("."))
                return
            for key, data in taken.items():
                self._take_in(replica, local, {key: data}, [], hashes, author)
            for key in dropped:
                self._take_in(replica, local, {}, [key], hashes, author)
            return
        self._note(
            replica,
            local._replace(stamps={}),
            {key: (data, hashes[key]) for key, data in applied.taken.items()},
            applied.dropped,
        )
        self._result = self._result._replace(
            taken=self._result.taken + len(applied.taken),
            dropped=self._result.dropped + len(applied.dropped),
            is_whole=self._result.is_whole and applied.is_whole,
        )

    def _keep_lost(self, replica: Replica, lost: Mapping[str, bytes], puts: Mapping[str, bytes], author: str) -> None:
        """Keep the versions of the store that the local ones replace, before they do."""
        why = f"kept here against the version from {author or self._store.address}"
        for key, data in lost.items():
            if sha256(data) != sha256(puts.get(key, b"")):
                recorded = changes.record_lost(
                    self._database, replica.memory_dir, why, replica.name(key), data, puts.get(key), self._now
                )
                self._result = self._result._replace(conflicts=self._result.conflicts + (recorded is not None))

    def _note(
        self, replica: Replica, local: LocalFiles, same: Mapping[str, tuple[bytes, str]], gone: list[str]
    ) -> None:
        """Note what is the same on both sides now."""
        files = {
            key: Synced(sha256(data), digest, self._settled_stamp(local, key)) for key, (data, digest) in same.items()
        }
        sync.update_synced(self._database, self._store.address, replica.memory_dir, files, gone)

    def _settled_stamp(self, local: LocalFiles, key: str) -> int | None:
        stamp = local.stamps.get(key)
        return stamp if stamp is not None and is_settled(stamp, self._now) else None

    # --- to the store -------------------------------------------------------------------------------------------------

    def _checked_puts(self, replica: Replica, local: LocalFiles, wanted: list[str]) -> dict[str, bytes]:
        """Contents of the files that may leave; the others are named."""
        contents = read_changed(replica, local, wanted)
        if len(contents) < len(wanted):
            self._result = self._result._replace(is_whole=False)
        fine: dict[str, bytes] = {}
        for key, data in contents.items():
            if (reason := keys.refusal_of_content(data)) is not None:
                self._refuse(replica.memory_dir, key, "out", local.hashes[key], reason)
            else:
                fine[key] = data
        return fine

    def _give(self, listing: StoreListing, outgoing: list[Outgoing]) -> StoreListing:
        """Write to the store what was changed here, each batch in one conditional write."""
        puts: dict[str, bytes] = {}
        deletes: set[str] = set()
        mine: list[Outgoing] = []
        for each in outgoing:
            # What another clone of the repository gives in this pass is looked at in the next one.
            free = {key: data for key, data in each.puts.items() if key not in puts and key not in deletes}
            gone = [key for key in each.deletes if key not in puts and key not in deletes and key in listing.files]
            if len(free) + len(gone) < len(each.puts) + len(each.deletes):
                self._result = self._result._replace(is_whole=False)
            puts |= free
            deletes |= set(gone)
            mine.append(each._replace(puts=free, deletes=gone))
        for batch in batches(mine):
            listing = self._write(listing, batch)
        return listing

    def _write(self, listing: StoreListing, batch: list[Outgoing]) -> StoreListing:
        """Write a batch, and note what is the same on both sides now."""
        puts = {key: data for each in batch for key, data in each.puts.items()}
        deletes = {key for each in batch for key in each.deletes}
        written = self._store.write_files(listing, puts, deletes, self._author, self._now)
        for each in batch:
            same = {key: (data, written.files[key].hash) for key, data in each.puts.items()}
            self._note(each.replica, each.local, same, each.deletes)
        self._result = self._result._replace(
            given=self._result.given + len(puts), deleted=self._result.deleted + len(deletes)
        )
        return written
