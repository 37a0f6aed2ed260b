"""Every setting, its sentence and its default.

Named tuples, since every command and every hook imports them: a dataclass takes ten times as long to define. Annotations are
not strings, since a named tuple would compile those.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from memoryd.engines.model.prices import PRICES, Price
from memoryd.record import NamedTuple


class Key(NamedTuple):
    """Sentence, least value and example of a setting."""

    sentence: str
    """Sentence in config.example.toml; a test keeps the two equal."""
    least: float | None = None
    example: str = ""
    """Value in the example, where the default says nothing."""


class ClaudeCode(NamedTuple):
    config_dir: Annotated[
        str | None,
        Key(
            "Where Claude Code keeps its files, if not in ~/.claude; a service does not see your shell's CLAUDE_CONFIG_DIR.",
            example='"~/.claude"',
        ),
    ] = None


class Scan(NamedTuple):
    interval_seconds: Annotated[
        float,
        Key("How often all transcripts are looked at (stat only), whatever the system reports in between.", least=0.1),
    ] = 60.0
    settle_seconds: Annotated[
        float,
        Key(
            "When the system reports growth, they are looked at once it has reported nothing more for this long.",
            least=0,
        ),
    ] = 0.5
    longest_settle_seconds: Annotated[
        float, Key("While it keeps reporting, they are looked at this often.", least=0)
    ] = 3.0


class Turns(NamedTuple):
    quiet_seconds: Annotated[
        float,
        Key(
            "A turn is worked on when its session was silent for this long; an answer without a stop mark ends after it.",
            least=0,
        ),
    ] = 20.0
    longest_wait_seconds: Annotated[
        float, Key("A busy session is worked on this long after its first waiting turn.", least=0)
    ] = 120.0
    give_up_seconds: Annotated[
        float, Key("A turn that never got its answer counts as ended after this silence.", least=0)
    ] = 600.0


class Extraction(NamedTuple):
    every_turns: Annotated[
        int,
        Key(
            "A session is worked on when so many of its turns wait, or when it is over; 1 is after every turn.", least=1
        ),
    ] = 1


class Features(NamedTuple):
    extraction: Annotated[
        bool, Key("Whether what you say is read in the background; `memoryd extract-now` works either way.")
    ] = True
    dream: Annotated[
        bool, Key("Whether memories are consolidated in the background; `memoryd dream-now` works either way.")
    ] = True
    recall: Annotated[
        bool, Key("Whether memories are handed to a client's prompts by its hooks; `memoryd recall` works either way.")
    ] = True
    rot_check: Annotated[
        bool, Key("Whether memories are compared with the repository for paths, symbols and commands that are gone.")
    ] = True

    notes: Annotated[
        bool,
        Key("Whether notes of live sessions are kept, and handed back after a compaction; see memoryd docs notes."),
    ] = True
    agent_memory: Annotated[
        bool, Key("Whether the memories of sub-agents (agent-memory/NAME) are consolidated like those of projects.")
    ] = False


class IndexSettings(NamedTuple):
    write: Annotated[
        bool,
        Key(
            "Whether MEMORY.md is kept right; false leaves it to somebody else, and memories are found by recall alone."
        ),
    ] = True


class NotesSettings(NamedTuple):
    directory: Annotated[
        str | None,
        Key("Where the notes of sessions are kept, if not with memoryd's own files.", example='"~/session-notes"'),
    ] = None
    model_share: Annotated[
        float,
        Key("A model adds to notes until this part of the day's budget is used; 0: notes are by code alone.", least=0),
    ] = 0.5


class Dream(NamedTuple):
    least_hours: Annotated[
        float, Key("So long after the last consolidation of a project the next one may come.", least=0)
    ] = 24.0
    least_sessions: Annotated[int, Key("And only when so many of its sessions have changed since then.", least=1)] = 5
    scan_minutes: Annotated[float, Key("How often the sessions of a project are counted for that.", least=0)] = 10.0
    night: Annotated[
        str,
        Key("The time of day at which daily logs are distilled, by this machine's clock; see memoryd docs daily-log."),
    ] = "03:30"


class Recall(NamedTuple):
    selector: Annotated[
        str,
        Key(
            'Who picks the memories for a prompt: "local" (built in, free, at once) or "model", where a model reads the turns.'
        ),
    ] = "local"
    most_memories: Annotated[int, Key("How many memories a prompt gets at most.", least=1)] = 5
    prompt_kilobytes: Annotated[float, Key("And how much of them in all; each is cut at 4 KB.", least=0)] = 20.0
    session_kilobytes: Annotated[
        float, Key("How much a session gets until it is compacted; then nothing more.", least=0)
    ] = 60.0
    model_seconds: Annotated[
        float, Key("How long `memoryd recall` waits for the model's choice; a prompt never waits.", least=0.1)
    ] = 4.0
    keys_per_night: Annotated[
        int,
        Key(
            "With a model: for how many memories it writes search words each night, 40 in one request; 0: none.",
            least=0,
        ),
    ] = 200


class Anthropic(NamedTuple):
    api_key_file: Annotated[
        str | None,
        Key(
            "A file that holds your API key and that only you may read. A key in the environment alone is not used.",
            example='"~/.config/memoryd/api-key"',
        ),
    ] = None
    api_key_command: Annotated[
        str,
        Key(
            "A command that prints the key, run without a shell, where no file is named.",
            example='"pass show anthropic/api-key"',
        ),
    ] = ""
    api_key_variable: Annotated[
        str,
        Key(
            "A variable with the key in memoryd's own environment, the last choice: a service does not see your shell's.",
            example='"ANTHROPIC_API_KEY"',
        ),
    ] = ""
    base_url: Annotated[
        str,
        Key("Where the Messages API is: Anthropic's, a gateway, or a local model (Ollama: http://localhost:11434)."),
    ] = "https://api.anthropic.com"
    extraction_model: Annotated[str, Key("The model that reads finished turns: a small one is enough.")] = (
        "claude-haiku-5-5"
    )
    review_model: Annotated[
        str, Key("The model that checks every change before it is kept; empty: the one for extraction.")
    ] = ""
    dream_model: Annotated[str, Key("The model that consolidates memories: a larger one.")] = "claude-sonnet-5-5"
    context_window_tokens: Annotated[
        int,
        Key(
            "How much the model can read at once; 0: what its endpoint says, else 1,000,000 for a [1m] name, else 200,000.",
            least=0,
        ),
    ] = 0
    longest_run_seconds: Annotated[
        float, Key("A run that takes longer is given up and tried again later.", least=10)
    ] = 300.0


class Agent(NamedTuple):
    read_kilobytes: Annotated[
        float,
        Key(
            "How much of a file the agent sees at once; of this and the next three never more than a quarter of a prompt.",
            least=1,
        ),
    ] = 64.0
    grep_kilobytes: Annotated[
        float, Key("A longer result of a search is shown by its first 2 KB; the agent can read the rest.", least=1)
    ] = 16.0
    glob_kilobytes: Annotated[float, Key("The same for a list of files.", least=1)] = 16.0
    bash_kilobytes: Annotated[float, Key("The same for what a command prints.", least=1)] = 16.0


class ClaudeCommand(NamedTuple):
    command: Annotated[
        str, Key('The claude command for engine = "claude": a name on the PATH of the service, or an absolute path.')
    ] = "claude"
    extraction_model: Annotated[str, Key("The model that reads finished turns, as `claude --model` takes it.")] = (
        "haiku"
    )
    extraction_effort: Annotated[str, Key('How hard it thinks: "low", "medium", "high", "xhigh" or "max".')] = "low"
    review_model: Annotated[
        str, Key("The model that checks every change before it is kept; empty: the one for extraction.")
    ] = ""
    review_effort: Annotated[str, Key("How hard that one thinks.")] = "low"
    dream_model: Annotated[str, Key("The model that consolidates memories: a larger one.")] = "sonnet"
    dream_effort: Annotated[str, Key("How hard that one thinks.")] = "low"
    runs_per_day: Annotated[
        int, Key("How often it is used a day; an extraction with its review is one run.", least=0)
    ] = 40
    tokens_per_day: Annotated[
        int, Key("How many tokens it may take of your plan a day, without what is read from a cache.", least=0)
    ] = 300_000
    quiet_minutes: Annotated[
        float, Key("A session is read when it was silent for this long, ends, or is about to be compacted.", least=0)
    ] = 5.0
    longest_run_seconds: Annotated[
        float, Key("A run that takes longer is given up and tried again later.", least=10)
    ] = 300.0
    environment: Annotated[
        Mapping[str, str],
        Key(
            "Variables for it beside those that a login needs: HOME, PATH, USER, XDG_*, CLAUDE_CONFIG_DIR, proxies.",
            example='{ CLAUDE_CODE_USE_BEDROCK = "1", AWS_PROFILE = "work" }',
        ),
    ] = MappingProxyType({})


class Budget(NamedTuple):
    usd_per_day: Annotated[
        float, Key("What model calls may cost a day; reached, they rest until the day turns.", least=0)
    ] = 1.0
    usd_per_run: Annotated[float, Key("What one run of a model may cost.", least=0)] = 0.25
    usd_per_dream: Annotated[float, Key("What one consolidation by a model may cost.", least=0)] = 0.5
    prices: Annotated[
        Mapping[str, Price],
        Key(
            "USD for a million tokens, beside the prices that memoryd knows; a local model that is not listed is free.",
            example='{ "my-model" = { input = 1.0, output = 5.0, cache_read = 0.1 } }',
        ),
    ] = MappingProxyType({})

    def price_of(self, model: str) -> Price | None:
        """The price in config, else the one that is known; a dated name (`-20261001`) costs what the plain one does."""
        plain = re.sub(r"(?:-20\d{6})?(?:\[1m\])?$", "", model)
        return self.prices.get(model) or self.prices.get(plain) or PRICES.get(plain)


class ProjectSettings(NamedTuple):
    exclude: Annotated[
        tuple[str, ...],
        Key(
            "Folders that memoryd leaves alone, with all below them: absolute or ~/ paths, with * and ? and [ ] as in a shell.",
            example='["~/private/*"]',
        ),
    ] = ()
    memory_dirs: Annotated[
        Mapping[str, str],
        Key(
            "A memory directory of its own for a project, by its root: for projects whose names clash.",
            example='{ "~/code/app" = "~/notes/app-memory" }',
        ),
    ] = MappingProxyType({})


class ProjectOptions(NamedTuple):
    """Settings of one project: `[project."~/code/app"]`."""

    daily_log: bool = False
    """Extraction appends lines to daily logs, and a dream distils them each night."""


class SyncSettings(NamedTuple):
    remote: Annotated[
        str,
        Key(
            "Where your memories travel between your machines: a private git repository, a shared directory, or s3://bucket/folder.",
            example='"git@example.org:me/memories.git"',
        ),
    ] = ""
    interval_seconds: Annotated[
        float, Key("Within how long others' changes come here; what changes here goes out 2 seconds later.", least=1)
    ] = 60.0


class TeamSettings(NamedTuple):
    enabled: Annotated[
        bool,
        Key(
            "Whether memories that somebody shares (`memoryd share FILE`) are exchanged with your team, in projects you join."
        ),
    ] = False
    store: Annotated[
        str,
        Key(
            'Where they live: "ref" (a ref of its own on the project\'s remote), "folder" (committed by you), a git URL, a directory, s3://….',
            example='"ref"',
        ),
    ] = ""


class HistorySettings(NamedTuple):
    keep_days: Annotated[float, Key("How long a change can be shown and taken back.", least=1)] = 90.0
    keep_megabytes: Annotated[float, Key("How much room that may take; the oldest goes first.", least=1)] = 500.0


class LogSettings(NamedTuple):
    level: Annotated[str, Key('How much goes into the log file: "debug", "info", "warning" or "error".')] = "info"


class Config(NamedTuple):
    memory_root: Annotated[
        str | None,
        Key(
            "Keep the memories of all projects below this directory, one folder each, instead of beside Claude Code's files.",
            example='"~/memories"',
        ),
    ] = None
    engine: Annotated[
        str,
        Key(
            'Who reads the turns: "offline" (free), "claude" (your own command), "anthropic" (a key), "auto": by a key below.'
        ),
    ] = "auto"
    review: Annotated[
        str,
        Key(
            'What waits for your yes or no in `memoryd review`: "doubts", "all" changes, or "off": doubtful ones are dropped.'
        ),
    ] = "doubts"
    notice: Annotated[
        str,
        Key('When your client tells you what was kept: at the start of a "session", with "each" prompt, or "off".'),
    ] = "session"
    project: Annotated[
        Mapping[str, ProjectOptions],
        Key(
            "Settings of single projects, by their roots; daily_log: lines in daily logs, distilled each night (memoryd docs daily-log).",
            example='{ "~/assistant" = { daily_log = true } }',
        ),
    ] = MappingProxyType({})
    anthropic: Anthropic = Anthropic()
    agent: Agent = Agent()
    claude: ClaudeCommand = ClaudeCommand()
    budget: Budget = Budget()
    claude_code: ClaudeCode = ClaudeCode()
    scan: Scan = Scan()
    turns: Turns = Turns()
    extraction: Extraction = Extraction()
    dream: Dream = Dream()
    recall: Recall = Recall()
    notes: NotesSettings = NotesSettings()
    index: IndexSettings = IndexSettings()  # type: ignore[assignment]  # a tuple has a method of this name
    features: Features = Features()
    projects: ProjectSettings = ProjectSettings()
    sync: SyncSettings = SyncSettings()
    team: TeamSettings = TeamSettings()
    history: HistorySettings = HistorySettings()
    log: LogSettings = LogSettings()

    def has_daily_log(self, project_root: str) -> bool:
        """Whether what is said in a project goes into daily logs first."""
        return self.project.get(project_root, ProjectOptions()).daily_log

    @property
    def is_anything_shared(self) -> bool:
        """Whether memories are exchanged with a store at all."""
        return bool(self.sync.remote) or self.is_team_on

    @property
    def is_team_on(self) -> bool:
        return self.team.enabled and bool(self.team.store)
