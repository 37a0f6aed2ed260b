"""A small model: keeps every sentence of the user that begins with `keep`, by looking at nothing but the request.

It reads first, all files of the manifest in one reply; then writes, all memories in one reply, which ends its work.
A sentence that begins with `keep now` brings the memory up to date that has the same nonce in its name, and one with
`forget what I said about` removes it. What it writes holds the nonces of the request, so a client that sends or stores something else fails.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.messages_server import Reply, call, text, tool_results

if TYPE_CHECKING:
    from tests.messages_server import Block, Request

_MARK = re.compile(r"<conversation>\nMarks here begin with ([0-9a-f]{6});")
_FILES = re.compile(r"^- \[\w+\] (\S+) \(", re.MULTILINE)
_KEPT = re.compile(r"(keep(?: now)?|forget what I said about) (nonce-[0-9a-f]{8})([^.\n]*)\.")


def first_text(request: Request) -> str:
    """The task, as the client put it."""
    return "\n".join(block["text"] for block in request.body["messages"][0]["content"])


def said_in(request: Request) -> list[str]:
    """The user's messages that the request shows."""
    task = first_text(request)
    mark = _MARK.search(task)
    assert mark, "there is no conversation"
    end = rf"(?=\n\[{mark[1]} |\n</conversation>\Z)"
    return re.findall(rf"^\[{mark[1]} user\] (.*?){end}", task, re.DOTALL | re.MULTILINE)


def keeping_model(request: Request) -> Reply:
    wanted = [found for said in said_in(request) for found in _KEPT.finditer(said)]
    there = _FILES.findall(first_text(request))
    turn = len(request.body["messages"]) // 2
    if not wanted:
        return Reply(text("nothing"))
    if turn == 0 and there:
        return Reply(*(call("Read", {"file_path": name}) for name in there))
    if turn <= (1 if there else 0):
        assert not [result for result in tool_results(request) if result.get("is_error")], tool_results(request)
        return Reply(*(_written(found[0], found[1], found[2], found[3]) for found in wanted))
    return Reply(text(f"I kept {len(wanted)}."))


def _written(quote: str, verb: str, nonce: str, rest: str) -> Block:
    name = f"project_{nonce.replace('-', '_')}.md"
    if verb.startswith("forget"):
        return call("Write", {"file_path": name, "content": "", "quote": quote})
    content = f'---\nname: {nonce}\ndescription: "What holds for {nonce}"\ntype: project\n---\n{nonce}{rest}.\n'
    return call("Write", {"file_path": name, "content": content, "quote": quote})


def results_in(request: Request) -> list[str]:
    return [str(result["content"]) for result in tool_results(request)]


def usage_of(requests: list[Request]) -> dict[str, int]:
    """What was billed for all of them."""
    total: dict[str, int] = {}
    for request in requests:
        for key, value in request.usage.items():
            if isinstance(value, int):
                total[key] = total.get(key, 0) + value
    return total
