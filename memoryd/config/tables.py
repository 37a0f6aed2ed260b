"""Every setting, its sentence and its default."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from memoryd.prices import PRICES, Price  # noqa: TC001 - get_type_hints looks Price up

# Each field's metadata is its sentence in config.example.toml; a test keeps the two equal.


def _key(sentence: str, default: Any, *, least: float | None = None, example: str = "") -> Any:
    metadata = {"sentence": sentence, "least": least, "example": example}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    config_dir: str | None = _key(
        "Where Claude Code keeps its files, if not in ~/.claude; a service does not see your shell's CLAUDE_CONFIG_DIR.",
        None,
        example='"~/.claude"',
    )


@dataclass(frozen=True, slots=True)
class Scan:
    interval_seconds: float = _key(
        "How often all transcripts are looked at (stat only), whatever the system reports in between.", 60.0, least=0.1
    )
    settle_seconds: float = _key(
        "When the system reports growth, they are looked at once it has reported nothing more for this long.",
        0.5,
        least=0,
    )
    longest_settle_seconds: float = _key("While it keeps reporting, they are looked at this often.", 3.0, least=0)


@dataclass(frozen=True, slots=True)
class Turns:
    quiet_seconds: float = _key(
        "A turn is worked on when its session was silent for this long; an answer without a stop mark ends after it.",
        20.0,
        least=0,
    )
    longest_wait_seconds: float = _key(
        "A busy session is worked on this long after its first waiting turn.", 120.0, least=0
    )
    give_up_seconds: float = _key(
        "A turn that never got its answer counts as ended after this silence.", 600.0, least=0
    )


@dataclass(frozen=True, slots=True)
class Extraction:
    every_turns: int = _key(
        "A session is worked on when so many of its turns wait, or when it is over; 1 is after every turn.", 1, least=1
    )


@dataclass(frozen=True, slots=True)
class Features:
    extraction: bool = _key(
        "Whether what you say is read in the background; `memoryd extract-now` works either way.", True
    )
    dream: bool = _key(
        "Whether memories are consolidated in the background; `memoryd dream-now` works either way.", True
    )
    recall: bool = _key(
        "Whether memories are handed to a client's prompts by its hooks; `memoryd recall` works either way.", True
    )
    rot_check: bool = _key(
        "Whether memories are compared with the repository for paths, symbols and commands that are gone.", True
    )


@dataclass(frozen=True, slots=True)
class Dream:
    least_hours: float = _key("So long after the last consolidation of a project the next one may come.", 24.0, least=0)
    least_sessions: int = _key("And only when so many of its sessions have changed since then.", 5, least=1)
    scan_minutes: float = _key("How often the sessions of a project are counted for that.", 10.0, least=0)


@dataclass(frozen=True, slots=True)
class Recall:
    selector: str = _key(
        'Who picks the memories for a prompt: "local" (built in, free, at once) or "model", where a model reads the turns.',
        "local",
    )
    model_seconds: float = _key(
        "How long a prompt waits for the model's choice; after that the built in one counts.", 4.0, least=0.1
    )


@dataclass(frozen=True, slots=True)
class Anthropic:
    api_key_file: str | None = _key(
        "A file that holds your API key and that only you may read. A key in the environment alone is not used.",
        None,
        example='"~/.config/memoryd/api-key"',
    )
    api_key_command: str = _key(
        "A command that prints the key, run without a shell, where no file is named.",
        "",
        example='"pass show anthropic/api-key"',
    )
    api_key_variable: str = _key(
        "A variable with the key in memoryd's own environment, the last choice: a service does not see your shell's.",
        "",
        example='"ANTHROPIC_API_KEY"',
    )
    base_url: str = _key(
        "Where the Messages API is: Anthropic's, a gateway, or a local model (Ollama: http://localhost:11434).",
        "https://api.anthropic.com",
    )
    extraction_model: str = _key("The model that reads finished turns: a small one is enough.", "claude-haiku-5-5")
    dream_model: str = _key("The model that consolidates memories: a larger one.", "claude-sonnet-5-5")
    context_window_tokens: int = _key(
        "How much the model can read at once; 0: what is known of the model, else 200,000.", 0, least=0
    )
    longest_run_seconds: float = _key("A run that takes longer is given up and tried again later.", 300.0, least=10)


@dataclass(frozen=True, slots=True)
class Budget:
    usd_per_day: float = _key("What model calls may cost a day; reached, they rest until the day turns.", 1.0, least=0)
    usd_per_run: float = _key("What one run of a model may cost.", 0.25, least=0)
    usd_per_dream: float = _key("What one consolidation by a model may cost.", 0.5, least=0)
    prices: dict[str, Price] = _key(  # noqa: RUF009 - a field, made by dataclasses.field
        "USD for a million tokens, beside the prices that memoryd knows; a local model that is not listed is free.",
        {},
        example='{ "my-model" = { input = 1.0, output = 5.0, cache_read = 0.1 } }',
    )

    def price_of(self, model: str) -> Price | None:
        """The price in config, else the one that is known; a dated name (`-20261001`) costs what the plain one does."""
        plain = re.sub(r"-20\d{6}$", "", model)
        return self.prices.get(model) or self.prices.get(plain) or PRICES.get(plain)


@dataclass(frozen=True, slots=True)
class Projects:
    exclude: tuple[str, ...] = _key(
        "Folders that memoryd leaves alone, with all below them: absolute or ~/ paths, with * and ? and [ ] as in a shell.",
        (),
        example='["~/private/*"]',
    )
    memory_dirs: dict[str, str] = _key(  # noqa: RUF009 - a field, made by dataclasses.field
        "A memory directory of its own for a project, by its root: for projects whose names clash.",
        {},
        example='{ "~/code/app" = "~/notes/app-memory" }',
    )


@dataclass(frozen=True, slots=True)
class History:
    keep_days: float = _key("How long a change can be shown and taken back.", 90.0, least=1)
    keep_megabytes: float = _key("How much room that may take; the oldest goes first.", 500.0, least=1)


@dataclass(frozen=True, slots=True)
class Log:
    level: str = _key('How much goes into the log file: "debug", "info", "warning" or "error".', "info")


@dataclass(frozen=True, slots=True)
class Config:
    memory_root: str | None = _key(
        "Keep the memories of all projects below this directory, one folder each, instead of beside Claude Code's files.",
        None,
        example='"~/memories"',
    )
    engine: str = _key(
        'Who reads the turns: "offline" (built in, free), "anthropic" (a model), or "auto": a model if a key is named below.',
        "auto",
    )
    anthropic: Anthropic = field(default_factory=Anthropic)
    budget: Budget = field(default_factory=Budget)
    claude_code: ClaudeCode = field(default_factory=ClaudeCode)
    scan: Scan = field(default_factory=Scan)
    turns: Turns = field(default_factory=Turns)
    extraction: Extraction = field(default_factory=Extraction)
    dream: Dream = field(default_factory=Dream)
    recall: Recall = field(default_factory=Recall)
    features: Features = field(default_factory=Features)
    projects: Projects = field(default_factory=Projects)
    history: History = field(default_factory=History)
    log: Log = field(default_factory=Log)
