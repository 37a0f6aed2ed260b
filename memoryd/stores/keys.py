"""Judgement of keys and contents that go to a store or come from one: each is taken or refused, with the reason. Pure.

A store is written by others, and by programs that are not memoryd. What is refused is left where it is, and told.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import unquote

from memoryd.memory.document import parse
from memoryd.memory.limits import INDEX_NAME, MEMORY_BYTES
from memoryd.security.invisible import without_invisible
from memoryd.security.redact import find_secret

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MOST_NAME_BYTES = 200
_DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{number}" for device in ("com", "lpt") for number in "0123456789¹²³"
}
_AUTHOR_CHARACTERS = 60
_DECODED_TIMES = 4
_LIKE_A_SLASH = frozenset("\u2044\u2215\u2216\u29f5\u29f8\u29f9\ufe68\uff0f\uff3c")
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def refusal_of_name(name: str) -> str | None:
    """Why a file of this name is not taken from a store, nor given to one; None: it is fine.

    The rules hold on every system, so that a memory that one machine can write can be written by all.
    """
    if (reason := _unsafe(name)) is not None:
        return reason
    for other, how in _other_readings(name):
        if _unsafe(other) is not None:
            return f"its name becomes another path when it is {how}"
    stem = name.partition(".")[0].rstrip(" ").casefold()
    if stem in _DEVICES:
        return "its name is that of a device on some systems"
    if not name.endswith(".md"):
        return "it is no .md file"
    if name.startswith(".") or twin_key(name) == twin_key(INDEX_NAME):
        return "its name is kept for something else"
    if name.startswith(("-", " ")):
        return "its name begins with a hyphen or a space"
    if len(name.encode("utf-8")) > MOST_NAME_BYTES:
        return f"its name is longer than {MOST_NAME_BYTES} bytes"
    return None


def _unsafe(name: str) -> str | None:
    """Why a name is no plain file name."""
    if "\0" in name:
        return "its name has a NUL in it"
    if _CONTROL.search(name) or without_invisible(name) != name:
        return "its name has invisible characters, or is not UTF-8"
    if name.startswith(("/", "~")) or re.match(r"[A-Za-z]:", name):
        return "its name is an absolute path"
    if "\\" in name:
        return "its name has a backslash in it"
    if "/" in name:
        return "it lies in a folder of its own"
    if _LIKE_A_SLASH & set(name):
        return "its name has a character in it that looks like a slash"
    if not name.strip(". ") or name.endswith((".", " ")) or ".." in name.split("/"):
        return "its name is no name of a file"
    if set(name) & set('<>:"|?*'):
        return "its name has characters that some systems do not allow"
    return None


def _other_readings(name: str) -> Iterable[tuple[str, str]]:
    """What other programs may take a name for."""
    decoded = name
    for _ in range(_DECODED_TIMES):
        decoded = unquote(decoded, errors="surrogateescape")
    if decoded != name:
        yield decoded, "decoded"
    for form in ("NFC", "NFKC"):
        normal = unicodedata.normalize(form, decoded)
        if normal != decoded:
            yield normal, "normalised"
            yield unquote(normal, errors="surrogateescape"), "normalised"


def twin_key(name: str) -> str:
    """The same for names that some file system cannot tell apart: by case, or by the form of their letters."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def twins(names: Iterable[str], preferred: Collection[str]) -> set[str]:
    """Those of the names that cannot stand beside another one: a name that is there already goes first."""
    taken: dict[str, str] = {}
    found: set[str] = set()
    for name in sorted(names, key=lambda name: (name not in preferred, name)):
        if taken.setdefault(twin_key(name), name) != name:
            found.add(name)
    return found


def refusal_of_size(size: int) -> str | None:
    return f"it has {size:,} bytes; a memory has at most {MEMORY_BYTES:,}" if size > MEMORY_BYTES else None


def refusal_of_content(data: bytes) -> str | None:
    """Why a content is not taken from a store, nor given to one; None: it is a memory, and holds no secret."""
    if (reason := refusal_of_size(len(data))) is not None:
        return reason
    document = parse(data)
    if document.problem is not None:
        return f"it cannot be read as a memory: {document.problem}"
    if document.type is None:
        return "it is no memory that memoryd understands"
    if _CONTROL_IN_TEXT.search(document.text) or without_invisible(document.text) != document.text:
        return "it has invisible or control characters in it"
    if (secret := find_secret(document.text)) is not None:
        return f"it holds a secret ({secret})"
    return None


def clean_author(name: str) -> str:
    """The name of a writer as it may be shown: no control or invisible characters, and not long."""
    return without_invisible(_CONTROL.sub("", name)).strip()[:_AUTHOR_CHARACTERS]
