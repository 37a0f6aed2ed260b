"""The config file: TOML to named tuples."""

from memoryd.config.reading import LEAST_WINDOW_TOKENS, key_names, load, parse, settled
from memoryd.config.tables import (
    Anthropic,
    Budget,
    ClaudeCode,
    Config,
    Dream,
    Extraction,
    Features,
    History,
    Log,
    Projects,
    Recall,
    Scan,
    Turns,
)

__all__ = [
    "LEAST_WINDOW_TOKENS",
    "Anthropic",
    "Budget",
    "ClaudeCode",
    "Config",
    "Dream",
    "Extraction",
    "Features",
    "History",
    "Log",
    "Projects",
    "Recall",
    "Scan",
    "Turns",
    "key_names",
    "load",
    "parse",
    "settled",
]
