"""memoryd's own recall in a prompt: clients hand it back glued to the user's words, some of them with its tags escaped."""

from __future__ import annotations

import re

from memoryd.security.invisible import without_invisible

_TAG = r"memoryd-recall"
_RECALL = re.compile(
    rf"<{_TAG}\b[^>]*>(?:.*</{_TAG}\s*>|.*)|&lt;{_TAG}\b(?:(?!&gt;).)*&gt;(?:.*&lt;/{_TAG}\s*&gt;|.*)",
    re.DOTALL | re.IGNORECASE,
)


def without_recall(text: str) -> str:
    """The user's words in a text; empty where there are none.

    What stands between the first opening and the last closing is not theirs: a memory may hold a closing tag.
    """
    if _TAG in text.lower():
        text = _RECALL.sub("\n", text)
    return without_invisible(text).strip()
