"""Whether the config can be used, and what is switched off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.doctor.check import Check
from memoryd.words import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.doctor.check import World
    from memoryd.errors import ConfigError


class Facts(NamedTuple):
    path: str
    home: str
    exists: bool
    error: ConfigError | None = None
    off: tuple[str, ...] = ()
    off_by_environment: tuple[str, ...] = ()


def look(world: World) -> Facts:
    features = world.config.features
    off = tuple(name for name, is_on in features._asdict().items() if not is_on)
    by_environment = tuple(name for name in off if name in world.paths.switched_off)
    path = world.paths.config_file
    return Facts(path, world.paths.home, os.path.lexists(path), world.config_error, off, by_environment)


def judge(facts: Facts) -> Iterator[Check]:
    name = short(facts.path, facts.home)
    if facts.error is not None:
        text = f"{facts.error.sentence} Meanwhile the settings from before hold, or the defaults"
        yield Check("config", "problem", text, facts.error.fix)
    elif facts.exists:
        yield Check("config", "ok", f"{name} can be used")
    else:
        yield Check("config", "ok", f"there is no {name}; the defaults hold")
    for feature in facts.off:
        if feature in facts.off_by_environment:
            text, fix = f"{feature} is switched off in the environment", f"unset MEMORYD_DISABLE_{feature.upper()}"
        else:
            text, fix = f"{feature} is switched off", f"set features.{feature} = true in {name}"
        yield Check("switches", "note", text, fix)
