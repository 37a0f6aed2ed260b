"""`make bench-recall EVAL=DIRECTORY`: how well questions find the sessions that answer them, beside other searches.

DIRECTORY holds `locomo-raw*.json`: `{corpus: [{group, id, text}], queries: [{group, text, relevant}]}`, a search inside a group.
With --svg FILE a plot is written. Searches whose package is not installed are left out: `pip install bm25s rank-bm25`.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from bench import table
from memoryd.memory.quick_parse import QuickParse
from memoryd.paths import Paths
from memoryd.recall.rank import candidates, query_of
from memoryd.recall.store import open_store
from memoryd.recall.terms import terms_of
from memoryd.recall.weights import learnt_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AMONG = 10
Search = tuple[str, "Callable[[str], list[str]]"]


class Score(NamedTuple):
    """Of all questions."""

    hit_1: float
    """A session with the answer comes first,"""
    hit_5: float
    """or is among the first five."""
    recall_5: float
    """Which part of the sessions with the answer is among the first five,"""
    recall_10: float
    """or ten."""
    milliseconds: float
    """A question, by processor time."""


def searches(documents: dict[str, str]) -> Iterator[Search]:
    """Each search over one group, by its name."""
    yield "memoryd", _memoryd(documents)
    yield "SQLite FTS5 (porter)", _fts5(documents)
    names, words = list(documents), [list(terms_of(text).elements()) for text in documents.values()]
    try:
        from rank_bm25 import BM25Okapi  # noqa: PLC0415 - who has it sees it measured
    except ImportError:
        pass
    else:
        okapi = BM25Okapi(words)
        yield "BM25 (rank-bm25, our stems)", lambda text: _best(names, okapi.get_scores(list(terms_of(text))))
    try:
        import bm25s  # noqa: PLC0415 - as above
    except ImportError:
        pass
    else:
        lucene = bm25s.BM25()
        lucene.index(words, show_progress=False)
        yield "BM25 (bm25s, our stems)", lambda text: _best(names, lucene.get_scores(list(terms_of(text))))


def _best(names: list[str], scores: Any) -> list[str]:
    return [names[at] for at in sorted(range(len(names)), key=lambda at: -scores[at])[:AMONG]]


def _memoryd(documents: dict[str, str]) -> Callable[[str], list[str]]:
    place = tempfile.mkdtemp()
    store = open_store(Paths(place, "", place, place))
    with store.transaction():
        number = store.record_check("/", 0, time.time())
        store.learn(
            number,
            [learnt_memory(name, (0, 0, 0), QuickParse("", "", None, (), text)) for name, text in documents.items()],
        )
    directory = store.directory("/")
    assert directory is not None
    return lambda text: [one.memory.name for one in candidates(store, directory, query_of(text))[:AMONG]]


def _fts5(documents: dict[str, str]) -> Callable[[str], list[str]]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE note USING fts5(name UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO note VALUES (?, ?)", documents.items())

    def search(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in terms_of(text))
        if not words:
            return []
        sql = "SELECT name FROM note WHERE note MATCH ? ORDER BY rank LIMIT ?"
        return [name for (name,) in connection.execute(sql, (words, AMONG))]

    return search


def scores_of(labelled: dict[str, Any]) -> dict[str, Score]:
    groups: dict[Any, dict[str, str]] = {}
    for note in labelled["corpus"]:
        groups.setdefault(note["group"], {})[str(note["id"])] = note["text"]
    rows: dict[str, list[Score]] = {}
    for group, documents in groups.items():
        for name, search in searches(documents):
            for query in labelled["queries"]:
                if query["group"] != group:
                    continue
                began = time.process_time()
                found = search(query["text"])
                taken = (time.process_time() - began) * 1e3
                relevant = set(map(str, query["relevant"]))
                rows.setdefault(name, []).append(
                    Score(
                        bool(relevant & set(found[:1])),
                        bool(relevant & set(found[:5])),
                        len(relevant & set(found[:5])) / len(relevant),
                        len(relevant & set(found)) / len(relevant),
                        taken,
                    )
                )
    return {name: Score(*map(mean, zip(*them, strict=True))) for name, them in rows.items()}


def svg_of(scores: dict[str, Score]) -> str:
    """Bars of hit@1, hit@5 and R@10 for each search."""
    shades = ("#1b5e8c", "#5fa3cf", "#bcd9ec")
    lines = []
    for row, (name, score) in enumerate(scores.items()):
        top = 40 + row * 78
        lines.append(f'<text x="10" y="{top + 30}">{name}</text>')
        for bar, (label, value) in enumerate(
            (("hit@1", score.hit_1), ("hit@5", score.hit_5), ("R@10", score.recall_10))
        ):
            at = top + bar * 20
            lines.append(f'<rect x="230" y="{at}" width="{value * 400:.0f}" height="16" fill="{shades[bar]}"/>')
            lines.append(f'<text x="{236 + value * 400:.0f}" y="{at + 13}">{label} {value * 100:.1f}</text>')
    height = 50 + len(scores) * 78
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" font-family="sans-serif" font-size="13">'
    title = '<text x="10" y="22" font-weight="bold">Questions about long conversations (LoCoMo, raw sessions), percent</text>'
    return "\n".join([head, f'<rect width="760" height="{height}" fill="#ffffff"/>', title, *lines, "</svg>", ""])


def main(arguments: list[str]) -> int:
    svg = arguments[arguments.index("--svg") + 1] if "--svg" in arguments else ""
    place = Path(
        next((argument for argument in arguments if not argument.startswith("--") and argument != svg), "eval")
    )
    files = sorted(place.glob("locomo-raw*.json"))
    if not files:
        print(f"There is no locomo-raw*.json in {place}. Name the directory: make bench-recall EVAL=DIRECTORY")
        return 1
    for file in files:
        labelled = json.loads(file.read_text(encoding="utf-8"))
        scores = scores_of(labelled)
        table.show(
            f"{file.name}: {len(labelled['queries'])} questions, {len(labelled['corpus'])} sessions.",
            ("", "hit@1", "hit@5", "R@5", "R@10", "ms"),
            [
                (name, *(f"{value * 100:.1f}" for value in score[:4]), f"{score.milliseconds:.1f}")
                for name, score in scores.items()
            ],
        )
        if svg:
            Path(svg).write_text(svg_of(scores), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
