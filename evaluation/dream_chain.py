"""Ten dreams in a row over sixty sessions of one made-up project: what of the facts that still hold is left after each.

    python -m evaluation.dream_chain HOME [--endpoint URL] [--json]

The first sessions are extracted, the others are left to the dreams. HOME is a directory that is not there yet; memories and
transcripts stay in it to be looked at. With --endpoint a model behind
that address dreams and reviews, without it the embedded engine does. A fact counts while one memory holds all its words.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FIRST_NIGHT = timedelta(days=11)
"""How long ago the first sessions were: dates in the scenario lie around the tenth night."""
_PROJECT = "ferry"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.home.exists():
        parser.error(f"{arguments.home} is there already; name a directory that is not")
    chain = json.loads(Path(__file__).with_name("dream_chain.json").read_text("utf-8"))
    home = arguments.home.resolve()
    work = home / "src" / _PROJECT
    work.mkdir(parents=True)
    if arguments.endpoint:
        _configure(home, arguments.endpoint)
    nights = []
    for number, sessions in enumerate(chain["nights"], start=1):
        for order, said in enumerate(sessions):
            _write_session(home, work, number, order, said)
        if number == 1:  # there is nothing to consolidate where there are no memories
            _memoryd(home, work, "backfill", "--yes")
        dream = _memoryd(home, work, "dream-now", "--json")
        told = dream.stderr.strip()[-300:] if dream.returncode else ""
        left = _facts_left(home, chain["facts"], number)
        nights.append({"night": number, "exit": dream.returncode, "said": told, **left})
        if not arguments.json:
            print(json.dumps(nights[-1], ensure_ascii=False), flush=True)
    if arguments.json:
        print(json.dumps(nights, ensure_ascii=False))
    return 0


def _configure(home: Path, endpoint: str) -> None:
    config = home / ".config" / "memoryd" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'engine = "anthropic"\n[anthropic]\nbase_url = "{endpoint}"\nextraction_model = "author"\n'
        'review_model = "reviewer"\ndream_model = "dreamer"\nlongest_run_seconds = 3000\n'
    )


def _write_session(home: Path, work: Path, night: int, order: int, said: list[str]) -> None:
    """A transcript as Claude Code writes it; a line that begins with `> ` is what the agent answers."""
    at = datetime.now(UTC) - FIRST_NIGHT + timedelta(days=night, minutes=20 * order)
    session = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{night}/{order}"))
    entries: list[dict[str, Any]] = []

    def add(kind: str, content: Any, **more: Any) -> None:
        moment = at + timedelta(seconds=5 * len(entries))
        entries.append(
            {
                "type": kind,
                "isSidechain": False,
                "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session}/{len(entries)}")),
                "parentUuid": entries[-1]["uuid"] if entries else None,
                "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                "sessionId": session,
                "cwd": str(work),
                "version": "2.1.325",
                "message": {"role": kind, "content": content, **more},
            }
        )

    for number, text in enumerate(said):
        if text.startswith("> "):
            continue
        following = said[number + 1] if number + 1 < len(said) else ""
        add("user", text)
        answer = following[2:] if following.startswith("> ") else "Done."
        add("assistant", [{"type": "text", "text": answer}], stop_reason="end_turn")
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(work))
    folder = home / ".claude" / "projects" / slug
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    (folder / f"{session}.jsonl").write_text(lines, encoding="utf-8")


def _memoryd(home: Path, work: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    command = [sys.executable, "-P", "-m", "memoryd", *arguments]
    return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)


def _facts_left(home: Path, facts: list[dict[str, Any]], night: int) -> dict[str, Any]:
    memories = [path for path in home.glob(".claude/projects/*/memory/*.md") if path.name != "MEMORY.md"]
    texts = [path.read_text("utf-8").lower() for path in memories]

    def is_held(fact: dict[str, Any]) -> bool:
        return any(all(any(word in text for word in words) for words in fact["all_of"]) for text in texts)

    standing = [fact for fact in facts if fact["told"] <= night and fact.get("until", night + 1) > night]
    missing = [fact["id"] for fact in standing if not is_held(fact)]
    index = next(iter(home.glob(".claude/projects/*/memory/MEMORY.md")), None)
    return {
        "standing": len(standing),
        "held": len(standing) - len(missing),
        "missing": missing,
        "memories": len(memories),
        "index_lines": len(index.read_text("utf-8").splitlines()) if index else 0,
    }


if __name__ == "__main__":
    sys.exit(main())
