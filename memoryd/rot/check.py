"""Rot check: compares the claims of memories with the repository. It reports, and changes nothing.

A false flag tells the user that a good memory is stale, which is worse than silence. So something is gone only if it
was here once: git's history must know it. Outside git there is no history; there a memory must show by what it names
that this is the directory it speaks of.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.clock import elapsed
from memoryd.memory.document import parse
from memoryd.rot import definers, git, history, tree
from memoryd.rot.claims import claims_of
from memoryd.rot.naming import words_of
from memoryd.rot.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoryd.rot.claims import Claim
    from memoryd.rot.definers import Definers

_WORD = re.compile(r"\w+", re.ASCII)
_MOST_SECONDS = 30.0
_ELSEWHERE_FROM = 3
"""So many claims tell whether a memory speaks of this repository at all."""


class Gone(NamedTuple):
    """A claim that holds no more, and in a few words why."""

    claim: Claim
    why: str


class RotVerdict(NamedTuple):
    """`gone`: it was here once. `missing`: it should be here and is not. `unknown`: it may be of somewhere else."""

    state: Literal["there", "gone", "missing", "unknown"]
    why: str = ""


_THERE, _UNKNOWN = RotVerdict("there"), RotVerdict("unknown")


def text_of(data: bytes) -> str:
    """What is checked of a topic file: its description and its body."""
    document = parse(data)
    return f"{document.description}\n\n{document.body}"


def check(memories: Mapping[str, str], repository: Repository) -> dict[str, tuple[Gone, ...]]:
    """For each memory with something gone, what and why. `memories`: description and body by file name."""
    claims = {name: claims_of(text) for name, text in memories.items()}
    verdicts = repository.judge({claim for own in claims.values() for claim in own})
    found = {
        name: _gone([(claim, verdicts[claim]) for claim in own if claim in verdicts]) for name, own in claims.items()
    }
    return {name: gone for name, gone in found.items() if gone}


def _gone(judged: list[tuple[Claim, RotVerdict]]) -> tuple[Gone, ...]:
    """What is gone of one memory's claims: nothing if it speaks mostly of what is not known here."""
    states = [verdict.state for _, verdict in judged]
    there, missing = states.count("there"), states.count("missing")
    if len(states) >= _ELSEWHERE_FROM and 2 * (states.count("unknown") + missing) > len(states):
        return ()
    is_of_here = there >= max(missing, 1)
    return tuple(
        Gone(claim, verdict.why)
        for claim, verdict in judged
        if verdict.state == "gone" or (verdict.state == "missing" and is_of_here)
    )


