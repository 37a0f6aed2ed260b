"""Whether the user's messages, all of them and nothing else, are read from homes that real clients wrote.

    python -m evaluation.clients DIRECTORY

DIRECTORY holds homes as `evaluation/clients.json` names them, each with what was typed there. A copy of every home is read twice
by the ingester, as the daemon does; the words of its turns are compared with that list, as they are and how often. The project
of each was a git repository, which the homes do not hold: the copy gets an empty one, as aider's history is read only where git
shows that it did not come with the repository.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from memoryd.clients.registry import ALL, client_named
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.paths import paths_from
from memoryd.projects import Project
from memoryd.state import projects
from memoryd.state.database import open_database
from memoryd.transcripts.read import TurnPlace, read_turns
from tests.clients.other_homes import make_repository

_TYPED = Path(__file__).with_name("clients.json")


def score(homes: Path) -> bool:
    """Print a line for each home; False where one is not read exactly."""
    is_exact = True
    for name, typed in json.loads(_TYPED.read_text(encoding="utf-8")).items():
        if not (homes / name).is_dir():
            print(f"{name}: not there")
            continue
        with tempfile.TemporaryDirectory() as place:
            home = Path(place, "home")
            shutil.copytree(homes / name, home, symlinks=True)
            for folder in (home, home / "acme"):
                folder.mkdir(exist_ok=True)
                folder.chmod(0o700)
            make_repository(home / "acme")
            said, unknown = _read(home)
        missing, injected = Counter(typed) - said, said - Counter(typed)
        print(
            f"{name}: {said.total()} messages of {len(typed)}, missing {missing.total()}, injected or twice"
            f" {injected.total()}, lines of unknown type or shape {unknown}"
        )
        for text in (*missing, *injected):
            print(f"    {text[:200]!r}")
        is_exact &= not missing and not injected
    return is_exact


def _read(home: Path) -> tuple[Counter[str], int]:
    with tempfile.TemporaryDirectory() as state:
        paths = paths_from({"HOME": str(home), "XDG_STATE_HOME": state})
        database = open_database(paths)
        with database.transaction():  # aider keeps sessions in the projects that are known
            root = str(home / "acme")
            projects.project_id_of(database, Project(root, "acme", f"{state}/memory"), 1e9)
        for now in (2e9, 2e9 + 1):
            Ingester(ALL, database, paths, Config()).ingest(now)
        rows = database.query(
            "SELECT client, path, prompt_id, start, end FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        )
        said: Counter[str] = Counter()
        for client, path, *place in rows:
            turns = read_turns(client_named(client), path, [TurnPlace(*place)], "/memory")
            said.update(turn.said.text for turn in turns.values())
        damage = [json.loads(row[0]) for row in database.query("SELECT damage FROM transcripts")]
        database.close()
    return said, sum(sum(kinds.values()) for kinds in damage)


if __name__ == "__main__":
    sys.exit(0 if score(Path(sys.argv[1])) else 1)
