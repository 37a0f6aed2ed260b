"""Point of action: the memories that speak of a tool call, handed over with it, and those that keep it from being made.

Nothing here asks a model. What a memory speaks of was found when it was indexed.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.memory.tier_names import as_global
from memoryd.recall import shown as shown_log
from memoryd.recall.index import is_unchanged, read_triggers, up_to_date_index
from memoryd.recall.reading import read_memory
from memoryd.recall.store import open_store
from memoryd.record import NamedTuple
from memoryd.rules import allowance
from memoryd.rules.calls import call_of
from memoryd.rules.confirmed import confirmed
from memoryd.rules.match import Forbidden, StoredTrigger, keys_of, matched, rows_of

if TYPE_CHECKING:
    from memoryd.clients.tool_actions import ToolAction
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.recall.store import IndexedMemory, Store
    from memoryd.recall.surface import Memory
    from memoryd.rules.calls import Call

_READING_SECONDS = 0.5
"""Time for reading changed memories while a call waits; the rest is read with the next one."""
_DENY = "deny-"
_LOOSENING = (("undo",), ("restore",), ("forget",))
"""Subcommands of memoryd that can end what a memory refuses."""
_LEAD = (
    "What this user told earlier sessions about calls like the one that you have just made. Where the call goes against it, do"
    " it the user's way from here on; where the user or the code says otherwise now, that counts."
)
_REASON = (
    "The user has made this memory binding, so the call was not made: it would {forbidden}.\n\n{piece}\n\n"
    "Reach the aim another way, or tell the user what you need it for. Only they can allow it, by typing this themselves:"
    " memoryd enforce {name} --allow-once"
)
_OWN_RULE = (
    "Memories that bind are changed by the user alone: they type `memoryd enforce` in a terminal of their own. Tell them what"
    " you need, and why."
)


class CallRequest(NamedTuple):
    """A tool call that is about to be made."""

    session_id: str
    cwd: str
    root: str
    """Of the project: paths in memories are meant from there."""
    action: ToolAction
    call_id: str = ""


class CallAnswer(NamedTuple):
    text: str = ""
    """For the model, beside the call."""
    refusal: str = ""
    """Why the call is not made; empty: it is."""
    shown: tuple[shown_log.Shown, ...] = ()
    refused_by: str = ""
    """The memory that the call goes against, also where the user has allowed it."""


class _Rule(NamedTuple):
    """A memory that speaks of a call."""

    name: str
    """As the session knows it: that of a global memory begins with its folder."""
    place: str
    memory: IndexedMemory


def at_call(paths: Paths, config: Config, memory_dir: str, request: CallRequest, now: float) -> CallAnswer:
    """Answer a call. Raises StateError, BusyError.

    1. the memories that may be about it, by their triggers
    2. one that binds refuses it, unless the user has allowed it once for this session
    3. those that speak of it and that the session was not shown yet, within recall's budget
    """
    call = call_of(request.action, request.cwd, request.root)
    advice: list[tuple[str, int, list[StoredTrigger]]] = []
    spoken_of: list[_Rule] = []
    with closing(open_store(paths)) as store:
        for place in dict.fromkeys((memory_dir, paths.global_dir or memory_dir)):
            directory = up_to_date_index(store, place, now, seconds=_READING_SECONDS)
            if directory is None:
                continue
            if directory.without_triggers:
                read_triggers(store, place, seconds=_READING_SECONDS)
            triggers = [StoredTrigger(*row) for row in store.triggers(directory.id, keys_of(call))]
            if config.features.recall is False:
                triggers = [trigger for trigger in triggers if trigger.kind.startswith(_DENY)]
            is_person = place != memory_dir
            answer = _refused(paths, store, directory.id, place, request, call, triggers, now, is_person=is_person)
            if answer is not None:
                return answer
            advice.append((place, directory.id, [one for one in triggers if not one.kind.startswith(_DENY)]))
        rules = sum(len(rows_of(triggers)) for _, _, triggers in advice)
        for place, directory_id, triggers in advice:  # after all that refuses: no error in advice may keep it from that
            found = matched(call, triggers, rules)
            known = {memory.id: memory for memory in store.known(directory_id, found)} if found else {}
            is_person = place != memory_dir
            spoken_of += [_rule(place, known[number], is_person=is_person) for number in found if number in known]
    return _handed_over(paths, config, memory_dir, request, spoken_of, now) if spoken_of else CallAnswer()


def record_call(paths: Paths, memory_dir: str, request: CallRequest, answer: CallAnswer, now: float) -> None:
    """Note what came of it; after the answer was given, so that a kill hides no memory. Raises OSError."""
    if answer.shown:
        shown_log.record(paths, request.session_id, memory_dir, answer.shown, now, text=answer.text, with_call=True)
    if answer.refused_by:
        shown_log.record_refusal(
            paths,
            request.session_id,
            memory_dir,
            answer.refused_by,
            request.call_id,
            now,
            is_allowed=not answer.refusal,
        )


def _refused(
    paths: Paths,
    store: Store,
    directory_id: int,
    memory_dir: str,
    request: CallRequest,
    call: Call,
    triggers: list[StoredTrigger],
    now: float,
    *,
    is_person: bool,
) -> CallAnswer | None:
    """The answer of a memory that binds; None where none does."""
    for trigger in triggers:
        forbidden = Forbidden(trigger.kind.removeprefix(_DENY), trigger.pattern)
        if not trigger.kind.startswith(_DENY) or not forbidden.fits(call):
            continue
        for memory in store.known(directory_id, [trigger.memory_id]):
            if str(forbidden) not in confirmed(paths, memory_dir, memory.name):
                continue  # the file asks for it, and nobody here has agreed
            rule = _rule(memory_dir, memory, is_person=is_person)
            if allowance.use(paths, memory_dir, memory.name, request.session_id, now):
                return CallAnswer(refused_by=rule.name)
            from memoryd.recall import surface  # noqa: PLC0415 - few calls are refused

            piece = surface.piece_of(_surfaced(rule), now)
            reason = _REASON.format(forbidden=forbidden, piece=piece.text, name=rule.name)
            return CallAnswer(refusal=reason, refused_by=rule.name)
    is_own = _makes_a_rule(call) or _changes_a_rule(paths, store, memory_dir, request.root, call)
    return CallAnswer(refusal=_OWN_RULE) if is_own else None


def _makes_a_rule(call: Call) -> bool:
    """Whether a call would make a memory binding: that is the user's word, and no agent's. To list them is anybody's."""
    return any(command.words[:2] == ("memoryd", "enforce") and len(command.words) > 2 for command in call.commands)  # noqa: PLR2004


