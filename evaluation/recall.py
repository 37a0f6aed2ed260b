"""How well the right memories are recalled: labelled prompts by the real command, questions about notes by its ranking."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from memoryd.memory.quick_parse import QuickParse
from memoryd.paths import Paths
from memoryd.recall.rank import candidates, query_of
from memoryd.recall.store import open_store
from memoryd.recall.weights import learnt_memory

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.recall.store import LearntMemory

AMONG = 5


def score(tools: Path, prompts: Path, home: Path) -> bool:
    """Score one set, as shipped and by ranking alone; False where the scorer itself failed."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    command = [sys.executable, "-P", "-m", "memoryd", "recall", "--json"]
    for options in ([], ["--min-score", "0"]):
        print(f"  {' '.join(['recall', *options])}: ", end="", flush=True)
        step = [sys.executable, str(tools / "score_recall.py"), str(prompts), str(home), *command, *options]
        if subprocess.run(step, env=environment, check=False).returncode:
            return False
    return True


def any_among_five(file: Path) -> float:
    """For how many questions a note with the answer is among the best five of its group."""
    labelled = json.loads(file.read_text(encoding="utf-8"))
    groups: dict[Any, dict[str, str]] = {}
    for note in labelled["corpus"]:
        groups.setdefault(note["group"], {})[str(note["id"])] = note["text"]
    hits = 0
    with tempfile.TemporaryDirectory() as place, closing(open_store(Paths(place, "", place, place))) as store:
        for group, notes in groups.items():
            with store.transaction():
                number = store.record_check(f"/{group}", 0, time.time())
                store.learn(number, [_learnt(name, text) for name, text in notes.items()])
            directory = store.directory(f"/{group}")
            assert directory is not None  # noqa: S101 - made above
            for query in labelled["queries"]:
                if query["group"] == group:
                    best = candidates(store, directory, query_of(query["text"]))[:AMONG]
                    hits += not {candidate.memory.name for candidate in best}.isdisjoint(map(str, query["relevant"]))
    return hits / len(labelled["queries"])


def _learnt(name: str, text: str) -> LearntMemory:
    return learnt_memory(name, (0, 0, 0), QuickParse("", "", None, (), text))
