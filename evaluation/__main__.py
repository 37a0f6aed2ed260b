"""Render labelled sessions below a home of their own, let memoryd work there as a user would, print the scorer's table.

    python -m evaluation DIRECTORY [--verbose]

DIRECTORY holds `render.py`, `score_extraction.py`, `score_dream.py`, `score_recall.py` and sets named `extraction*.json`,
`dream*.json`, `recall*.json` and `review*.json`; notes with questions, `locomo-*.json`, are ranked if there are any, and so are
projects over several sessions, `stories*.json`, where there is a `score_stories.py`.
What the embedded engine was not fitted to, training/heldout, training/dreams-heldout and evaluation/stories.json, is scored beside them. What a
model would be sent of sessions is searched for their secrets. Homes that other clients wrote, in `clients` beside DIRECTORY,
are read first, and must be read exactly.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from evaluation import clients, recall, review
from evaluation.dreams import TRAINING, cases_in
from evaluation.requests import look
from training.labels import sessions_in


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    tools = Path(arguments[0] if arguments else "eval").resolve()
    for name in ("render.py", "score_extraction.py", "score_dream.py", "score_recall.py"):
        if not (tools / name).exists():
            print(f"There is no {name} in {tools}. Name the directory that holds it: make eval EVAL=DIRECTORY")
            return 1
    if (tools.parent / "clients").is_dir():
        print("\nsessions of other clients", flush=True)
        if not clients.score(tools.parent / "clients"):
            return 1
    with tempfile.TemporaryDirectory() as place:
        heldout = Path(place, "heldout.json")
        heldout.write_text(json.dumps(sessions_in("heldout"), ensure_ascii=False), encoding="utf-8")
        for sessions in (*sorted(tools.glob("extraction*.json")), heldout):
            home = Path(place, sessions.stem)
            print(f"\n{sessions.stem}", flush=True)
            if not score(tools, sessions, home) or not look(tools, sessions, Path(place, f"{sessions.stem}-requests")):
                return 1
        dreams = Path(place, "dreams-heldout.json")
        dreams.write_text(json.dumps(cases_in_heldout(), ensure_ascii=False), encoding="utf-8")
        for cases in (*sorted(tools.glob("dream*.json")), dreams):
            print(f"\n{cases.stem}", flush=True)
            if not score_dreams(tools, cases, Path(place, cases.stem)):
                return 1
        for stories in (*sorted(tools.glob("stories*.json")), Path(__file__).with_name("stories.json")):
            print(f"\n{stories.stem}", flush=True)
            if (tools / "score_stories.py").exists() and not score_stories(
                tools, stories, Path(place, f"at-{stories.stem}")
            ):
                return 1
        for prompts in sorted(tools.glob("recall*.json")):
            print(f"\n{prompts.stem}", flush=True)
            if not recall.score(tools, prompts, Path(place, prompts.stem)):
                return 1
        own = Path(__file__).parent
        for proposals in (*sorted(tools.glob("review*.json")), *sorted(own.glob("review_cases.json"))):
            print(f"\n{proposals.stem}", flush=True)
            if not review.score(proposals):
                return 1
        for notes in sorted(tools.glob("locomo-*.json")):
            print(f"{notes.stem}: {recall.any_among_five(notes):.3f} with an answer among five", flush=True)
    return 0


def cases_in_heldout() -> list[dict[str, Any]]:
    return [case for file in sorted((TRAINING / "dreams-heldout").glob("*.jsonl")) for case in cases_in(file)]


def score_dreams(tools: Path, cases: Path, home: Path) -> bool:
    """Consolidate case by case with the real command; False where the scorer itself failed."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    command = [sys.executable, "-P", "-m", "memoryd", "dream-now", "--json"]
    step = [sys.executable, str(tools / "score_dream.py"), str(cases), str(home), *command]
    return subprocess.run(step, env=environment, check=False).returncode == 0


def score_stories(tools: Path, stories: Path, home: Path) -> bool:
    """Let projects live for several sessions with the real command; False where the scorer itself failed."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    command = [str(Path(sys.executable).with_name("memoryd")), "backfill", "--yes"]
    step = [sys.executable, str(tools / "score_stories.py"), str(stories), str(home), *command]
    return subprocess.run(step, env=environment, check=False).returncode == 0


def score(tools: Path, sessions: Path, home: Path) -> bool:
    """Score one set; False where a step failed."""
    verbose = ["--verbose"] if "--verbose" in sys.argv else []
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    steps = (
        [sys.executable, str(tools / "render.py"), str(sessions), str(home)],
        [sys.executable, "-m", "memoryd", "backfill", "--yes"],
        [sys.executable, str(tools / "score_extraction.py"), str(sessions), str(home), *verbose],
    )
    for number, step in enumerate(steps, 1):
        is_last = number == len(steps)
        done = subprocess.run(step, env=environment, check=False, capture_output=not is_last, text=True)
        if done.returncode:
            print(done.stderr or "")
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
