"""A model for one test: what it answers is given, and that the client broke no rule is checked in the end."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoryd.jobs.due import due, extract_due
from memoryd.jobs.holds import hold_of
from memoryd.state import model_calls
from tests.jobs.model_workspace import ModelWorkspace, config_with_model
from tests.messages_server import MessagesServer, Reply, call, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.config import Budget
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.engine_holds import Hold
    from tests.messages_server import Answer, Block, Request

NOTHING = Reply(text("nothing"))
RULE = "please keep every review under 400 changed lines"
RULE_MD = "feedback_review_size.md"
RULE_BODY = "Keep every review under 400 changed lines."


def in_turn(*answers: Answer) -> Callable[[Request], Answer]:
    """These answers, one after the other; afterwards the model has nothing to say."""
    left = list(answers)
    return lambda _: left.pop(0) if left else NOTHING


@contextmanager
def with_model(
    database: Database,
    paths: Paths,
    answer: Callable[[Request], Answer] | Answer,
    *,
    budget: Budget | None = None,
    engine: str = "auto",
    has_cache: bool = True,
    reviewer: Callable[[Request], Answer] | None = None,
    **settings: Any,
) -> Iterator[ModelWorkspace]:
    answers = answer if callable(answer) else lambda _: answer
    with MessagesServer(answers, has_cache=has_cache, reviewer=reviewer) as server:
        config = config_with_model(server, **settings)._replace(engine=engine)
        yield ModelWorkspace(database, paths, config if budget is None else config._replace(budget=budget), server)
        assert server.violations == []


def content(body: str = RULE_BODY, **fields: str) -> str:
    """A memory as the model writes it; what it says of itself is what its body says."""
    told = "Reviews stay small" if body.strip() in ("", RULE_BODY) else body.strip().partition("\n")[0][:200]
    name = "review-size" if "review" in body else "-".join(re.findall(r"[a-z]{3,12}", body)[:3]) or "memory"
    given = {"name": name, "description": json.dumps(told, ensure_ascii=False), "type": "feedback"} | fields
    return "---\n" + "".join(f"{name}: {value}\n" for name, value in given.items()) + f"---\n{body}\n"


def writes(quote: str = RULE, name: str = RULE_MD, written: str | None = None) -> Block:
    return call("Write", {"file_path": name, "content": content() if written is None else written, "quote": quote})


def held(model_workspace: ModelWorkspace) -> Hold | None:
    return hold_of(model_workspace.database, model_workspace.config, model_workspace.clock.now())


def is_due(model_workspace: ModelWorkspace) -> bool:
    """Whether the daemon would let the model work on anything now."""
    return bool(
        due(model_workspace.database, model_workspace.paths, model_workspace.config, model_workspace.clock.now())
    )


def run_due(model_workspace: ModelWorkspace) -> None:
    """What the daemon's child does now; who waits is not worked on. Raises like `work`."""
    sessions = due(model_workspace.database, model_workspace.paths, model_workspace.config, model_workspace.clock.now())
    model = model_workspace.with_model()
    try:
        list(
            extract_due(
                model_workspace.database,
                model_workspace.paths,
                sessions,
                model_workspace.clock.now(),
                clock=model_workspace.clock,
                engine=model,
            )
        )
    finally:
        model.close()


def failures(model_workspace: ModelWorkspace) -> list[int]:
    return [row[0] for row in model_workspace.database.query("SELECT failures FROM transcripts ORDER BY id")]


def spent(model_workspace: ModelWorkspace) -> model_calls.Spent:
    """Everything, with what is reserved."""
    total = model_calls.Spent()
    for row in model_calls.usage(model_workspace.database):
        total = total.plus(row.spent)
    return total


def remarks(model_workspace: ModelWorkspace) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in model_workspace.database.query("SELECT kind, text FROM remarks ORDER BY rowid")]
