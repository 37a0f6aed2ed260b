"""Transport by the user's own `claude`: found, checked, one job at a time, and tidied up after."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.clock import day_of
from memoryd.engines.model.budget import DayCapError
from memoryd.engines.model.claude import turn_lock
from memoryd.engines.model.claude.command import check_version, environment_for, find_command, version_of
from memoryd.engines.model.claude.endpoint import ClaudeEndpoint
from memoryd.engines.model.credentials import CLAUDE
from memoryd.engines.model.prices import NEWEST
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.state import model_calls, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoryd.config import Budget, ClaudeCommand, Config
    from memoryd.engines.model.agent import RunLimits
    from memoryd.engines.model.budget import Most
    from memoryd.engines.model.claude.command import FoundCommand
    from memoryd.engines.model.client import BadRequestError
    from memoryd.engines.model.prices import Price
    from memoryd.paths import Paths
    from memoryd.state.database import Database

Purpose = Literal["extraction", "review", "dream", "recall", "notes"]
_OF_THE_DAY = 0.3
"""What one prompt may take, by our usual estimate; what is reserved for it is half as much again."""
_LEAST_PROMPT_TOKENS = 8_000
_CACHES = (".cache/claude-cli-nodejs", "Library/Caches/claude-cli-nodejs")


class PlanCaps(NamedTuple):
    """Runs and tokens of a day: the plan is the user's own working tool."""

    claude: ClaudeCommand
    budget: Budget
    engine: str = CLAUDE

    def check(self, database: Database, job_id: int, most: Most, now: float) -> None:
        used = model_calls.plan_use_between(database, CLAUDE, *day_of(now), but_job=job_id)
        if used.runs >= self.claude.runs_per_day:
            raise DayCapError(
                f"claude was used {used.runs} times today, which is what claude.runs_per_day allows. It goes on tomorrow.",
                "raise claude.runs_per_day in the config, or wait; memoryd usage",
            )
        if used.tokens + most.tokens > self.claude.tokens_per_day:
            raise DayCapError(
                f"claude took {used.tokens:,} of the {self.claude.tokens_per_day:,} tokens that claude.tokens_per_day"
                f" allows, and the next request may take {most.tokens:,}. It goes on tomorrow.",
                "raise claude.tokens_per_day in the config, or wait; memoryd usage",
            )

    def price_of(self, model: str) -> Price | None:
        return self.budget.price_of(NEWEST.get(model, model))


class ClaudeTransport:
    """Made once a process; the command is looked for when the first run needs it, and the lock is kept until `close`."""

    name = CLAUDE

    def __init__(
        self, database: Database, paths: Paths, config: Config, environment: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        self._database = database
        self._paths = paths
        self._config = config
        self._environment = environment
        self._now = now
        self._lock: int | None = None
        self._command: FoundCommand | None = None

    def close(self) -> None:
        if self._lock is not None:
            self._tidy()
            os.close(self._lock)
            self._lock = None

    def caps(self, budget: Budget) -> PlanCaps:
        return PlanCaps(self._config.claude, budget)

    def price_of(self, _model: str) -> Price | None:
        """None: nobody is billed, so no price bounds a prompt."""
        return None

    def answered_window(self, _model: str) -> int:
        """Nothing: the command does not tell, and its own context management is not ours."""
        return 0

    def bounded(self, limits: RunLimits) -> RunLimits:
        """A request that could take more than half a day's tokens would wait for ever on most days."""
        room = self._config.claude.tokens_per_day * _OF_THE_DAY - limits.output_tokens
        return limits._replace(prompt_tokens=max(_LEAST_PROMPT_TOKENS, min(limits.prompt_tokens, int(room))))

    def refusal(self, error: BadRequestError) -> EngineStoppedError:
        return EngineStoppedError(
            f"claude refuses our requests. It says: {error}", "change [claude] in the config, then: memoryd retry"
        )

    @contextmanager
    def endpoint(self, purpose: Purpose) -> Iterator[ClaudeEndpoint]:
        """For one run. Raises EngineRestsError where another job uses `claude`, and ClaudeError where it is not to be had."""
        self._take_turn()
        command = self._checked_command()
        claude = self._config.claude
        effort = {"review": claude.review_effort, "dream": claude.dream_effort}.get(purpose, claude.extraction_effort)
        made = ClaudeEndpoint(
            command,
            self._environment,
            claude.environment,
            turn_lock.folder_of(self._paths),
            self._cwd,
            effort,
            self._now,
        )
        try:
            yield made
        finally:
            made.close()

    @property
    def _cwd(self) -> str:
        """Empty, and below the state directory: whatever is recorded as having happened there is none to learn from."""
        return os.path.join(turn_lock.folder_of(self._paths), "empty")

    def _take_turn(self) -> None:
        if self._lock is None:
            self._lock = turn_lock.take(self._paths)
            if self._lock is None:
                raise EngineRestsError("claude is at work for another job of memoryd.", "memoryd status")
            self._tidy()  # what a job that was killed has left
            os.makedirs(self._cwd, mode=0o700, exist_ok=True)

    def _checked_command(self) -> FoundCommand:
        """The command, of a version that will do; asked for it once for each program. Raises ClaudeError."""
        if self._command is None:
            command = self._paths.expand(self._config.claude.command) or self._config.claude.command
            found = find_command(command, self._environment)
            known = settings.get(self._database, settings.CLAUDE)
            if known is None or known.value["identity"] != found.identity:
                environment = environment_for(self._environment, self._config.claude.environment, self._cwd)
                version = version_of(found, environment)
                value = {"path": found.path, "identity": found.identity, "version": version}
                settings.put(self._database, settings.CLAUDE, value, self._now())
            else:
                version = known.value["version"]
            check_version(version, found.path)
            self._command = found
        return self._command

    def _tidy(self) -> None:
        """Remove folders of past conversations, and what `claude` keeps in its cache about ours."""
        place = turn_lock.folder_of(self._paths)
        for name in os.listdir(place):
            if name.startswith("run-") or name == "empty":
                shutil.rmtree(os.path.join(place, name), ignore_errors=True)
        slug = re.sub(r"[^a-zA-Z0-9]", "-", self._cwd)
        caches = [os.path.join(self._paths.home, cache) for cache in _CACHES]
        if os.path.isabs(own := self._environment.get("XDG_CACHE_HOME", "")):
            caches.append(os.path.join(own, "claude-cli-nodejs"))
        for cache in caches:
            shutil.rmtree(os.path.join(cache, slug), ignore_errors=True)
