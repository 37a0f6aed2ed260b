"""Unconfirmed memories are searched beside the files of a directory, and forgotten when they leave the inbox."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from memoryd.clock import elapsed
from memoryd.errors import BusyError
from memoryd.memory.quick_parse import quick_parse
from memoryd.recall import rank
from memoryd.recall.quotes import up_to_date_quotes
from memoryd.recall.store import BUSY_SECONDS, open_store

if TYPE_CHECKING:
    from memoryd.memory.quick_parse import QuickParse
    from memoryd.paths import Paths

TABS = quick_parse(b'---\nname: use-tabs\ndescription: "use tabs in yaml"\ntype: feedback\n---\nuse tabs in yaml\n')
DEPLOY = quick_parse(
    b'---\nname: deploys\ndescription: "deploys on fridays"\ntype: project\n---\nwe deploy on fridays\n'
)


def names(paths: Paths, quotes: dict[str, QuickParse], prompt: str) -> list[str]:
    store = open_store(paths)
    try:
        directory = up_to_date_quotes(store, "/memory", quotes, 1.0)
        found = rank.candidates(store, directory, rank.query_of(prompt)) if directory else []
        return [one.memory.name for one in found]
    finally:
        store.close()


def test_a_quote_is_found_as_long_as_it_waits(paths: Paths) -> None:
    both = {"unconfirmed:1": TABS, "unconfirmed:2": DEPLOY}
    assert names(paths, both, "when do we deploy?") == ["unconfirmed:2"]
    assert names(paths, both, "tabs or spaces in yaml?")[:1] == ["unconfirmed:1"]
    assert names(paths, {"unconfirmed:1": TABS}, "when do we deploy?") == []
    assert names(paths, {}, "tabs in yaml") == []


def test_whoever_is_waited_for_does_not_wait_for_another_who_writes(paths: Paths) -> None:
    known, both = {"unconfirmed:1": TABS}, {"unconfirmed:1": TABS, "unconfirmed:2": DEPLOY}
    assert names(paths, known, "tabs in yaml") == ["unconfirmed:1"]
    with closing(open_store(paths)) as writer, closing(open_store(paths)) as store:
        with writer.transaction():
            begin = elapsed()
            directory = up_to_date_quotes(store, "/memory", both, 1.0, wait=False)
            assert elapsed() - begin < BUSY_SECONDS / 2
            assert directory is not None
            assert [memory.name for memory in store.known(directory.id)] == ["unconfirmed:1"]
            with store._database.waiting(0), pytest.raises(BusyError):
                up_to_date_quotes(store, "/memory", both, 1.0)
        directory = up_to_date_quotes(store, "/memory", both, 1.0, wait=False)
        assert directory is not None
        assert directory.memories == 2
