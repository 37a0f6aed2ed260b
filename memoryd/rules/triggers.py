"""Triggers of a memory: the commands, paths, kinds of work and of files that it speaks of. Pure.

Found when a memory is indexed, so that a hook only looks them up. The reason (`**Why:**`) tells of other things than the rule
and is left out. Whether a call that has one of them is meant is for the model to say (`memoryd/rules/evidence.py`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.forbidden import first_clause, is_behind_place_word
from memoryd.language.parts import passages_of
from memoryd.rot.naming import path_in
from memoryd.rules.calls import command_of
from memoryd.rules.match import WRITTEN
from memoryd.rules.named import WORD, Trigger, commands_in, files_named, is_command, run_trigger
from memoryd.rules.passages import is_folder, likely_paths, read_passage, scope_of
from memoryd.rules.programs import (
    COMMON_SUBCOMMANDS,
    FILE_KINDS,
    INTERPRETERS,
    OF_LANGUAGES,
    ORDINARY_WORDS,
    PROGRAMS,
    STARTING_SUBCOMMANDS,
    WRAPPER_SCRIPTS,
)
from memoryd.rules.rule_words import trigger_of
from memoryd.rules.work_kinds import by_name, commands_of
from memoryd.rules.work_triggers import done_by, is_qualified, work_in
from memoryd.rules.written_terms import CODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.memory.quick_parse import QuickParse
    from memoryd.rules.passages import Passage

_ADVICE = re.compile(r"\*\*How to apply:?\*\*.*?(?=\n\s*\n|\Z)", re.DOTALL)
_OPTION = re.compile(r"--?[A-Za-z][\w-]{2,}")
_PROPER_NAME = re.compile(
    r"(?<![\w./@<-])[a-z]\w*(?:-[a-z0-9]+)+(?![\w>/-]|\.\w)|(?<![\w./-])[A-Z][A-Z0-9_]{4,}(?![\w-]|\.\w)", re.ASCII
)
_REASON = re.compile(r"\*\*Why:?\*\*.*?(?=\n\s*\n|\Z)", re.DOTALL)
_LABEL = re.compile(r"\*\*[^*\n]{1,40}:\*\*|\*\*")
_MOST_CHARACTERS = 8192
_MOST = 40
"""Triggers of one memory; whoever names more describes a program."""


def triggers_of_memory(memory: QuickParse) -> tuple[Trigger, ...]:
    """What a memory speaks of, if it is about how to work, and what it refuses, whatever it is about."""
    found = triggers_of(memory.description, memory.body) if memory.type == "feedback" else ()
    return (*found, *_binding(memory.enforce)) if memory.enforce else found


def triggers_of(description: str, body: str) -> tuple[Trigger, ...]:
    """What a memory speaks of, each once, the plainest first.

    1. the commands, paths and kinds of files that it names; a folder is what it is about where it is not to be changed, and
       elsewhere tells where the rule holds
    2. the kinds of work, beside them
    3. names and code that it forbids to write
    4. its words, which the others are weighed with
    """
    texts = (description, rule_of(body))
    rules = (rule_of(_ADVICE.sub(" ", description)), rule_of(_ADVICE.sub(" ", body)))
    passages = [read_passage(passage) for text in rules for passage in passages_of(text)]
    scope = scope_of(passages[:2])
    options = dict.fromkeys(option for passage in passages for option in passage.options)
    plain = _plain(body, texts, passages)
    run = {word for trigger in plain if trigger.kind == "run" for word in trigger.pattern.split()}
    others = [*_paths(texts, passages, plain), *(trigger for text in texts for trigger in _proper_names(text, run))]
    others += _code(passages, scope, rules)
    others += [Trigger("name", option, "") for option in options if _is_telling(option) and option not in run]
    work = _work_beside(texts, passages, plain, others)
    plain += _with_forbidden_options(work, options)
    found = [*plain, *done_by(work, texts, {trigger.key for trigger in plain}, scope), *others]
    found = [
        trigger._replace(scope=_scope_of_command(trigger, passages)) if trigger.kind == "run" else trigger
        for trigger in found
    ]
    found = list(dict.fromkeys(found))[:_MOST]
    called = {trigger.key for trigger in found if trigger.kind == "run"}
    wanted = {trigger.key for passage in passages for trigger in passage.commands} - called
    return (*found, trigger_of(*rules, passages, dict.fromkeys(trigger.kind for trigger in found), wanted))


def _plain(body: str, texts: tuple[str, ...], passages: list[Passage]) -> list[Trigger]:
    """Commands, paths and kinds of files that a memory names, beside those that it only advises."""
    advised = [trigger for advice in _ADVICE.findall(body) for _, trigger in commands_in(_LABEL.sub(" ", advice))]
    commands = [trigger for passage in passages for trigger in passage.commands]
    named = dict.fromkeys((*commands, *advised, *(trigger for text in texts for trigger in files_named(text))))
    instead = _instead(passages)
    plain = [
        trigger
        for trigger in _without_scope(passages, _without_advised(body, named, {*advised} - {*commands}))
        if trigger.kind != "edit" or trigger.pattern not in instead
    ]
    plain = _without_wanted(passages, plain)
    return plain + _with_fewer_words(passages, plain)


def _without_wanted(passages: list[Passage], plain: list[Trigger]) -> list[Trigger]:
    """Without programs that a memory wants in the place of others: "pnpm, not npm". Who calls pnpm does as told."""
    forbidden = {trigger.key for passage in passages for trigger in passage.forbidden_commands}
    if forbidden.isdisjoint(trigger.key for trigger in plain):
        return plain
    return [trigger for trigger in plain if trigger.kind != "run" or trigger.key in forbidden]


def _paths(texts: tuple[str, ...], passages: list[Passage], plain: list[Trigger]) -> Iterator[Trigger]:
    """Folders that are not to be changed or deleted, and what is likely to be a path."""
    for passage in passages:
        yield from (Trigger("edit", "", folder) for folder in passage.left_alone)
        if passage.not_deleted:
            yield Trigger("work", "delete", "", " ".join(passage.not_deleted))
    is_narrower = _is_narrower(passages, plain)  # then a folder tells where the rule holds
    likely = (trigger for text in texts for trigger in likely_paths(text))
    yield from (trigger for trigger in likely if not is_narrower or not is_folder(trigger.pattern))


def _work_beside(
    texts: tuple[str, ...], passages: list[Passage], plain: list[Trigger], others: list[Trigger]
) -> list[str]:
    """Kinds of work that a memory is about; none where it begins with files, or with code that is not to be written."""
    first = f"{texts[0]}\n{first_clause(texts[1])}"
    is_about_files = any(
        trigger.kind == "edit"
        and (trigger in plain or trigger.pattern.startswith("."))
        and trigger.pattern.strip("*/") in first
        for trigger in (*plain, *others)
    )
    if is_about_files or any(passage.code for passage in passages[:2]):
        return []
    run = {word for trigger in plain if trigger.kind == "run" for word in trigger.pattern.split()}
    has_path = any(trigger.kind == "edit" for trigger in (*plain, *others)) or any(
        True for text in texts for _ in likely_paths(text)
    )
    bare = {trigger.key for trigger in plain if trigger.pattern == trigger.key not in ORDINARY_WORDS}
    return [
        name
        for name in work_in(texts, run, has_path=has_path)
        if not any(is_qualified(name, program, text) for program in bare for text in texts)
    ]


def _scope_of_command(trigger: Trigger, passages: list[Passage]) -> str:
    """Where a command is meant: in the folders that stand beside it, or in those that the memory begins with."""
    words = trigger.pattern.split()
    return scope_of(passage for passage in passages if words[0] in passage.text) or scope_of(passages[:2])


def _is_narrower(passages: list[Passage], plain: list[Trigger]) -> bool:
    """Whether a rule is about commands, or forbids some code, and not to edit what it names."""
    if any(passage.left_alone for passage in passages):
        return False
    return any(trigger.kind == "run" for trigger in plain) or any(passage.code for passage in passages)


def _with_fewer_words(passages: list[Passage], plain: list[Trigger]) -> list[Trigger]:
    """Commands that a memory asks to be run with an option, without it: who leaves the option out is to hear of it.

    And the script of the repository that stands for a program, unless the memory tells them apart.
    """
    commands = (trigger for passage in passages if not passage.is_negated for trigger in passage.commands)
    asked = [trigger for trigger in commands if trigger in plain]
    found = []
    for trigger in asked:
        words = trigger.pattern.split()
        size = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
        if 1 < size < len(words) or (size == 1 < len(words) and trigger.key not in ORDINARY_WORDS | INTERPRETERS):
            found.append(run_trigger(words[:size]))
        if (inner := _wrapped(words)) and inner[0] not in INTERPRETERS:
            found.append(run_trigger(inner))
    for program, script in WRAPPER_SCRIPTS.items():
        if not any(script in passage.text for passage in passages):
            found += [
                run_trigger([script, *trigger.pattern.split()[1:]])
                for trigger in (*plain, *found)
                if trigger.key == program
            ]
    return found


def _wrapped(words: list[str]) -> list[str]:
    """The command that one is run through another: `fvm flutter test`, `uv run pytest`. Who runs it without is to hear of that."""
    start = " ".join(words[:2])
    if start in STARTING_SUBCOMMANDS:
        return words[2 + STARTING_SUBCOMMANDS[start] :]
    is_known = words[0] in PROGRAMS | ORDINARY_WORDS | INTERPRETERS
    return words[1:] if not is_known and len(words) > 1 and words[1] in OF_LANGUAGES else []


def _code(passages: list[Passage], scope: str, texts: tuple[str, ...]) -> Iterator[Trigger]:
    """Pieces of code that a memory forbids to write: in the folders that it names beside them, in files of its language."""
    kinds = _kinds_of_files(texts) if any(passage.code for passage in passages) else ""
    for passage in passages:
        place = " ".join(filter(None, (scope_of([passage]) or scope, kinds)))
        for piece in passage.code:
            if not is_command([piece]) and not path_in(piece, is_code=True):
                yield Trigger("text", WRITTEN, piece.removesuffix("()"), place)
                if piece.isascii() and piece.isalnum():
                    yield Trigger("name", piece, "")


def _kinds_of_files(texts: tuple[str, ...]) -> str:
    """Endings of the files that are written in the languages that a memory names, as a scope."""
    found = ((text, word) for text in texts for word in WORD.finditer(text) if word[0].lower() in FILE_KINDS)
    named = dict.fromkeys(word[0].lower() for text, word in found if is_behind_place_word(text, word.start()))
    return " ".join(f"*.{extension}" for word in named for extension in FILE_KINDS[word])


def _is_telling(option: str) -> bool:
    """Whether an option has several words: `--delete` is one of too many programs."""
    return "-" in option.lstrip("-")


def _with_forbidden_options(work: list[str], options: Iterable[str]) -> list[Trigger]:
    """Commands of a kind of work with an option that a memory forbids: "do not push to main, and no --force"."""
    kinds = {name for kind in work for name in (kind, by_name()[kind].part_of) if name} if options else ()
    commands = [command for kind in kinds for command in commands_of(kind) if len(command.split()) > 1]
    is_of_one = len({command.split(maxsplit=1)[0] for command in commands}) == 1
    return [run_trigger([*command.split(), option]) for command in commands for option in options] if is_of_one else []


def _without_advised(body: str, plain: dict[Trigger, None], advised: set[Trigger]) -> list[Trigger]:
    """Without the commands that only the advice names ("How to apply"): who calls them does as told.

    A program that is named bare, where its commands are named too, is left out as well: the memory speaks of these. An option
    that is named by itself is one of the program, if there is a single one.
    """
    kept = [trigger for trigger in plain if trigger not in advised] or list(plain)
    programs = {trigger.key for trigger in kept if trigger.kind == "run"}
    if len(programs) == 1:
        options = [code[2] for code in CODE.finditer(_ADVICE.sub(" ", body)) if _OPTION.fullmatch(code[2])]
        kept += [run_trigger([*programs, option]) for option in options]
    longer = {trigger.key for trigger in kept if trigger.kind == "run" and _has_subcommand(trigger, body)}
    return [trigger for trigger in kept if trigger.kind != "run" or " " in trigger.pattern or trigger.key not in longer]


def _has_subcommand(trigger: Trigger, body: str) -> bool:
    """Whether a command is surely more than the name of a program: "npm packages" is no command."""
    words = trigger.pattern.split()
    return (
        len(words) > 1
        and not words[1].startswith("-")
        and (words[1] in COMMON_SUBCOMMANDS or f"`{trigger.pattern}" in body)
    )


def _without_scope(passages: list[Passage], plain: list[Trigger]) -> list[Trigger]:
    """Without folders where a memory is about commands: there they tell where it holds, unless it forbids to edit them."""
    if not any(trigger.kind == "run" for trigger in plain):
        return plain
    left_alone = {folder for passage in passages for folder in passage.left_alone}
    return [
        trigger
        for trigger in plain
        if trigger.kind != "edit" or not trigger.pattern.endswith("/") or trigger.pattern in left_alone
    ]


def _instead(passages: list[Passage]) -> set[str]:
    """Folders that a memory names as the place for what is not to be done in another one."""
    left_alone = {folder.strip("/") for passage in passages for folder in passage.left_alone}
    others = (passage for passage in passages if not passage.is_negated and not passage.commands)
    named = {folder for passage in others for folder in passage.folders} if left_alone else set()
    return {folder for folder in named if folder.strip("/") not in left_alone}


def _proper_names(text: str, run: set[str]) -> Iterator[Trigger]:
    """Names that stand in a call just as in the memory, beside its commands: of a cluster, a host, a bucket, a variable."""
    for found in _PROPER_NAME.finditer(CODE.sub(lambda code: f" {code[2]} ", text)):
        if found[0] not in run:
            yield Trigger("name", found[0], "")


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