def _changes_a_rule(paths: Paths, store: Store, memory_dir: str, root: str, call: Call) -> bool:
    """Whether a call would change by itself what binds it."""
    asks = any(command.program == "memoryd" and command.words[1:2] in _LOOSENING for command in call.commands)
    written = {os.path.join(root, path) for path in call.changed}
    inside = {os.path.basename(path) for path in written if os.path.dirname(path) == memory_dir}
    is_removed = _removes(memory_dir, written, call)
    if not asks and not inside and not is_removed:
        return False
    from fnmatch import fnmatchcase  # noqa: PLC0415 - few calls write there

    names = {
        name for place, name, _, _ in store.binding() if place == memory_dir and confirmed(paths, memory_dir, name)
    }
    return bool(names) and (asks or is_removed or any(fnmatchcase(name, path) for name in names for path in inside))


def _removes(memory_dir: str, written: set[str], call: Call) -> bool:
    """Whether the memory directory, or one that it lies in, is deleted or moved; something may well be copied there."""
    gone = [word for command in call.commands if command.program == "rm" for word in command.words[1:]]
    gone += [word for command in call.commands if command.program == "mv" for word in command.words[1:-1]]
    last = {os.path.basename(word.rstrip("/")) for word in gone}
    return any(f"{memory_dir}/".startswith(f"{path}/") and {os.path.basename(path), "~"} & last for path in written)


def _handed_over(
    paths: Paths, config: Config, memory_dir: str, request: CallRequest, found: list[_Rule], now: float
) -> CallAnswer:
    if shown_log.is_set_aside(paths, request.session_id):
        return CallAnswer()
    shown = {memory.name for memory in shown_log.shown_to(paths, request.session_id, memory_dir)}
    left = round(config.recall.session_kilobytes * 1024) - shown_log.spent(paths, request.session_id)
    fresh = [rule for rule in found if rule.name not in shown][: config.recall.most_memories]
    if not fresh or left <= 0:
        return CallAnswer()
    from memoryd.recall import surface  # noqa: PLC0415 - few calls have a rule

    pieces = surface.pieces_of(
        [_surfaced(rule) for rule in fresh],
        now,
        most_bytes=min(left, round(config.recall.prompt_kilobytes * 1024)),
        most_characters=surface.HOOK_CHARACTERS,
    )
    shown_now = tuple(shown_log.Shown(piece.name, piece.bytes) for piece in pieces)
    return CallAnswer(surface.rendered(pieces, _LEAD), shown=shown_now)


def _rule(place: str, memory: IndexedMemory, *, is_person: bool) -> _Rule:
    return _Rule(as_global(memory.name) if is_person else memory.name, place, memory)


def _surfaced(rule: _Rule) -> Memory:
    """A memory as it is now; what may hold a secret is looked over first."""
    from memoryd.recall import surface  # noqa: PLC0415 - as above

    memory = rule.memory
    parsed = read_memory(rule.place, memory.name)
    description, body = parsed.description, parsed.body
    if memory.has_secret or not is_unchanged(rule.place, memory):
        from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms, and mostly there is nothing to redact

        description, body = redact(description), redact(body)
    return surface.Memory(rule.name, parsed.type or "", description, body, memory.mtime_ns / 1e9)
