"""Command `claude` as an engine: which one the service finds, its version, and what was taken of the plan today."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.diagnosis.facts import read_chosen_engine, read_service_path
from memoryd.diagnosis.problems import Check, check_hold
from memoryd.engines.model.claude.command import check_version, environment_for, find_command, version_of
from memoryd.engines.model.claude.trouble import ClaudeError
from memoryd.formatting import ago

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.diagnosis.facts import ChosenEngine, World


class ClaudeFacts(NamedTuple):
    engine: ChosenEngine
    now: float
    path: str = ""
    """Of the command that the service would start."""
    version: str = ""
    """Empty: it was not asked."""
    error: ClaudeError | None = None
    is_service_path: bool = False
    """It was looked for where the service looks, which may be elsewhere than where this shell does."""


def read_claude(world: World) -> ClaudeFacts:
    claude = world.config.claude
    with world.database() as database:
        engine = read_chosen_engine(world, database)
    service_path = read_service_path(world.paths)
    facts = ClaudeFacts(engine, world.now, is_service_path=service_path is not None)
    environment = dict(world.environment) | ({"PATH": service_path} if service_path is not None else {})
    try:
        found = find_command(world.paths.expand(claude.command) or claude.command, environment)
        facts = facts._replace(path=found.path)
        if not world.is_offline:  # it may look for an upgrade
            version = version_of(found, environment_for(environment, claude.environment, world.paths.state_dir))
            facts = facts._replace(version=version)
            check_version(version, found.path)
    except ClaudeError as error:
        return facts._replace(error=error)
    return facts


def judge_claude(facts: ClaudeFacts) -> Iterator[Check]:
    yield _judge_command(facts)
    yield _judge_answer(facts)
    if facts.engine.hold is not None:
        yield check_hold(facts.engine.hold)
        return
    plan = facts.engine.plan
    if plan is not None:
        yield Check("budget", "ok", plan.sentence)


def _judge_command(facts: ClaudeFacts) -> Check:
    where = "as the service finds it" if facts.is_service_path else "as this shell finds it"
    if facts.error is not None:
        return Check("engine", "problem", facts.error.sentence, facts.error.fix)
    version = f"Claude Code {facts.version}" if facts.version else "not asked for its version, as you wished"
    return Check("engine", "ok", f"{facts.engine.model} by {facts.path}, {where}: {version}")


def _judge_answer(facts: ClaudeFacts) -> Check:
    plan = facts.engine.plan
    if plan is None or plan.answered is None:
        return Check("endpoint", "note", "it has not answered yet; whether it is logged in, the first run shows")
    answered = f"{plan.answered.model} answered {ago(facts.now - plan.answered.at)} ago"
    since = f", in use since {ago(facts.now - plan.since)} ago" if plan.since is not None else ""
    return Check("endpoint", "ok", answered + since)
