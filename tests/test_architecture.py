"""The folders are the flow: imports go only where the map in memoryd/__init__.py says."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(os.path.dirname(__file__), "../memoryd").resolve()

# From the ground up. A unit is a module or a folder; a module that is named here is no part of its folder's unit. A unit may
# import units of the layers below its own, and of its own layer only itself.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"memory_types"}),
    frozenset(
        {
            "model",
            "errors",
            "backoff",
            "formatting",
            "security",
            "atomic_file",
            "git_index",
            "process_guard",
            "trees",
            "engines/model/prices",
            "mcp",
        }
    ),
    frozenset({"clock", "paths", "daemon/wakeup", "daemon/sd_notify"}),
    frozenset({"sources"}),
    frozenset({"config", "log", "clients", "daemon/single_instance", "daemon/last_failure", "daemon/wake_file"}),
    frozenset({"projects"}),
    frozenset({"state", "service", "language"}),
    frozenset({"memory", "jobs/gates"}),
    frozenset({"transcripts", "stores"}),
    frozenset({"review", "notes"}),
    frozenset({"engines/base"}),
    frozenset({"engines/offline", "engines/model"}),
    frozenset({"engines/choose"}),
    frozenset({"recall/concepts", "recall/terms", "rot/naming"}),
    frozenset({"rules"}),
    frozenset({"recall", "rot"}),
    frozenset({"mcp/resources"}),
    frozenset({"jobs"}),
    frozenset({"recall/refresh"}),
    frozenset({"daemon/reporter"}),
    frozenset({"daemon/health"}),
    frozenset({"daemon"}),
    frozenset({"diagnosis", "clients/hook", "mcp/server", "setup"}),
    frozenset({"cli"}),
)
# Units that must not know the database, although it lies below them: they are pure or read files only.
WITHOUT_STATE = {"transcripts", "jobs/gates", "engines/offline", "language"}

# Heavy or dangerous modules and their only importers.
ONLY_IMPORTER = {
    "anthropic": {"engines/model/client.py"},
    "apscheduler": {"daemon/schedule.py"},
    "watchdog": {"transcripts/watch.py"},
    "httpx2": {"engines/model/client.py"},
    "msgspec": {
        "clients/damaged_lines.py",
        "clients/gemini_cli/documents.py",
        "clients/aider/history.py",
        *(f"clients/{name}/rows.py" for name in ("goose", "opencode")),
        *(
            f"clients/{name}/entries.py"
            for name in (
                *("aider", "claude_code", "codex", "copilot_cli", "gemini_cli", "goose", "opencode", "pi", "qwen_code"),
            )
        ),
    },
    "structlog": {"log/writer.py"},
    "sqlite3": {"state/database.py", "sources/database.py"},  # our own files, and those of other programs
    "fcntl": {
        "daemon/single_instance.py",
        "memory/directory.py",
        "memory/apply.py",
        "jobs/process_lock.py",
        "engines/model/claude/turn_lock.py",
        "stores/directory.py",
    },
    "ctypes": {"memory/exchange.py"},
    "yaml": {"memory/document.py"},
    "psutil": {"memory/lock.py", "diagnosis/checks/machine.py"},
    "rich": {"cli/screen.py"},
    "shtab": {"cli/completion.py"},
    "tomllib": {"config/parse.py", "language/lexicon.py", "clients/toml_tables.py"},
    "subprocess": {
        "cli/editor.py",
        "engines/model/credentials.py",
        "engines/model/bash_tool.py",
        "engines/model/claude/command.py",
        "engines/model/claude/process.py",
        "daemon/child.py",
        "recall/reading.py",
        "rot/git.py",
        "service/tools.py",
        "setup/take_back.py",
        "stores/git_runner.py",
    },
    "obstore": {"stores/objects.py"},
    "socket": {"daemon/sd_notify.py", "mcp/relay.py", "engines/model/claude/conversation.py"},
    "time": {"clock.py"},
}

FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


UNITS = frozenset().union(*LAYERS)


def unit_of(module: str) -> str:
    """The unit that `memoryd.x.y` belongs to; the package itself is the empty one."""
    parts = module.split(".")[1:]
    names = ["/".join(parts[:size]) for size in (3, 2, 1)]
    return next((name for name in names if name in UNITS), "".join(parts[:1]))


def module_of(path: Path) -> str:
    return ".".join(("memoryd", *path.relative_to(PACKAGE).with_suffix("").parts))


def statements_in(body: list[Any], *, for_types: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Every statement, and whether it is there for type checking only."""
    for node in body:
        yield node, for_types
        is_check = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        yield from statements_in(getattr(node, "body", []), for_types=for_types or is_check)
        for name in ("orelse", "finalbody", "handlers", "cases"):
            yield from statements_in(getattr(node, name, []), for_types=for_types)


@cache
def imports_of(path: Path, *, with_types: bool) -> list[str]:
    """Every module that a file imports; those for type checking only if asked for."""
    found = []
    for node, for_types in statements_in(tree_of(path).body):
        if for_types and not with_types:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def layer_of(unit: str) -> int:
    return next(number for number, units in enumerate(LAYERS) if unit in units)


def test_every_unit_has_its_layer() -> None:
    units = {unit_of(module_of(path)) for path in FILES} - {"__init__", "__main__", "engines"}
    assert units == UNITS


