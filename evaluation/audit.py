"""How well audit finds what was said more than once: repetitions in other words, and near misses, planted in a home.

    python -m evaluation.audit [STORIES.json RENDER.py] [--verbose]

Every pair of `evaluation/audit_cases.json` is told in two sessions, between the sessions of the stories, if some are named.
What audit lists is then compared: how many of the repetitions it found, and how many pairs that it lists are the same. Pairs
of sentences that come from different planted repetitions, or from a story, count as wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

from memoryd.config import Config
from memoryd.jobs.audit import audit
from memoryd.paths import paths_from
from tests.transcript import Session, write

CASES = Path(__file__).with_name("audit_cases.json")
REPEATED = ("repeated", "held_out", "second_held_out")
DIFFERENT = ("different", "held_out_different", "second_held_out_different")
_NOW = 1_795_000_000.0


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    with tempfile.TemporaryDirectory() as home:
        if arguments:
            stories, render = arguments
            subprocess.run([sys.executable, render, stories, home], check=True, stdout=subprocess.DEVNULL)
        score(home, is_verbose="--verbose" in sys.argv)
    return 0


def score(home: str, *, is_verbose: bool) -> None:
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    paths = paths_from({"HOME": home})
    same: dict[str, str] = {}
    number = 0
    for kind in (*REPEATED, *DIFFERENT, "not_lasting"):
        for pair in cases[kind]:
            for text in pair:
                number += 1
                session = Session(number, cwd=f"/code/p{number % 7}")
                write(paths.transcripts_root, session, session.turn(text), f"-code-p{number % 7}")
    for texts in (*(pair for kind in REPEATED for pair in cases[kind]), *cases["also_same"]):
        joined = {same.get(text, text) for text in texts}
        same |= dict.fromkeys(texts, texts[0])
        same |= {text: texts[0] for text, name in same.items() if name in joined}
    start = time.perf_counter()
    report = audit(paths, Config(), _NOW, days=10_000)
    seconds = time.perf_counter() - start
    listed = [
        (one, other)
        for repetition in report.repetitions
        for one, other in combinations(dict.fromkeys(sentence.text for sentence in repetition.said), 2)
    ]
    wrong = [
        (one, other)
        for one, other in listed
        if _plain(one) != _plain(other) and same.get(one, one) != same.get(other, other)
    ]
    together = {frozenset(pair) for pair in listed}
    for kind in REPEATED:
        missed = [pair for pair in cases[kind] if frozenset(pair) not in together]
        total = len(cases[kind])
        print(f"{kind}: found {total - len(missed)} of {total} ({1 - len(missed) / total:.2f})")
        for pair in missed if is_verbose else ():
            print("  missed:", *pair, sep="\n    ")
    lasting = [pair for pair in cases["not_lasting"] if frozenset(pair) in together]
    print(f"pairs that are listed: {len(listed)}, of them the same: {1 - len(wrong) / max(1, len(listed)):.3f}")
    print(f"orders for a task that are listed: {len(lasting)} of {len(cases['not_lasting'])}")
    print(f"{report.messages} messages of {report.sessions} sessions in {seconds:.1f} s")
    for pair in (*wrong, *lasting) if is_verbose else ():
        print("  wrong:", *pair, sep="\n    ")


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


if __name__ == "__main__":
    sys.exit(main())
