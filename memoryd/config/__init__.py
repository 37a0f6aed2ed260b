"""Config file: TOML to named tuples."""

from memoryd.config.parse import LEAST_WINDOW_TOKENS, key_names, load, parse, settings_in_force
from memoryd.config.schema import (
    Agent,
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
    "Agent",
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
    "settings_in_force",
]