def test_imports_follow_the_flow() -> None:
    wrong = []
    for path in FILES:
        unit = unit_of(module_of(path))
        if unit in ("__init__", "__main__", "engines"):
            continue
        for module in imports_of(path, with_types=True):
            other = unit_of(module)
            if not module.startswith("memoryd.") or other in ("__version__", unit):
                continue
            if layer_of(other) >= layer_of(unit) or (unit in WITHOUT_STATE and other == "state"):
                wrong.append(f"{name_of(path)} imports {module}")
    assert wrong == []


def test_one_client_is_known_to_commands_and_diagnosis_alone() -> None:
    """Whoever works on sessions is handed a client; only the list of all of them names each."""
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in FILES
        if not name_of(path).startswith(("clients/claude_code/", "cli/", "diagnosis/"))
        and name_of(path) not in ("clients/registry.py", "clients/memory_reader.py")
        for module in imports_of(path, with_types=True)
        if module.startswith("memoryd.clients.claude_code")
    ]
    assert wrong == []


def test_heavy_and_dangerous_modules_have_one_importer() -> None:
    wrong = []
    for path in FILES:
        for module in imports_of(path, with_types=False):
            top = module.split(".")[0]
            if top in ONLY_IMPORTER and name_of(path) not in ONLY_IMPORTER[top]:
                wrong.append(f"{name_of(path)} imports {top}")
    assert wrong == []


def test_a_file_says_in_its_first_line_what_it_owns() -> None:
    """It begins with the noun of what it owns, or with a verb; a command's is its --help."""
    first_lines = {name_of(path): (ast.get_docstring(tree_of(path)) or "").partition("\n")[0] for path in FILES}
    wrong = {
        name: line
        for name, line in first_lines.items()
        if not line.endswith((".", ":", ",", "?"))
        or line.split()[0] in ("What", "How", "Whether", "Who", "Which", "Where")
    }
    assert wrong == {}


def test_no_public_class_has_the_name_of_another() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name_of(path))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_file_stays_below_400_lines() -> None:
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_the_environment_is_read_in_one_place() -> None:
    readers = {name_of(path) for path in FILES if "os.environ" in text_of(path)}
    assert readers <= {"cli/__init__.py", "__main__.py"}  # which hand it to paths.py


def test_nothing_writes_below_the_clients_directory() -> None:
    """Only the state directory is written to, by the files that own something in it, and memory by its own part."""
    writers = {
        "atomic_file.py",
        "state/database.py",
        "daemon/single_instance.py",
        "log/writer.py",
        "jobs/process_lock.py",
        "cli/demo.py",
    }
    writers |= {"daemon/last_failure.py", "service/tools.py"}
    writers |= {"config/last_good.py", "daemon/wake_file.py", "jobs/upkeep.py"}
    writers |= {
        "recall/shown.py",
        "rules/allowance.py",
        "rules/confirmed.py",
        "jobs/prefetch.py",
    }  # in the state directory
    writers |= {"jobs/purge.py"}  # masks texts in files of the state directory
    writers |= {"jobs/notes.py"}  # removes session notes that are over
    writers |= {"memory/apply.py", "memory/apply_line.py", "memory/exchange.py", "memory/lock.py"}
    writers |= {"memory/directory.py", "memory/staging.py"}
    writers |= {"engines/model/claude/turn_lock.py", "engines/model/claude/transport.py"}  # in the state directory
    writers |= {"engines/model/sandbox.py"}  # in the private copy of a memory directory
    writers |= {"setup/record.py", "setup/take_back.py", "setup/purge.py"}  # what setup changed, and the way back
    writers |= {
        "stores/directory.py",
        "stores/folder.py",
        "stores/git_runner.py",
    }  # what is shared; and in the state directory
    writers |= {
        "clients/claude_code/settings_file.py",  # the note of what was there is dropped
        "clients/replaced_file.py",  # the settings of clients
        "clients/claude_code/plugin.py",  # which is a folder of our own in the client's
    }
    writers |= {"cli/__init__.py"}  # its own output, after that was closed
    calls = ("O_WRONLY", "O_RDWR", "O_CREAT", "makedirs", "os.rename", "os.replace", "os.remove", "unlink")
    wrong = [
        f"{name_of(path)} uses {call}"
        for path in FILES
        if name_of(path) not in writers
        for call in calls
        if call in text_of(path)
    ]
    assert wrong == []


def test_memory_files_are_written_by_the_commit_alone() -> None:
    """`apply` and `apply_line` open files for writing, by names that only a commit makes; `lock` has its one file; nobody else does."""
    for path in FILES:
        uses = {call for call in ("O_WRONLY", "O_CREAT", "exchange(", "rename_if_free(") if call in text_of(path)}
        if name_of(path).startswith("memory/") and uses:
            assert name_of(path) in ("memory/apply.py", "memory/apply_line.py", "memory/exchange.py", "memory/lock.py")
    importers = {
        name_of(path)
        for path in FILES
        if any(module.startswith("memoryd.memory.apply") for module in imports_of(path, with_types=False))
    }
    # A plan only asks where a line would come to stand.
    assert importers == {"memory/commit.py", "memory/plan.py", "memory/apply_line.py"}
