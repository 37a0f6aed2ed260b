"""Secrets in a text: found by their shape, named by their kind, never repeated."""

from __future__ import annotations

import re

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
    ("a password in a URL", r"\b[a-z][a-z0-9+.-]*://[^\s:/@]+:[^\s:/@]{3,}@"),
    (
        "a password",
        (
            r"(?i)\b(?:pass(?:word|wd|phrase)?|secret|(?:api|access)[_-]?key|(?:auth[_-]?)?token)\b\s*(?:is|:=|=|:)\s*"
            r"[\"'`]?(?=\S*\d)(?=\S*[A-Za-z])[^\s\"'`]{8,}"
        ),
    ),
)


def find_secret(text: str) -> str | None:
    """The kind of the first secret in a text; None where there is none."""
    for kind, shape in _SHAPES:
        if re.search(shape, text):
            return kind
    return None
