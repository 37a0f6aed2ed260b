"""The workspace whose engine is a `claude` command."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.claude_server import ClaudeServer, config_with_claude
from tests.jobs.model_workspace import ModelWorkspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.messages_server import Answer, Request


@contextmanager
def with_claude(
    database: Database,
    paths: Paths,
    environment: Mapping[str, str],
    command: Path,
    answer: Callable[[Request], Answer] | Answer,
    *,
    reviewer: Callable[[Request], Answer] | None = None,
    variables: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[ModelWorkspace]:
    """`variables` go to the command, beside the login."""
    answers = answer if callable(answer) else lambda _: answer
    with ClaudeServer(answers, reviewer=reviewer) as server:
        config = config_with_claude(command, server, **settings)
        more = dict(config.claude.environment) | dict(variables or {})
        config = config._replace(claude=config.claude._replace(environment=more))
        workspace = ModelWorkspace(database, paths, config, server)
        workspace.environment = dict(environment)
        yield workspace
        assert server.violations == []
