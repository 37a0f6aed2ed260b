"""A model hired for one test: what it answers is given, and that the client broke no rule is checked in the end."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoryd.jobs.standing import hold_of
from memoryd.jobs.work import due, work
from memoryd.state import steps
from tests.jobs.desk import NOW
from tests.jobs.office import Office, ToldClock, hiring
from tests.messages_server import MessagesServer, Reply, call, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.config import Budget
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.holds import Hold
    from tests.messages_server import Answer, Block, Request

NOTHING = Reply(text("nothing"))
RULE = "please keep every review under 400 changed lines"
RULE_MD = "feedback_review_size.md"


def in_turn(*answers: Answer) -> Callable[[Request], Answer]:
    """These answers, one after the other; afterwards the model has nothing to say."""
    left = list(answers)
    return lambda _: left.pop(0) if left else NOTHING


@contextmanager
def hired(
    database: Database,
    paths: Paths,
    answer: Callable[[Request], Answer] | Answer,
    *,
    budget: Budget | None = None,
    engine: str = "auto",
    has_cache: bool = True,
    **settings: Any,
) -> Iterator[Office]:
    with MessagesServer(answer if callable(answer) else lambda _: answer, has_cache=has_cache) as server:
        config = hiring(server, **settings)._replace(engine=engine)
        yield Office(database, paths, config if budget is None else config._replace(budget=budget), server)
        assert server.violations == []


def content(body: str = "Keep every review under 400 changed lines.", **fields: str) -> str:
    """A memory as the model writes it."""
    given = {"name": "review-size", "description": '"Reviews stay small"', "type": "feedback"} | fields
    return "---\n" + "".join(f"{name}: {value}\n" for name, value in given.items()) + f"---\n{body}\n"


def writes(quote: str = RULE, name: str = RULE_MD, written: str | None = None) -> Block:
    return call("Write", {"file_path": name, "content": content() if written is None else written, "quote": quote})


def held(office: Office) -> Hold | None:
    return hold_of(office.database, office.config, office.clock.now())


def is_due(office: Office) -> bool:
    """Whether the daemon would let the model work on anything now."""
    return bool(due(office.database, office.paths, office.config, office.clock.now()))


def run_due(office: Office) -> None:
    """What the daemon's child does now; who waits is not worked on. Raises like `work`."""
    sessions = due(office.database, office.paths, office.config, office.clock.now())
    model = office.hired()
    try:
        list(work(office.database, office.paths, sessions, office.clock.now(), clock=office.clock, model=model))
    finally:
        model.close()


def failures(office: Office) -> list[int]:
    return [row[0] for row in office.database.query("SELECT failures FROM transcripts ORDER BY id")]


def spent(office: Office) -> steps.Spent:
    """Everything, with what is reserved."""
    total = steps.Spent()
    for row in steps.usage(office.database):
        total = total.plus(row.spent)
    return total


def remarks(office: Office) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in office.database.query("SELECT kind, text FROM remarks ORDER BY rowid")]


class Ticking(ToldClock):
    """Time passes whenever somebody looks at the clock."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.at = NOW
        self.seconds = seconds

    def now(self) -> float:
        self.at += self.seconds
        return self.at