class Repository:
    """A project's root at the moment of the first question: when `stamp` has changed, make another one."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._texts: dict[str, str | None] = {}
        self._began_at = elapsed()

    def stamp(self) -> str:
        """Which state of the repository this is, told in less than a millisecond; empty where the root is not there."""
        return git.stamp_of(self.root)

    def gone(self, claims: Iterable[Claim]) -> set[Claim]:
        """The claims that were true in this repository and are no more."""
        return {claim for claim, verdict in self.judge(claims).items() if verdict.state == "gone"}

    @cached_property
    def problem(self) -> str:
        """Why nothing can be said about the repository, as a clause; empty where it can."""
        if not os.path.isdir(self.root):
            return "its directory is not there"
        if git.is_bare(self.root):
            return "it is a bare repository, without files"
        if self._tree is not None:
            return ""
        if not self._has_git:
            return "it is no git repository, and has too many files to look through"
        return "git cannot read it" if git.is_installed() else "git is not installed"

    def judge(self, claims: Iterable[Claim]) -> dict[Claim, RotVerdict]:
        """Every claim that this repository could know of, judged; none where it cannot be looked at."""
        now = self._tree if not self.problem else None
        if now is None:
            return {}
        verdicts: dict[Claim, RotVerdict] = {}
        paths: dict[Claim, list[str]] = {}
        symbols: dict[Claim, list[str]] = {}
        for claim in claims:
            if claim.kind == "symbol":
                symbols[claim] = words_of(claim.text)
            elif claim.kind == "command" and (defined := definers.definers_of(claim.text)):
                verdicts[claim] = self._defined(now, *defined)
            elif needed := self._needed(claim):
                paths[claim] = needed
        return verdicts | self._judge_paths(now, paths) | self._judge_symbols(now, symbols)

    # -- what is there now, and what was -------------------------------------------------------------------------------

    @cached_property
    def _has_git(self) -> bool:
        return git.is_checkout(self.root)

    @cached_property
    def _tree(self) -> Tree | None:
        return tree.tracked(self.root) if self._has_git else tree.walked(self.root)

    @cached_property
    def _history(self) -> history.RepositoryHistory:
        return history.read(self.root)

    @cached_property
    def _deleted(self) -> Tree:
        return Tree(self._history.deleted)

    # -- judging -------------------------------------------------------------------------------------------------------

    def _needed(self, claim: Claim) -> list[str]:
        """The paths of which one must be there; none where they are outside of the root."""
        if claim.kind == "command" and claim.text.startswith("python -m "):
            return definers.module_files(claim.text.removeprefix("python -m "))
        path = claim.text.removeprefix("./")
        if path.startswith("/"):
            path = path.removeprefix(f"{self.root.rstrip('/')}/")
        return [] if path.startswith("/") else [unicodedata.normalize("NFC", path)]

    def _judge_paths(self, now: Tree, claims: dict[Claim, list[str]]) -> dict[Claim, RotVerdict]:
        verdicts = dict.fromkeys(claims, _UNKNOWN)
        lost: dict[Claim, str] = {}
        for claim, paths in claims.items():
            if any(now.find(path) or os.path.lexists(os.path.join(self.root, path)) for path in paths):
                verdicts[claim] = _THERE
            elif not self._has_git:
                # Beside its neighbours it would have to be; elsewhere it may be anywhere.
                if any(os.path.dirname(path) in now.folders and "." in os.path.basename(path) for path in paths):
                    verdicts[claim] = RotVerdict("missing", "not found in the directory")
            elif was := next(filter(None, map(self._deleted.find, paths)), None):
                lost[claim] = was
        # What is made anew by every build, or is kept by everybody for himself, need not be there now.
        excused = self._ignored({was for was in lost.values() if not now.is_behind_a_link(was)})
        for claim, was in lost.items():
            if not now.is_behind_a_link(was) and was not in excused:
                verdicts[claim] = RotVerdict("gone", self._how_deleted(now, was))
        return verdicts

    def _ignored(self, paths: set[str]) -> set[str]:
        if not paths:
            return set()
        # With `./` before it, no name can mean anything else to git.
        names = [f"./{path}/" if path in self._deleted.folders else f"./{path}" for path in paths]
        given = "\0".join(names).encode("utf-8", "surrogateescape")
        answer = git.ask(self.root, "check-ignore", "-z", "--no-index", "--stdin", given=given, also_fine=1)
        if answer is None or not answer.is_whole:
            return paths
        return {history.as_text(name.removeprefix(b"./").rstrip(b"/")) for name in answer.data.split(b"\0")}

    def _how_deleted(self, now: Tree, path: str) -> str:
        deletions = [self._history.deleted[file] for file in self._deleted.below(path)]
        last = max(deletions, key=lambda deletion: deletion.day)
        if len(deletions) == 1 and last.moved_to in now.files:
            return f"moved to {last.moved_to} {last.day}".rstrip()
        return f"deleted {last.day}".rstrip()

    def _judge_symbols(self, now: Tree, claims: dict[Claim, list[str]]) -> dict[Claim, RotVerdict]:
        verdicts = dict.fromkeys(claims, _UNKNOWN)
        asked = sorted({word for words in claims.values() for word in words})[: history.MOST_WORDS]
        there = history.words_now(self.root, asked) if asked and self._has_git else None
        if there is None:
            return verdicts  # without history nothing tells a name that is gone from one of a library
        there.update(*(_WORD.findall(path) for path in now.files))
        missing = [word for word in asked if word not in there]
        before = history.words_before(self.root, missing, self._history.versions) if missing else {}
        tracked = history.words_tracked(self.root, before) if before else set()
        for claim, words in claims.items():
            if all(word in there for word in words):
                verdicts[claim] = _THERE
            elif lost := [
                before[word] for word in words if word in before and tracked is not None and word not in tracked
            ]:
                verdicts[claim] = RotVerdict("gone", _since("not in the code", max(lost)))
        return verdicts

    def _defined(self, now: Tree, tool: Definers, name: str) -> RotVerdict:
        """Whether a target, recipe or script is there, by the files that define such."""
        files = [path for path in now.files if tool.include(path)]
        if len(files) > definers.MOST_FILES:
            return _UNKNOWN
        for path in files:
            text = self._text(path)
            if text is None:
                return _UNKNOWN
            if tool.mentions(text, name):
                return _THERE
        if not self._has_git:
            is_of_the_kind = any("/" not in path for path in files)
            return RotVerdict("missing", f"no such {tool.noun}") if is_of_the_kind else _UNKNOWN
        versions = {number: one for number, one in self._history.versions.items() if tool.include(one.path)}
        is_in_time = elapsed() - self._began_at < _MOST_SECONDS  # each command is a question of its own
        was = history.line_before(self.root, tool.defining_line(name), versions) if is_in_time else None
        return RotVerdict("gone", _since(f"no such {tool.noun}", was.day)) if was else _UNKNOWN

    def _text(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = definers.text_of(os.path.join(self.root, path))
        return self._texts[path]


def _since(what: str, day: str) -> str:
    return f"{what} since {day}" if day else what
