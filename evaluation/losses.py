"""How many seeded losses the self-check catches, and how often it refuses what a careful person did.

    python -m evaluation.losses [--verbose] FILE...

FILE holds labelled cases of consolidation; without files those in training/dreams are taken. `--verbose` prints what was
missed and what was refused.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from evaluation.dreams import TRAINING, cases_in
from evaluation.dreams import _at as _moment
from evaluation.seeds import concatenated, seeds_of
from memoryd.engines.evidence import evidence_of
from memoryd.engines.offline.sentences import sentences_of
from memoryd.engines.offline.subjects import covered_by, subject_of
from memoryd.engines.selfcheck import fates_of, is_refused
from memoryd.memory import index as indexing
from memoryd.memory.document import parse
from memoryd.model import Revision, Said, Shelved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.engines.selfcheck import Fate
    from memoryd.model import Evidence

_UNRELATED = "please paint the shed behind the old mill in a friendly yellow"
_NUMBER = re.compile(r"(?<![\w.:,/-])\d+(?![\w.:,/-])")
_BEFORE_ALL = 10 * 86400.0


def main() -> int:
    names = [one for one in sys.argv[1:] if not one.startswith("--")]
    files = [Path(one) for one in names] or sorted((TRAINING / "dreams").glob("*.jsonl"))
    cases = [case for file in files for case in cases_in(file)]
    chance = random.Random(7)  # noqa: S311 - to be the same each time is the point
    started = perf_counter()
    caught = caught_of(cases, chance)
    print(f"{'seeded':28}{'caught':>8}{'of':>7}")
    for kind, found in sorted(caught.items()):
        print(f"{kind:28}{sum(found) / len(found):8.3f}{len(found):7}")
    every = [one for found in caught.values() for one in found]
    print(f"{'all':28}{sum(every) / max(len(every), 1):8.3f}{len(every):7}\n")
    print(f"{'not to be refused':28}{'refused':>8}{'of':>7}")
    for kind, refused in harmless(cases).items():
        print(f"{kind:28}{sum(refused) / max(len(refused), 1):8.3f}{len(refused):7}")
    print(f"\n{perf_counter() - started:.1f} s")
    return 0


def caught_of(cases: list[dict[str, Any]], chance: random.Random) -> dict[str, list[bool]]:
    """Of each kind of seed, whether each was caught: alone, beside unrelated words, in a merge, and in labelled changes."""
    caught: dict[str, list[bool]] = defaultdict(list)
    strangers = [memory for case in cases for memory in memories_of(case)]
    for case in cases:
        now = _at(case)
        memories = memories_of(case)
        for number, memory in enumerate(memories):
            stranger = chance.choice([one for one in strangers if one not in memories])
            for kind, description, body in seeds_of(memory.description, memory.body, stranger.body, chance):
                other = _other(memories, number)
                together = concatenated((description, body), (other.description, other.body))
                for revision, before in (
                    (_updated(memory, description, body), [memory]),
                    (_updated(memory, description, body, (_unrelated(now),)), [memory]),
                    (Revision("merged", "", (memory.name, other.name), memory.type, "", *together), [memory, other]),
                ):
                    caught[kind].append(_refused(revision, before, now, kind, is_wanted=True))
            for kind, revision in _substituted(memory, now):
                if kind == "wrong number replaced":
                    caught[kind].append(_refused(revision, [memory], now, kind, is_wanted=True))
        for revision, before in solved(case):
            if revision.body and not is_refused(fates_of(revision, before, now)):
                for kind, description, body in seeds_of(revision.description, revision.body, "", chance):
                    seeded = revision._replace(description=description, body=body)
                    gone = set(revision.body.splitlines()) - set(body.splitlines())
                    if not gone <= {line for one in before for line in one.body.splitlines()}:
                        continue  # in words that are new: what is not told of these is no loss
                    caught[f"{kind}, labelled"].append(_refused(seeded, before, now, kind, is_wanted=True))
    return caught


def harmless(cases: list[dict[str, Any]]) -> dict[str, list[bool]]:
    """Whether each was refused of what loses and invents nothing."""
    refused: dict[str, list[bool]] = defaultdict(list)
    for case in cases:
        now = _at(case)
        memories = memories_of(case)
        for number, memory in enumerate(memories):
            other = _other(memories, number)
            same = _updated(memory, memory.description, memory.body, (_unrelated(now),))
            refused["identical"].append(_refused(same, [memory], now, "identical"))
            together = concatenated((memory.description, memory.body), (other.description, other.body))
            merged = Revision("merged", "", (memory.name, other.name), memory.type, "", *together)
            refused["concatenated"].append(_refused(merged, [memory, other], now, "concatenated"))
            for kind, replaced in _substituted(memory, now):
                if kind != "wrong number replaced":
                    refused[kind].append(_refused(replaced, [memory], now, kind))
        for revision, before in solved(case):
            kind = f"labelled: {revision.reason}"
            refused[kind].append(_refused(revision, before, now, f"{case['id']} {kind}"))
    return dict(sorted(refused.items()))


def memories_of(case: dict[str, Any]) -> list[Shelved]:
    """The memories of a case before and after, each text once."""
    found: dict[str, Shelved] = {}
    for files in (case["files"], case["solution"]):
        for name, text in files.items():
            if text and _is_topic(name, text):
                memory = _shelved(name, text, _at(case))
                found.setdefault(f"{memory.description}\n{memory.body}", memory)
    return [one for one in found.values() if one.body.strip()]


def solved(case: dict[str, Any]) -> Iterator[tuple[Revision, list[Shelved]]]:
    """What a careful person did, as revisions: what was removed is taken to be in the file that has most of its words."""
    now = _at(case)
    old = {name: _shelved(name, text, now) for name, text in case["files"].items() if _is_topic(name, text)}
    new = {name: _shelved(name, text, now) for name, text in case["solution"].items() if text and _is_topic(name, text)}
    evidence = tuple(_evidence(case, now))
    index = case["files"].get(indexing.NAME, "")
    kept = set((case["solution"].get(indexing.NAME) or index).splitlines())
    passages = tuple(line for line in index.splitlines() if line.strip() and line not in kept)
    joins: dict[str, list[Shelved]] = defaultdict(list)
    for name in (name for name, text in case["solution"].items() if text is None and name in old):
        subject = subject_of(old[name].body)
        target = max(new, key=lambda one: len(subject & subject_of(new[one].body)), default="")
        share = len(subject & subject_of(new[target].body)) / max(len(subject), 1) if target else 0.0
        if share > 1 / 3:
            joins[target].append(old[name])
        else:
            yield Revision("expired", "", (name,), old[name].type, evidence=evidence), [old[name]]
    for name, memory in new.items():
        before = [one for one in (old.get(name),) if one] + joins[name]
        if [(one.description, one.body) for one in before] == [(memory.description, memory.body)]:
            continue
        reason: Literal["merged", "updated", "learnt"] = "merged" if joins[name] else "updated" if before else "learnt"
        subject = subject_of(memory.body)
        told = tuple(one for one in evidence if subject & subject_of(one.quote))
        moved = () if before else tuple(one for one in passages if covered_by(one, memory.body) > 2 / 3)
        files = tuple(one.name for one in before)
        yield Revision(reason, "", files, memory.type, "", memory.description, memory.body, told, moved), before


def _other(memories: list[Shelved], number: int) -> Shelved:
    """Another memory of the case, not another version of the same one."""
    return next(one for one in (*memories[number + 1 :], *memories) if one.name != memories[number].name)


def _substituted(memory: Shelved, now: float) -> Iterator[tuple[str, Revision]]:
    """Each number that stands once as newer words would have it, and another one changed in its stead."""
    numbers = [one for one in _NUMBER.finditer(memory.body) if len(_whole(one[0]).findall(memory.body)) == 1]
    for match in numbers:
        new = str(int(match[0]) + 3)
        start = max(memory.body.rfind(mark, 0, match.start()) for mark in (". ", "; ", "\n", "** ")) + 1
        statement = re.split(r"[.;\n](?:\s|$)", memory.body[start:])[0].replace("*", "")
        place = _whole(match[0]).search(statement)
        words = statement[: place.start()].split() if place else []
        if new in memory.body or place is None or not words:
            continue
        behind = statement[place.end() :].split()
        for kind, quote in (
            ("value replaced, all quoted", f"{' '.join(words)} {new} {' '.join(behind)}".lower()),
            ("value replaced, in short", f"{' '.join(words[-3:])} {new} {' '.join(behind[:2])} now".lower()),
        ):
            evidence = (_sentence(quote, max(now, memory.written_at) + 3600),)
            changed = _whole(match[0])
            yield (
                kind,
                _updated(memory, changed.sub(new, memory.description), changed.sub(new, memory.body), evidence),
            )
            for other in numbers:
                if other[0] != match[0]:
                    yield (
                        "wrong number replaced",
                        _updated(memory, memory.description, _whole(other[0]).sub(new, memory.body), evidence),
                    )


def _whole(number: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.:,/-]){number}(?![\w.:,/-])")


def _updated(memory: Shelved, description: str, body: str, evidence: tuple[Evidence, ...] = ()) -> Revision:
    return Revision("updated", "", (memory.name,), memory.type, "", description, body, evidence)


def _refused(revision: Revision, before: list[Shelved], now: float, kind: str, *, is_wanted: bool = False) -> bool:
    fates = fates_of(revision, before, now)
    refused = is_refused(fates)
    if refused != is_wanted and "--verbose" in sys.argv:
        _show(kind, revision, before, fates)
    return refused


def _show(kind: str, revision: Revision, before: list[Shelved], fates: list[Fate]) -> None:
    print(f"--- {kind}")
    for one in before:
        print(f"    - {one.description} | {' '.join(one.body.split())}")
    print(f"    + {revision.description} | {' '.join(revision.body.split())}")
    for fate in fates:
        print(f"    {fate.fate}: {fate.statement} [{fate.by}]")


def _evidence(case: dict[str, Any], now: float) -> Iterator[Evidence]:
    for name, text in case["files"].items():
        if name.startswith("logs/"):
            day = re.search(r"(\d{4}-\d\d-\d\d)", name)
            at = _moment(day[1]) + 43200 if day else now - 86400
            yield from (_sentence(line, at) for line in text.splitlines() if line.strip())
    for session in case["sessions"]:
        at = _moment(session["started_at"])
        for turn in session["turns"]:
            sentences = sentences_of(turn["user"]) or [turn["user"]]
            yield from (_sentence(one, at) for one in sentences)


def _sentence(text: str, at: float) -> Evidence:
    return evidence_of(Said("s", "m", at, text), text)


def _unrelated(now: float) -> Evidence:
    return _sentence(_UNRELATED, now - 3600)


def _is_topic(name: str, text: str) -> bool:
    return "/" not in name and name.endswith(".md") and name != indexing.NAME and text.startswith("---")


def _shelved(name: str, text: str, now: float) -> Shelved:
    document = parse(text.encode())
    written = re.search(r"(?:modified|written_at|updated)\W+(\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?)", text)
    at = _moment(written[1]) if written else now - _BEFORE_ALL
    return Shelved(name, document.type, document.description, document.body.strip(), written_at=at)


def _at(case: dict[str, Any]) -> float:
    return _moment(case["now"])


if __name__ == "__main__":
    sys.exit(main())
