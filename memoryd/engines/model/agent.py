"""The agent: asks the model, runs the tools it calls, and asks again, within bounds on everything.

It knows no job: the brief says what to do, the tool box what is allowed, `ask` pays for each request.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.engines.model import context_window, prompt_cache
from memoryd.engines.model.client import CLEAR_THINKING, PromptTooLongError
from memoryd.engines.model.tools import SCHEMAS, TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoryd.engines.model.reply import ModelReply, Usage
    from memoryd.engines.model.tools import ToolBox, ToolResult

MOST_CALLS = 32
"""Tool calls of one reply that are run; more than that is a model that has lost its way."""
RESULT_BYTES = 16_384
PREVIEW_BYTES = 2_000
TOO_LONG_TRIES = 3
NOOP_EDITS = 2
_CALL_AS_TEXT = re.compile(r"<tool_call>|<function[=_]|\"(?:arguments|parameters|input)\"\s*:\s*\{\s*\"file_path\"")
_WRITES = ("Edit", "Write")
_MANAGED_FROM_TOKENS = 180_000
_CLEARED_TOKENS = 140_000


class Brief(NamedTuple):
    """What a run is told, from what all runs of a kind share to what only this one has."""

    system: str
    shared: tuple[str, ...]
    """What the runs of one project share, what changes least first; two parts at most."""
    task: str


class RunLimits(NamedTuple):
    turns: int
    output_tokens: int
    """Of one reply."""
    prompt_tokens: int
    """Of one request."""
    run_tokens: int
    """Of all requests together."""
    deadline: float
    result_bytes: Mapping[str, int] = MappingProxyType({})
    """Of one result of a tool, by its name; 16 KB where nothing is said."""


class ToolCallDone(NamedTuple):
    """A call that was run, and what came of it."""

    tool: str
    given: dict[str, Any]
    result: ToolResult


class RunFailedError(Exception):
    """The run came to no good end; nothing of it counts."""

    def __init__(self, why: str, *, is_by_reply: bool = False) -> None:
        super().__init__(why)
        self.is_by_reply = is_by_reply
        """The last reply is to blame: it must not be used again."""


class DeclinedError(Exception):
    """The model does not want to work on this, and would not the next time."""


class AgentRun:
    """One run of the agent. `note` takes what the log is to say: kind and sentence.

    `watch` is called after each turn with the reply and the calls that were run; what it returns is told to the model.
    `repairs` is called when the agent seems to be done; what it returns, if anything, goes back to it. Of a run that is
    `whole` nothing counts unless the model itself has ended it; any other ends with the reply whose writes are all staged.
    """

    def __init__(
        self,
        brief: Brief,
        model: str,
        box: ToolBox,
        ask: Callable[[dict[str, Any]], ModelReply],
        limits: RunLimits,
        now: Callable[[], float],
        note: Callable[[str, str], None],
        *,
        watch: Callable[[ModelReply, Sequence[ToolCallDone]], str] = lambda _reply, _ran: "",
        repairs: Callable[[], str] = lambda: "",
        whole: bool = False,
    ) -> None:
        self._brief = brief
        self._model = model
        self._box = box
        self._ask = ask
        self._limits = limits
        self._now = now
        self._note = note
        self._watch = watch
        self._repairs = repairs
        self._whole = whole
        parts = (*brief.shared, brief.task)
        self._messages: context_window.Messages = [
            {"role": "user", "content": [{"type": "text", "text": part} for part in parts]}
        ]
        self._last: Usage | None = None  # of the request before, while its prefix still stands
        self._cleared_tokens = 0
        self._asked_at = now()
        self._spent_tokens = 0
        self._noops = 0
        self._has_changed = False
        self._kept_results = 0
        self._ran: list[ToolCallDone] = []
        self._ids: set[str] = set()

    def to_the_end(self) -> None:
        """Work on the brief until the model is done or has used its turns.

        1. make the conversation fit  2. ask  3. judge the reply  4. run its calls; the last turn's calls count too
        5. once it is done, have its changes reviewed, and go on where there is something to repair

        Two edits that change nothing end the run, as does the last turn. Raises RunFailedError, DeclinedError,
        PromptTooLongError, and what `ask` and `watch` raise.
        """
        is_done = has_ended = False
        for _ in range(self._limits.turns):
            self._fit()
            reply = self._reply()
            self._judge(reply)
            self._ran = []
            is_done = self._answer(reply)
            word = self._watch(reply, self._ran)
            is_done = is_done or (not self._whole and self._has_written_all(reply))
            has_ended |= is_done
            if is_done and self._has_changed and (problems := self._repairs()):
                is_done = False
                self._noops = 0  # what it sends again is an answer to these
                word = f"{problems}\n{word}".strip()
            if word and not is_done:
                self._say(reply, word)
            if is_done or self._noops >= NOOP_EDITS:
                break
        # What was changed was judged, each for itself, and counts, unless it is half of something. One that had come to its end
        # and was asked to repair is whole: what it did not repair is held.
        if not has_ended and (self._whole or not self._has_changed):
            why = "repeats edits that change nothing" if self._noops >= NOOP_EDITS else "came to no end"
            raise RunFailedError(f"the model {why}", is_by_reply=True)

    def _has_written_all(self, reply: ModelReply) -> bool:
        """Whether a reply did nothing but write, and all of it was staged: there is nothing left to say but "saved"."""
        return (
            len(self._ran) == len(reply.calls)
            and all(call.tool in _WRITES and not call.result.is_error for call in self._ran)
            and any(call.result.changed for call in self._ran)
        )

    def _say(self, reply: ModelReply, text: str) -> None:
        """Tell the model something, behind the results of its calls or as an answer to its last words."""
        if self._messages[-1]["role"] == "user" and reply.calls:
            self._messages[-1]["content"].append({"type": "text", "text": text})
            return
        said = [block for block in reply.content if block["type"] == "text" and block["text"].strip()]
        said = said or [{"type": "text", "text": "Done."}]
        self._messages += [
            {"role": "assistant", "content": said},
            {"role": "user", "content": [{"type": "text", "text": text}]},
        ]

    # --- asking -------------------------------------------------------------------------------------------------------

    def _reply(self) -> ModelReply:
        if self._now() > self._limits.deadline:
            raise RunFailedError("it took too long")
        if self._spent_tokens > self._limits.run_tokens:
            raise RunFailedError(f"it read more than {self._limits.run_tokens:,} tokens")
        for tries_left in reversed(range(TOO_LONG_TRIES)):
            try:
                reply = self._ask(self._request())
            except PromptTooLongError as error:
                shorter = context_window.without_oldest_rounds(self._messages, error.tokens, error.limit)
                if shorter is None or not tries_left:
                    raise
                self._messages = shorter
                self._last = None
            else:
                self._asked_at = self._now()
                return reply
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def _request(self) -> dict[str, Any]:
        """What stays the same comes first: see `cache`."""
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._limits.output_tokens,
            "output_config": {"effort": "low"},  # thoughts cost as much as words
            "tools": list(SCHEMAS),
            "system": [{"type": "text", "text": self._brief.system, "cache_control": prompt_cache.LONG}],
            "messages": prompt_cache.with_breakpoints(self._messages),
        }
        if self._is_managed:
            # Thoughts first: the API wants them so. A turn to it is all that follows what we say, so a loop keeps its own.
            request["context_management"] = {
                "edits": [
                    {"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": 1}},
                    {
                        "type": "clear_tool_uses_20250919",
                        "trigger": {"type": "input_tokens", "value": _MANAGED_FROM_TOKENS},
                        "clear_at_least": {"type": "input_tokens", "value": _CLEARED_TOKENS},
                        "keep": {"type": "tool_uses", "value": context_window.KEPT_RESULTS},
                    },
                ]
            }
        return request

    @property
    def _is_managed(self) -> bool:
        """Whether the window allows to leave the clearing to the endpoint."""
        return self._limits.prompt_tokens > _MANAGED_FROM_TOKENS

    def _fit(self) -> None:
        """Before the window is full, old thoughts and the oldest results go: what was learnt from them has been said since.

        First all but the last few results, then, if that is not enough, all but those that have just come. After a long
        pause as well: nothing is cached any more, so that less is to be read again.
        """
        just_come = sum(block["type"] == "tool_result" for block in self._messages[-1]["content"])
        is_cold = self._now() - self._asked_at >= context_window.IDLE_SECONDS
        for kept in (context_window.KEPT_RESULTS, min(context_window.KEPT_RESULTS, max(just_come, 1))):
            if self._size() <= self._limits.prompt_tokens and not is_cold:
                return
            is_cold = False
            shorter = context_window.without_old_results(context_window.without_old_thoughts(self._messages), kept)
            if shorter is not self._messages:
                self._messages = shorter
                self._last = None

    def _size(self) -> int:
        """Tokens of the next request: what was counted, and an estimate of what has come since."""
        if self._last is not None:
            return self._last.prompt + context_window.tokens_in(self._messages[-2:])
        return context_window.tokens_in([self._brief.system, json.dumps(SCHEMAS), self._messages])

    # --- judging ------------------------------------------------------------------------------------------------------

    def _judge(self, reply: ModelReply) -> None:
        usage = reply.usage
        self._spent_tokens += usage.prompt
        # What the endpoint has cleared since, as we had asked, cannot be read from its cache.
        is_cleared = reply.cleared_tokens != self._cleared_tokens
        self._cleared_tokens = reply.cleared_tokens
        if self._last is not None and not is_cleared and (lost := prompt_cache.lost_between(self._last, usage)):
            self._note("cache_break", lost)
        self._last = usage
        for kind in reply.dropped:
            self._note("unknown_block", f"a block of type {kind} was left out")
        if reply.stop_reason == "max_tokens":
            raise RunFailedError("the model's reply was cut off", is_by_reply=True)
        if reply.stop_reason == "model_context_window_exceeded":
            raise RunFailedError("the model's window is full", is_by_reply=True)
        if reply.stop_reason == "refusal":
            raise DeclinedError

    def _answer(self, reply: ModelReply) -> bool:
        """Run the calls of a reply; True where there is nothing more to do."""
        if not reply.calls:
            if any(_CALL_AS_TEXT.search(block.get("text", "")) for block in reply.content):
                raise RunFailedError(
                    "the model writes its tool calls as text: its server cannot do tools", is_by_reply=True
                )
            return True  # whatever reason it gives
        said: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        unknown: list[str] = []
        for block in reply.content:
            if block["type"] != "tool_use":
                said.append(block)
            elif block["name"] not in TOOLS:  # an endpoint need not take back what it was never told of
                said.append({"type": "text", "text": f"[called {block['name']}, which does not exist]"})
                unknown.append(block["name"])
                self._note("refused", f"{block['name']} refused: there is no such tool")
            else:
                text, is_error = self._result(block, reply, len(results))
                said.append({**block, "id": self._own_id(block["id"])})
                result = {"type": "tool_result", "tool_use_id": said[-1]["id"], "content": text}
                results.append(result | {"is_error": True} if is_error else result)
        if unknown:
            there = ", ".join(schema["name"] for schema in SCHEMAS)
            results.append({"type": "text", "text": f"There is no tool {', '.join(unknown)}; there are {there}."})
        self._messages += [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
        return False

    def _own_id(self, given: str) -> str:
        """Ids are unique in a reply; local servers begin anew with each."""
        number = given
        while number in self._ids:
            number += "_"
        self._ids.add(number)
        return number

    def _result(self, call: dict[str, Any], reply: ModelReply, number: int) -> tuple[str, bool]:
        if number >= MOST_CALLS:
            return f"Not run: a reply may hold {MOST_CALLS} calls at most.", True
        if call["id"] in reply.broken:
            return "Not run: the input is no JSON object. Send the call again.", True
        before = len(self._box.refusals)
        result = self._box.run(call["name"], call["input"])
        for text in self._box.refusals[before:]:
            self._note("refused", text)
        self._has_changed |= result.changed
        self._noops += result.is_noop
        self._ran.append(ToolCallDone(call["name"], call["input"], result))
        return self._shown(call["name"], result.text), result.is_error

    def _shown(self, tool: str, text: str) -> str:
        """A result as the model sees it: a long one goes to disk whole, and is shown by its beginning."""
        data = text.encode("utf-8", "replace")
        most = self._limits.result_bytes.get(tool, RESULT_BYTES)
        if len(data) <= most:
            return text
        if tool == "Read":  # which is how the rest is looked at
            shown = (data[:most].rpartition(b"\n")[0] or data[:most]).decode("utf-8", "ignore")
            return f"{shown}\n[cut: Read the rest with a higher offset]"
        self._kept_results += 1
        path = self._box.keep(self._kept_results, text)
        beginning = data[:PREVIEW_BYTES].decode("utf-8", "ignore")
        return f"{beginning}\n[The whole result has {len(data):,} bytes. It is in {path}: Read shows more.]"
