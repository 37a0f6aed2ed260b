"""Triggers of a memory: the commands, paths, kinds of work and of files that it speaks of. Pure.

Found when a memory is indexed, so that a hook only looks them up. The reason (`**Why:**`) tells of other things than the rule
and is left out. What a memory names plainly counts first; the wider ways to understand it are tried only where it names
neither command nor path: in doubt a memory speaks of no call.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.language.forbidden import first_clause, prohibitions_in
from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, split
from memoryd.recall.concepts import count_terms, meanings_by_dictionary
from memoryd.rot.naming import path_in
from memoryd.rules.calls import command_of
from memoryd.rules.programs import (
    FILE_KINDS,
    GIT_SUBCOMMANDS,
    LANGUAGE_PROGRAMS,
    NAMES_IN_PROSE,
    PROGRAMS,
    WITH_SUBCOMMANDS,
    WORK,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.memory.quick_parse import QuickParse

Kind = Literal["run", "edit", "name", "work", "files", "folder", "deny-run", "deny-edit", "deny-unknown"]


class Trigger(NamedTuple):
    kind: Kind
    key: str
    """What a call is asked for: a program, a kind of work, an extension, a folder; empty for a path."""
    pattern: str
    """What has to fit: a command, or a path."""


_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)(.{1,300}?)(?<!`)\1(?!`)")
_ADVICE = re.compile(r"\*\*How to apply:?\*\*.*?(?=\n\s*\n|\Z)", re.DOTALL)
_HOME_PATH = re.compile(r"(?<![\w/])(?:~|\$HOME|\$\{HOME\})/[\w./*@+-]+", re.ASCII)
_OPTION = re.compile(r"--?[A-Za-z][\w-]{2,}")
_PROPER_NAME = re.compile(
    r"(?<![\w./@<-])[a-z]\w*(?:-[a-z0-9]+)+(?![\w>/-]|\.\w)|(?<![\w./-])[A-Z][A-Z0-9_]{4,}(?![\w-]|\.\w)", re.ASCII
)
_REASON = re.compile(r"\*\*Why:?\*\*.*?(?=\n\s*\n|\Z)", re.DOTALL)
_LABEL = re.compile(r"\*\*[^*\n]{1,40}:\*\*|\*\*")
_PATH_LIKE = re.compile(r"(?<![\w<>{}$%=\\@~:/.-])[.\w*@+-]*/[\w./*@+-]*", re.ASCII)
_FILE_NAME = re.compile(r"(?<![\w/.-])[A-Za-z_][\w-]*\.[a-z]{1,6}(?![\w/])", re.ASCII)
_EXTENSION = re.compile(r"(?<![\w/])\*?\.([a-z][a-z0-9]{0,5})(?![\w/.])", re.ASCII)
_WORD = re.compile(r"--?[A-Za-z][\w-]*|[\w@.+-]*\w|[^\s\w]")
_COMMAND_WORD = re.compile(r"--?[A-Za-z][\w-]*|[a-z][a-z0-9:-]*")
_IN_PROSE = PROGRAMS | NAMES_IN_PROSE.keys() | {"git"}
_MOST_WORDS_OF_COMMAND = 5
_LEAST_LETTERS_OF_FOLDER = 4
_MOST_CHARACTERS = 8192
_MOST = 40
"""Triggers of one memory; whoever names more describes a program."""


def triggers_of_memory(memory: QuickParse) -> tuple[Trigger, ...]:
    """What a memory speaks of, if it is about how to work, and what it refuses, whatever it is about."""
    found = triggers_of(memory.description, memory.body) if memory.type == "feedback" else ()
    return (*found, *_binding(memory.enforce)) if memory.enforce else found


def triggers_of(description: str, body: str) -> tuple[Trigger, ...]:
    """What a memory speaks of, each once."""
    texts = (description, rule_of(body))
    named = dict.fromkeys(trigger for text in texts for trigger in _plainly_named(text))
    plain = _without_scope(texts, _without_advised(body, named))
    run = {word for trigger in plain if trigger.kind == "run" for word in trigger.pattern.split()}
    others = [trigger for text in texts for trigger in (*_likely_paths(text), *_proper_names(text, run))]
    is_about_files = any(
        trigger.kind == "edit" and (trigger in plain or trigger.pattern.startswith("."))
        for trigger in (*plain, *others)
    )
    work = [] if is_about_files else _work(texts, run, is_done_told=bool(others))
    languages = _languages(texts) or [""]
    found = [*plain, *(Trigger("work", name, language) for name in work for language in languages), *others]
    found = found or [*_file_kinds(texts), *_folders(texts)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _without_advised(body: str, plain: dict[Trigger, None]) -> list[Trigger]:
    """Without the commands that only the advice names ("How to apply"): who calls them does as told.

    A program that is named bare, where its commands are named too, is left out as well: the memory speaks of these. An option
    that is named by itself is one of the program, if there is a single one.
    """
    advice = " ".join(_LABEL.sub(" ", part) for part in _ADVICE.findall(body))
    rest = _ADVICE.sub(" ", body) if advice else body
    advised = {trigger for _, trigger in commands_in(advice)}
    if advised:
        advised -= {trigger for _, trigger in commands_in(rule_of(rest))}
    kept = [trigger for trigger in plain if trigger not in advised] or list(plain)
    programs = {trigger.key for trigger in kept if trigger.kind == "run"}
    if len(programs) == 1:
        options = [code[2] for code in _CODE.finditer(rest) if _OPTION.fullmatch(code[2])]
        kept += [_run([*programs, option]) for option in options]
    longer = {trigger.key for trigger in kept if trigger.kind == "run" and " " in trigger.pattern}
    return [trigger for trigger in kept if trigger.kind != "run" or " " in trigger.pattern or trigger.key not in longer]


def _without_scope(texts: tuple[str, ...], plain: list[Trigger]) -> list[Trigger]:
    """Without folders where a memory is about commands: there they tell where it holds, unless it forbids to edit them."""
    if not any(trigger.kind == "run" for trigger in plain):
        return plain
    if any(prohibition.verb == "edit" for text in texts for prohibition in prohibitions_in(text)):
        return plain
    return [trigger for trigger in plain if trigger.kind != "edit" or not trigger.pattern.endswith("/")]


def _likely_paths(text: str) -> Iterator[Trigger]:
    """Words with a slash in a sentence, and paths below the home directory. They may be no path: then no call has it."""
    if "/" not in text:
        return
    for found in _HOME_PATH.finditer(text):
        yield Trigger("edit", "", found[0].rstrip("."))
    for found in _PATH_LIKE.finditer(_CODE.sub(" ", text)):
        path = found[0].rstrip("./")
        if "/" in path.strip("./") and not path_in(found[0], is_code=False):
            yield Trigger("edit", "", path)


def _proper_names(text: str, run: set[str]) -> Iterator[Trigger]:
    """Names that stand in a call just as in the memory, beside its commands: of a cluster, a host, a bucket, a variable."""
    for found in _PROPER_NAME.finditer(_CODE.sub(lambda code: f" {code[2]} ", text)):
        if found[0] not in run:
            yield Trigger("name", found[0], "")


def _languages(texts: tuple[str, ...]) -> list[str]:
    """Languages that a text has as its first words: what it says of tests or formatting is about theirs."""
    return [word for text in texts for word in _first_words(text, 3) if word in LANGUAGE_PROGRAMS]


def _first_words(text: str, number: int) -> list[str]:
    return [word[0].lower() for word in islice(_WORD.finditer(text), number)]


def rule_of(body: str) -> str:
    """A body without its reason."""
    body = body[:_MOST_CHARACTERS]
    return _LABEL.sub(" ", _REASON.sub(" ", body)) if "**" in body else body


def _binding(enforce: str) -> Iterator[Trigger]:
    from memoryd.rules.forbidden import read_patterns  # noqa: PLC0415 - it imports this module

    patterns = read_patterns(enforce)
    if patterns is None:
        yield Trigger("deny-unknown", "\0", enforce)
        return
    for forbidden in patterns:
        if forbidden.verb == "run":
            yield Trigger("deny-run", command_of(forbidden.pattern.split()).program, forbidden.pattern)
        else:
            yield Trigger("deny-edit", "", forbidden.pattern)


def _plainly_named(text: str) -> Iterator[Trigger]:
    yield from (trigger for _, trigger in commands_in(text))
    yield from (trigger for _, trigger in paths_in(text))
    yield from _extensions(text)


def commands_in(text: str) -> Iterator[tuple[int, Trigger]]:
    """Every command that a text names, and where."""
    prose = text
    if "`" in text:
        for code in _CODE.finditer(text):
            words = code[2].split()
            if words and _is_command(words):
                yield code.start(), _run(words)
        prose = _CODE.sub(lambda code: " " * (len(code[0]) - 1) + ".", text)
    if _IN_PROSE.isdisjoint(_WORD.findall(prose.lower())):
        return
    found = list(_WORD.finditer(prose))
    for at, word in enumerate(found):
        program = word[0].lower()
        program = NAMES_IN_PROSE.get(program, program)
        if program in _IN_PROSE:
            behind = []
            for other in found[at + 1 : at + _MOST_WORDS_OF_COMMAND]:
                if not _COMMAND_WORD.fullmatch(other[0]) or is_stop(other[0]):
                    break
                behind.append(other[0])
            yield from ((word.start(), trigger) for trigger in _in_prose(program, behind))


def _in_prose(program: str, behind: list[str]) -> Iterator[Trigger]:
    """A program in a sentence, with its subcommand if the next word may be one, and with options behind that."""
    is_git = program == "git"
    first = behind[0] if behind else "-"
    has_subcommand = first in GIT_SUBCOMMANDS if is_git else program in WITH_SUBCOMMANDS and not first.startswith("-")
    subcommand = [first] if has_subcommand else []
    options = [word for word in behind[len(subcommand) :] if word.startswith("-")]
    if subcommand or not is_git:
        yield _run([program, *subcommand, *options])


def _is_command(words: list[str]) -> bool:
    """Whether code is a command: a known program, or words that can only be one."""
    program = words[0]
    if program.startswith("-") or not re.fullmatch(r"[\w./-]+", program, re.ASCII):
        return False
    return program in PROGRAMS or (len(words) > 1 and all(map(_is_argument, words[1:])))


def _is_argument(word: str) -> bool:
    return re.fullmatch(r"[\w./:@=+*,-]+", word, re.ASCII) is not None


def _run(words: list[str]) -> Trigger:
    return Trigger("run", command_of(words).program, " ".join(words[:_MOST_WORDS_OF_COMMAND]))


def paths_in(text: str) -> Iterator[tuple[int, Trigger]]:
    """Every path that a text names, and where."""
    prose = text
    if "`" in text:
        for code in _CODE.finditer(text):
            if path := path_in(code[2].strip(), is_code=True):
                yield code.start(), Trigger("edit", "", path)
        prose = _CODE.sub(lambda code: " " * len(code[0]), text)
    if "/" in prose:
        for found in _PATH_LIKE.finditer(prose):
            if path := path_in(found[0], is_code=False):
                yield found.start(), Trigger("edit", "", path)
    for found in _FILE_NAME.finditer(prose):
        if path := path_in(found[0], is_code=True):
            yield found.start(), Trigger("edit", "", path)


def _extensions(text: str) -> Iterator[Trigger]:
    """`*.sql`, `.go`."""
    for found in _EXTENSION.finditer(text):
        if path_in(f"file.{found[1]}", is_code=True):
            yield Trigger("files", found[1], "")


def _work(texts: tuple[str, ...], run: set[str], *, is_done_told: bool) -> list[str]:
    """The kinds of work that the first clause of a text names, beside the commands in it.

    What "is pushed" or "was merged" tells a state more often than what is being done: it counts where nothing else does, and
    not where the text names something else.
    """
    done: set[str] = set()
    found: set[str] = set()
    for text in texts:
        clause = first_clause(_PATH_LIKE.sub(" ", _CODE.sub(" ", text)).strip())
        words = [word for word in split(clause) if word not in run]
        named = _work_in(words)
        done |= named
        still = [word for word in words if not word.endswith("ed")] if named else []
        found |= named if len(still) == len(words) else _work_in(still)
    found = found or (set() if is_done_told else done)
    wider = {work.part_of for work in WORK if work.name in found}
    return [work.name for work in WORK if work.name in found and work.name not in wider]


def _work_in(words: list[str]) -> set[str]:
    by_word, by_number = _named_work()
    stems = set(map(stem, words))
    found = {name for word in stems for name, phrase in by_word.get(word, ()) if phrase <= stems}
    return found.union(*(by_number.get(number, ()) for number in count_terms(words)[1]))


@cache
def _named_work() -> tuple[dict[str, list[tuple[str, frozenset[str]]]], dict[str, set[str]]]:
    """Kinds of work by a word of each of their phrases, and by the numbers of the concepts that a phrase names as a whole."""
    by_word: dict[str, list[tuple[str, frozenset[str]]]] = {}
    by_number: dict[str, set[str]] = {}
    for work in WORK:
        for phrase in work.phrases:
            words = list(map(stem, phrase.split()))
            by_word.setdefault(words[0], []).append((work.name, frozenset(words)))
            for number in meanings_by_dictionary(" ".join(words)):
                by_number.setdefault(number, set()).add(work.name)
    return by_word, by_number


def _file_kinds(texts: tuple[str, ...]) -> Iterator[Trigger]:
    """A language that a rule begins with: "TypeScript: …", "In Python …"."""
    for text in texts:
        words = _first_words(text, 4)
        at = 1 if words and is_stop(words[0]) else 0
        if at < len(words) and words[at] in FILE_KINDS and (at or words[1:2] == [":"]):
            yield from (Trigger("files", extension, "") for extension in FILE_KINDS[words[at]])


def _folders(texts: tuple[str, ...]) -> Iterator[Trigger]:
    """Words that may be the name of a folder, where a rule names nothing plainer: "before you touch billing"."""
    for word in dict.fromkeys(word for text in texts for word in split(text)):
        if len(word) >= _LEAST_LETTERS_OF_FOLDER and word.isascii() and not is_stop(word):
            yield Trigger("folder", word, "")
