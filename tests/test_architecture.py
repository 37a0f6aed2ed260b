"""The folders are the flow: imports go only where the map in memoryd/__init__.py says."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

PACKAGE = Path(os.path.dirname(__file__), "../memoryd").resolve()

# From the ground up. A part may import parts of the layers below its own, and of its own layer only itself.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"model", "errors", "words", "security", "prices", "private"}),
    frozenset({"bell", "clock", "paths", "notify"}),
    frozenset({"config", "log", "projects", "instance", "failure", "logbook", "wake"}),
    frozenset({"state", "service"}),
    frozenset({"transcripts", "gates", "engines", "memory", "clients"}),
    frozenset({"recall", "rot"}),
    frozenset({"jobs"}),
    frozenset({"narration", "status"}),
    frozenset({"condition", "crew"}),
    frozenset({"daemon", "doctor", "hook"}),
    frozenset({"cli"}),
)
# `projects` decides by config where memory is kept; `log` writes what `logbook` reads.
ALSO = {("projects", "config"), ("log", "logbook")}
# Parts that must not know the ledger, although it lies below them: they are pure or read files only.
WITHOUT_STATE = {"transcripts", "gates", "engines"}

# Heavy or dangerous modules and their only importers.
ONLY_IMPORTER = {
    "anthropic": {"engines/anthropic/client.py"},
    "apscheduler": {"jobs/schedule.py"},
    "watchdog": {"transcripts/watch.py"},
    "httpx2": {"engines/anthropic/client.py"},
    "msgspec": {"transcripts/claude_code.py"},
    "structlog": {"log.py"},
    "sqlite3": {"state/database.py", "state/ledger.py", "recall/database.py"},
    "fcntl": {"instance.py", "memory/directory.py", "memory/apply.py", "jobs/alone.py"},
    "ctypes": {"memory/exchange.py"},
    "yaml": {"memory/document.py"},
    "psutil": {"memory/lock.py", "doctor/machine.py"},
    "rich": {"cli/screen.py"},
    "tomllib": {"config/reading.py", "engines/offline/lexicon.py"},
    "subprocess": {
        "engines/anthropic/account.py",
        "engines/anthropic/shell.py",
        "jobs/worker.py",
        "rot/git.py",
        "service/tools.py",
    },
    "socket": {"notify.py"},
    "time": {"clock.py"},
}

FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def part_of(module: str) -> str:
    """The part that `memoryd.x.y` or `x/y.py` belongs to; the package itself is the empty one."""
    return module.replace("memoryd", "", 1).strip(".").split(".")[0]


def imports_of(path: Path, *, with_types: bool) -> list[str]:
    """Every module that a file imports; those for type checking only if asked for."""
    tree = ast.parse(path.read_text())
    if not with_types:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                node.body = []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [
                f"{node.module}.{alias.name}" if node.module == "memoryd" else node.module for alias in node.names
            ]
    return found


def layer_of(part: str) -> int:
    return next(number for number, parts in enumerate(LAYERS) if part in parts)


def test_every_part_has_its_layer() -> None:
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES} - {"__init__", "__main__"}
    assert parts == set().union(*LAYERS)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_follow_the_flow(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part in ("__init__", "__main__"):
        return
    for module in imports_of(path, with_types=True):
        if not module.startswith("memoryd."):
            continue
        other = part_of(module)
        if other in ("__version__", part) or (part, other) in ALSO:
            continue
        assert layer_of(other) < layer_of(part), f"{name_of(path)} imports {module}"
        assert not (part in WITHOUT_STATE and other == "state"), f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_and_dangerous_modules_have_one_importer(path: Path) -> None:
    for module in imports_of(path, with_types=False):
        top = module.split(".")[0]
        if top in ONLY_IMPORTER:
            assert name_of(path) in ONLY_IMPORTER[top], f"{name_of(path)} imports {top}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_says_in_its_first_line_what_it_owns(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":", ","))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_stays_below_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_environment_is_read_in_one_place(path: Path) -> None:
    if name_of(path) not in ("cli/__init__.py", "__main__.py"):  # which hand it to paths.py
        assert "os.environ" not in path.read_text()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_writes_below_the_clients_directory(path: Path) -> None:
    """Only the state directory is written to, by the files that own something in it, and memory by its own part."""
    text = path.read_text()
    writers = {"private.py", "state/database.py", "instance.py", "log.py", "jobs/alone.py", "cli/demo.py"}
    writers |= {"failure.py", "service/tools.py"}
    writers |= {"config/keeping.py", "wake.py", "jobs/upkeep.py"}
    writers |= {"recall/database.py", "recall/sessions.py"}  # in the state directory
    writers |= {"memory/apply.py", "memory/exchange.py", "memory/lock.py", "memory/directory.py", "memory/staging.py"}
    writers |= {"engines/anthropic/view.py"}  # in the private copy of a memory directory
    writers |= {"clients/claude_code_file.py"}  # our hooks in the user's settings, when asked by `memoryd hooks`
    if name_of(path) not in writers:
        for call in ("O_WRONLY", "O_RDWR", "O_CREAT", "makedirs", "os.rename", "os.replace", "os.remove", "unlink"):
            assert call not in text or name_of(path) == "cli/__init__.py", f"{name_of(path)} uses {call}"


def test_memory_files_are_written_by_the_commit_alone() -> None:
    """`apply` opens files for writing, by names that only a commit makes; `lock` has its one file; nobody else does."""
    for path in FILES:
        text = path.read_text()
        uses = {call for call in ("O_WRONLY", "O_CREAT", "exchange(", "rename_if_free(") if call in text}
        if name_of(path).startswith("memory/") and uses:
            assert name_of(path) in ("memory/apply.py", "memory/exchange.py", "memory/lock.py")
    importers = {name_of(path) for path in FILES if "memoryd.memory.apply" in imports_of(path, with_types=False)}
    assert importers == {"memory/commit.py"}
