"""All stores: what `stores/base.py` asks of one, on a bare repository, a directory and an S3 server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.stores.base import StoreChangedError, StoreListing

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.stores.base import SharedStore
    from tests.stores.places import Places

    NewClient = Callable[[], SharedStore]

NOW = 1_700_000_000.0
KEYS = {
    "projects/shop-1a2b/feedback_pnpm.md": b"Use pnpm.\n",
    "global/user_naïve name.md": "Grüße\n".encode(),
    'with "quotes" and spaces.md': b"\x00\xff binary \n\n",
    "empty.md": b"",
}


def listed(store: SharedStore) -> StoreListing:
    listing = store.list_files("", is_needed=True)
    assert listing is not None
    return listing


def contents(store: SharedStore) -> dict[str, bytes]:
    listing = listed(store)
    return store.read_files(listing, list(listing.files))


def test_a_new_store_is_empty_and_has_no_version(new_client: NewClient) -> None:
    store = new_client()
    empty = listed(store)
    assert empty == StoreListing("", {})
    assert store.read_files(empty, []) == {}


def test_another_client_reads_what_was_written(new_client: NewClient) -> None:
    store, other = new_client(), new_client()
    written = store.write_files(listed(store), KEYS, (), "laptop", NOW)
    found = listed(other)
    assert found == written
    assert found.author == "laptop"
    assert {key: file.size for key, file in found.files.items()} == {key: len(data) for key, data in KEYS.items()}
    assert other.read_files(found, list(KEYS)) == KEYS


def test_a_listing_after_a_write_is_the_one_that_the_write_returned(new_client: NewClient) -> None:
    store = new_client()
    first = store.write_files(listed(store), {"a.md": b"1", "b.md": b"2"}, (), "laptop", NOW)
    second = store.write_files(first, {"a.md": b"3"}, ("b.md",), "desktop", NOW + 1)
    assert listed(store) == second
    assert contents(new_client()) == {"a.md": b"3"}
    assert second.version != first.version


def test_a_version_that_is_known_costs_one_request_and_lists_nothing(new_client: NewClient) -> None:
    store = new_client()
    version = store.write_files(listed(store), KEYS, (), "laptop", NOW).version
    for client in (store, new_client()):
        before = client.requests
        assert client.list_files(version) is None
        assert client.requests == before + 1


def test_of_two_writers_of_one_version_the_second_is_refused_and_writes_nothing(new_client: NewClient) -> None:
    store, other = new_client(), new_client()
    base = store.write_files(listed(store), {"a.md": b"0"}, (), "laptop", NOW)
    seen = listed(other)
    store.write_files(base, {"a.md": b"mine"}, (), "laptop", NOW)
    with pytest.raises(StoreChangedError):
        other.write_files(seen, {"a.md": b"theirs", "b.md": b"new"}, (), "desktop", NOW)
    assert contents(other) == {"a.md": b"mine"}


def test_of_two_first_writers_the_second_is_refused(new_client: NewClient) -> None:
    store, other = new_client(), new_client()
    empty = listed(other)
    store.write_files(listed(store), {"a.md": b"mine"}, (), "laptop", NOW)
    with pytest.raises(StoreChangedError):
        other.write_files(empty, {"a.md": b"theirs"}, (), "desktop", NOW)
    assert contents(other) == {"a.md": b"mine"}


def test_a_refused_writer_lists_again_and_then_writes(new_client: NewClient) -> None:
    store, other = new_client(), new_client()
    seen = listed(other)
    store.write_files(listed(store), {"a.md": b"mine"}, (), "laptop", NOW)
    with pytest.raises(StoreChangedError):
        other.write_files(seen, {"b.md": b"theirs"}, (), "desktop", NOW)
    other.write_files(listed(other), {"b.md": b"theirs"}, (), "desktop", NOW)
    assert contents(store) == {"a.md": b"mine", "b.md": b"theirs"}


def test_the_same_content_under_two_keys_survives_the_removal_of_one(new_client: NewClient) -> None:
    store = new_client()
    first = store.write_files(listed(store), {"a.md": b"same", "b.md": b"same"}, (), "laptop", NOW)
    store.write_files(first, {}, ("a.md",), "laptop", NOW)
    assert contents(new_client()) == {"b.md": b"same"}


def test_all_files_can_be_removed_and_that_continues_what_was_there(new_client: NewClient) -> None:
    store, other = new_client(), new_client()
    first = store.write_files(listed(store), {"a.md": b"1"}, (), "laptop", NOW)
    store.write_files(first, {}, ("a.md",), "laptop", NOW)
    found = other.list_files(first.version)
    assert found is not None
    assert (found.files, found.is_continuation) == ({}, True)


def test_a_later_version_continues_an_earlier_one(new_client: NewClient) -> None:
    store, other = new_client(), new_client()
    first = store.write_files(listed(store), {"a.md": b"1"}, (), "laptop", NOW)
    listed(other)
    store.write_files(first, {"a.md": b"2"}, (), "laptop", NOW)
    found = other.list_files(first.version)
    assert found is not None
    assert found.is_continuation


def test_a_store_that_was_made_anew_continues_nothing(places: Places) -> None:
    before = places.new()()
    version = before.write_files(listed(before), {"a.md": b"1"}, (), "laptop", NOW).version
    new = places.new()()
    empty = new.list_files(version)
    assert empty is not None
    assert (empty.version, empty.is_continuation) == ("", False)
    new.write_files(empty, {"b.md": b"2"}, (), "laptop", NOW)
    other = new.list_files(version)
    assert other is not None
    assert not other.is_continuation


def test_many_files_in_one_write(new_client: NewClient) -> None:
    store = new_client()
    many = {f"projects/p/{number:03}.md": b"x" * number for number in range(60)}
    store.write_files(listed(store), many, (), "laptop", NOW)
    assert contents(new_client()) == many
