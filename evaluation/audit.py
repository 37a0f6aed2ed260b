"""How well audit finds what was said more than once: repetitions in other words, and near misses, planted in a home.

    python -m evaluation.audit [STORIES.json RENDER.py] [--verbose]

Every pair of a set of `evaluation/audit_cases.json` is told in two sessions, between the sessions of the stories, if some are
named; each set in a home of its own. What audit lists is then compared: how many of the repetitions it found, and how many pairs that
it lists are the same. Pairs of sentences that come from different planted repetitions, or from a story, count as wrong.
`repeated` and `different` are what the rules and the weights were made with; the others are not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

from memoryd.config import Config
from memoryd.jobs.audit import audit
from memoryd.paths import paths_from
from tests.transcript import Session, write

CASES = Path(__file__).with_name("audit_cases.json")
SETS = (
    ("repeated", "different"),
    ("held_out", "held_out_different"),
    ("second_held_out", "second_held_out_different"),
    ("third_held_out", "third_held_out_different"),
)
_NOW = 1_795_000_000.0


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    for repeated, different in SETS:
        for kinds in ((repeated,), (repeated, different, "not_lasting")):
            with tempfile.TemporaryDirectory() as home:
                if arguments:
                    stories, render = arguments
                    subprocess.run([sys.executable, render, stories, home], check=True, stdout=subprocess.DEVNULL)
                score(home, cases, kinds, is_verbose="--verbose" in sys.argv)
    return 0


def score(home: str, cases: dict[str, Any], kinds: tuple[str, ...], *, is_verbose: bool) -> None:
    """Tell the pairs of these kinds, of which the first are repetitions, and print what audit says of them."""
    paths = paths_from({"HOME": home})
    same: dict[str, str] = {}
    texts = [text for kind in kinds for pair in cases[kind] for text in pair]
    for number, text in enumerate(texts, 1):
        session = Session(number, cwd=f"/code/p{number % 7}")
        write(paths.transcripts_root, session, session.turn(text), f"-code-p{number % 7}")
    for group in (*cases[kinds[0]], *cases["also_same"]):
        joined = {same.get(text, text) for text in group}
        same |= dict.fromkeys(group, group[0])
        same |= {text: group[0] for text, name in same.items() if name in joined}
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
    missed = [pair for pair in cases[kinds[0]] if frozenset(pair) not in together]
    total = len(cases[kinds[0]])
    beside = f", beside {', '.join(kinds[1:])}" if kinds[1:] else ""
    print(f"{kinds[0]}{beside}: found {total - len(missed)} of {total} ({1 - len(missed) / total:.2f})")
    right = len(listed) - len(wrong)
    print(f"  listed {len(listed)} pairs, {right} the same ({right / max(1, len(listed)):.3f}); {seconds:.1f} s")
    for pair in missed if is_verbose and not beside else ():
        print("  missed:", *pair, sep="\n    ")
    for pair in wrong if is_verbose else ():
        print("  wrong:", *pair, sep="\n    ")


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


if __name__ == "__main__":
    sys.exit(main())
