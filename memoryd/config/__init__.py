"""The config file: TOML to named tuples."""

from memoryd.config.parse import LEAST_WINDOW_TOKENS, key_names, load, parse, settled
from memoryd.config.schema import (
    Anthropic,
    Budget,
    ClaudeCode,
    ClaudeCommand,
    Config,
    Dream,
    Extraction,
    Features,
    HistorySettings,
    LogSettings,
    ProjectSettings,
    Recall,
    Scan,
    Turns,
)

__all__ = [
    "LEAST_WINDOW_TOKENS",
    "Anthropic",
    "Budget",
    "ClaudeCode",
    "ClaudeCommand",
    "Config",
    "Dream",
    "Extraction",
    "Features",
    "HistorySettings",
    "LogSettings",
    "ProjectSettings",
    "Recall",
    "Scan",
    "Turns",
    "key_names",
    "load",
    "parse",
    "settled",
]
