"""Secrets in a text: found by their shape, named by their kind, never repeated."""

from __future__ import annotations

import re

# A name for a secret, perhaps with words between ("the password for the VPN is"), and a value that is no placeholder:
# set by a sign, anything of some length; said in a sentence, something with a digit in it or in quotes.
_NOUN = r"(?i:(?<![A-Za-z])(?:[A-Za-z0-9]{1,30}_){0,5}(?:pass(?:word|wd|phrase)?|secret|(?:api|access)[ _-]?key|token))"
_VALUE = r"(?!\.{3}|<|\$|\{|[xX*]{3})"
_ASSIGNED = (
    _NOUN
    + r"(?:\s{0,3}[=:]{1,2}\s{0,3}[\"'`]?"
    + _VALUE
    + r"[^\s\"'`]{6,}|(?i:(?:\s+\w{1,20}){0,4}?\s+is\s+)(?:[\"'`]\S{4,}|"
    + _VALUE
    + r"(?=\S{0,60}\d)(?=\S{0,60}[A-Za-z])[^\s\"'`]{6,}))"
)

# Shapes that mean one thing only. A kind is what a person is told; the value is shown to nobody.
_SHAPES: tuple[tuple[str, str], ...] = (
    ("a private key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    ("an API key", r"\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("a GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,}"),
    ("an AWS key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("a Google key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"),
    ("a Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("a registry token", r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,}|dckr_pat_[\w-]{20,})"),
    ("a web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("a password in a URL", r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s:/@]{1,200}:[^\s/]{3,200}@"),
    ("a bot token", r"\b\d{8,10}:AA[\w-]{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    ("a bearer token", r"(?i:\bbearer)\s+[\w.~+/-]{20,}"),
    ("a password", _ASSIGNED),
)


def find_secret(text: str) -> str | None:
    """The kind of the first secret in a text; None where there is none."""
    for kind, shape in _SHAPES:
        if re.search(shape, text):
            return kind
    return None
