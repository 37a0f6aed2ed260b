"""A key in a variable that the config names: every process that works with the model sees it, and only that one."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import Daemon, memoryd
from tests.acceptance.model import memories, say
from tests.keeping_model import keeping_model
from tests.messages_server import MessagesServer
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.paths import Paths

MEMORY = "project_nonce_00000001.md"


def begin(environment: dict[str, str], paths: Paths, server: MessagesServer, variable: str) -> Session:
    """A session that memoryd has seen, and a config that names a variable."""
    session = Session()
    say(paths, session, "let us begin")
    assert memoryd(environment, "extract-now").returncode == 0
    config = Path(paths.config_file)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f'[anthropic]\napi_key_variable = "{variable}"\nbase_url = "{server.url}"\n'
        "[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0\n"
    )
    return session


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "MY_KEY"])
def test_a_command_sees_the_variable_that_the_config_names(
    environment: dict[str, str], paths: Paths, variable: str
) -> None:
    with MessagesServer(keeping_model) as server:
        session = begin(environment, paths, server, variable)
        say(paths, session, "ok. keep nonce-00000001 is blue.")
        assert memoryd(environment | {variable: "test-key"}, "extract-now").returncode == 0
        assert (list(memories(paths)), server.violations) == (["MEMORY.md", MEMORY], [])


def test_the_daemon_sees_the_variable_that_the_config_names(environment: dict[str, str], paths: Paths) -> None:
    """In its children. The variable is the one that the SDK would take by itself."""
    variable = "ANTHROPIC_API_KEY"
    with MessagesServer(keeping_model) as server:
        session = begin(environment, paths, server, variable)
        with Daemon(environment | {variable: "test-key"}) as daemon:
            daemon.says("Talk to Claude Code")
            say(paths, session, "ok. keep nonce-00000001 is blue.")
            daemon.says(f"saved ~/.claude/projects/-code-acme/memory/{MEMORY}")
            daemon.stop(signal.SIGTERM)
        assert (list(memories(paths)), server.violations) == (["MEMORY.md", MEMORY], [])
