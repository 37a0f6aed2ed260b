"""`python -m tests.crash.key_writer HOME`: the keys job with a model that has answered already, to be killed by strace in it.

It marks its begin and its end like the victim, by trying to open files that do not exist.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from unittest import mock

from memoryd.config import Anthropic, Config
from memoryd.jobs import keys
from memoryd.jobs.recall import recall
from memoryd.jobs.recall_matches import Request
from memoryd.state.database import open_database
from tests.crash.keeper import mark
from tests.crash.victim import memory_dir, paths_of
from tests.jobs.model_workspace import ToldClock
from tests.recall.memories import FIVE

if TYPE_CHECKING:
    from memoryd.jobs.keys import KeysOutcome

ASKED = "zebra quagga"
_CONFIG = Config()._replace(anthropic=Anthropic(api_key_variable="MODEL_KEY"))


def write_keys(home: str) -> KeysOutcome:
    with (
        closing(open_database(paths_of(home))) as database,
        mock.patch.object(keys, "ask_once", return_value=[ASKED] * len(FIVE)),
    ):
        return keys.write_keys(database, paths_of(home), _CONFIG, {}, ToldClock(), [memory_dir(home)])


def found(home: str) -> set[str]:
    """The memories that recall finds by their keys."""
    request = Request(ASKED, least=0.0)
    answer = recall(paths_of(home), _CONFIG, {}, ToldClock(), memory_dir(home), request)
    return {memory.name for memory in answer.memories}


if __name__ == "__main__":
    mark(sys.argv[1], "begin")
    write_keys(sys.argv[1])
    mark(sys.argv[1], "end")
    os._exit(0)
