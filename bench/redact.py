"""How fast secrets are taken out of what was said, and how often something else is taken for one."""

from __future__ import annotations

import json
import random
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import corpus, table
from bench.measure import best
from memoryd.security.redact import redact
from tests.security.labelled import PLAIN, SECRETS
from tests.torture.hostile_text import UNITS, hostile_text, names_without_values, nothing_but_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 7
HOSTILE_BYTES, SLOWEST = 60_000, 12
LITERAL = "gh" + "p_"
IDENTIFIERS = ("id", "tool_use_id", "type", "name", "signature", "data", "media_type")


def run(_directory: str) -> None:
    if block := corpus.real():
        _measure(block, "real sessions")
    else:
        print("\nno real transcripts beside the project: only made-up ones are measured")
    _measure(corpus.made_up(), "a made-up session")
    _measure_hostile()
    missed = sum(any(secret in redact(sample.text) for secret in sample.secrets) for sample in SECRETS)
    alarms = sum(redact(sample.text) is not sample.text for sample in PLAIN)
    print(f"  of {len(SECRETS)} sentences with a secret {missed} keep it; of {len(PLAIN)} without {alarms} are changed")


def _measure(block: bytes, name: str) -> None:
    texts = list(_texts_of(block))
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    search = re.compile(LITERAL).search
    contestants: dict[str, Callable[[], object]] = {
        "memoryd: redact": partial(_each, redact, texts),
        "one search by re for one prefix": partial(_each, search, texts),
        "one str.find for one prefix": lambda: [text.find(LITERAL) for text in texts],
        "str.lower": lambda: [text.lower() for text in texts],
    }
    taken = best(ROUNDS, contestants)
    own, *_ = taken.values()
    table.show(
        f"redact: MB of what is said in {name} per processor second ({size / 1e6:.1f} MB in {len(texts):,} texts); and on the"
        " same texts:",
        ("", "MB/s", "memoryd to it"),
        [
            (title, f"{size / seconds / 1e6:,.1f}", "" if seconds is own else table.times(seconds, own))
            for title, seconds in taken.items()
        ],
    )
    markers = sum(redact(text).count("[redacted: ") - text.count("[redacted: ") for text in texts)
    print(f"  taken for secrets: {markers:,}, {markers / (size / 1e6):.2f} per MB")


def _measure_hostile() -> None:
    """The slowest of texts that are made to take long, beside ordinary ones."""
    ordinary = list(_texts_of(corpus.some()))
    dice = random.Random(7)
    texts = {repr(unit): hostile_text(unit, HOSTILE_BYTES) for unit in UNITS}
    texts["names of secrets without values"] = names_without_values(dice, HOSTILE_BYTES)
    texts["a password in every line"] = nothing_but_secrets(dice, HOSTILE_BYTES)
    work: dict[str, Callable[[], object]] = {name: partial(redact, text) for name, text in texts.items()}
    taken = best(3, {"ordinary": partial(_each, redact, ordinary), **work})
    texts["ordinary"] = "".join(ordinary)
    speeds = {name: len(texts[name].encode("utf-8", "replace")) / seconds for name, seconds in taken.items()}
    slowest = sorted(speeds, key=lambda name: speeds[name])[:SLOWEST]
    table.show(
        f"redact: the slowest of {len(work)} hostile texts ({HOSTILE_BYTES // 1000} kB each):",
        ("", "MB/s", "to ordinary"),
        [(name, f"{speeds[name] / 1e6:,.1f}", table.times(speeds[name], speeds["ordinary"])) for name in slowest],
    )
    print(f"  slower than a quarter of ordinary: {sum(speed < speeds['ordinary'] / 4 for speed in speeds.values())}")


def _each(work: Callable[[str], object], texts: list[str]) -> None:
    for text in texts:
        work(text)


def _texts_of(block: bytes) -> Iterator[str]:
    """Every text that somebody or a tool said, as redaction is given it: one message or result at a time."""
    for line in block.splitlines():
        message = json.loads(line).get("message")
        if isinstance(message, dict):
            yield from _strings_in(message.get("content"))


def _strings_in(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for key, value in part.items():
            if key not in IDENTIFIERS:
                yield from _strings_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from _strings_in(value)
