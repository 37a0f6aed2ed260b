"""Trouble with `claude`: what its errors mean for the engine, as a hold with a name, a fix and a time. Pure.

It says what went wrong in fields of its last line: a status, a kind. Only where those are silent its words are looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memoryd.engines.model.budget import LimitReachedError
from memoryd.engines.model.client import BadRequestError, EndpointError, PromptTooLongError
from memoryd.errors import EngineStoppedError
from memoryd.formatting import quoted
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from memoryd.state.engine_holds import RestReason

LOGIN = "claude auth login, then: memoryd retry"
_WORDS_CHARACTERS = 300
_LIMIT = re.compile(
    r"(?i)\blimit (?:was )?reached|\b(?:hit|reached|exceeded) (?:your|the) (?:[\w-]+ ){0,3}limit|usage limit"
)
_LOGGED_OUT = re.compile(r"(?i)not logged in|please run /login|failed to authenticate|oauth token (?:has )?expired")
_TOKENS = re.compile(r"~?(\d{3,}) tokens \(limit (\d{3,})\)")


class ClaudeError(EndpointError):
    """`claude` cannot be used now; the name of the hold says why."""

    def __init__(self, reason: RestReason, sentence: str, fix: str = "", *, is_charged: bool = False) -> None:
        super().__init__(sentence, is_charged=is_charged)
        self.reason = reason
        self.sentence = sentence
        self.fix = fix


def error_of(result: dict[str, Any], kind: str, model: str) -> Exception:
    """What a result that is an error means. `kind`: what the message before it said, such as `rate_limit`."""
    status, words = result.get("api_error_status"), one_line(str(result.get("result") or result.get("subtype") or ""))
    said = f" It says: {words}" if words else ""
    if result.get("terminal_reason") == "prompt_too_long":
        lengths = _TOKENS.search(words)
        return PromptTooLongError(*(map(int, lengths.groups()) if lengths else ()))
    if kind == "rate_limit" or status == 429 or (status is None and _LIMIT.search(words)):  # noqa: PLR2004 - too many
        return LimitReachedError(
            f"Your limit at Claude is reached.{said} Memories wait until tomorrow.", "wait, or: memoryd retry"
        )
    if kind == "authentication_failed" or status in (401, 403) or (status is None and _LOGGED_OUT.search(words)):
        return ClaudeError("engine_logged_out", f"claude is not logged in.{said}", LOGIN)
    if kind == "billing_error" or status == 402:  # noqa: PLR2004 - payment required
        return EngineStoppedError(f"claude wants to be paid first.{said}", "settle the account, then: memoryd retry")
    if status == 404:  # noqa: PLR2004 - not found
        return EngineStoppedError(
            f"claude does not know the model {model}.{said}", "change the models under [claude] in the config"
        )
    if status in (400, 413, 422):
        return BadRequestError(words or f"status {status}")
    return ClaudeError("engine_busy", f"claude has trouble.{said}", is_charged=status is None)


def one_line(words: str) -> str:
    """What `claude` says, for a person, in quotes."""
    line = redact(" ".join(words.split()))[:_WORDS_CHARACTERS]
    return quoted(line) if line else ""
